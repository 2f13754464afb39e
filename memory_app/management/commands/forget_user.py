from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from memory_app import forgetting
from memory_app.management.terminal import MemoryCommand


class Command(MemoryCommand):
    help = _(
        "Erases everything of a user, memories, history and messages, in one agent or in all of them; prints a receipt."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help=_("the user's id"))
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--agent", "-a", help=_("the agent's name"))
        whose.add_argument("--everywhere", action="store_true", help=_("in all agents"))
        self.add_json(parser)

    def run(self, **options: Any) -> None:
        receipts = forgetting.forget(options["user"], options["agent"])
        if options["json"]:
            self.print_json([{"agentName": receipt.agent_name, **receipt.numbers} for receipt in receipts])
        else:
            rows = [[receipt.agent_name, *map(str, receipt.numbers.values())] for receipt in receipts]
            others = [str(trace.label) for trace in forgetting.TRACES.values()]
            self.print_table([_("agent"), _("memories"), _("changes"), *others], rows, wide=0)
        if problems := [f"{receipt.agent_name}: {receipt.problem}" for receipt in receipts if receipt.problem]:
            raise CommandError("\n".join([*problems, _("Not everything was erased; run it again.")]))
