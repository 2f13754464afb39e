from argparse import ArgumentParser
from typing import Any

from django.utils.translation import gettext as _

from memory_app import services
from memory_app.contracts import MemoryDraft, Outcome
from memory_app.management.terminal import MemoryCommand, as_json
from memory_app.tools import title_of


class Command(MemoryCommand):
    help = _("Saves a memory for a user of an agent.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("text", help=_("what to remember"))
        parser.add_argument("--type", "-t", default="user", help=_("the memory's type (default: user)"))
        parser.add_argument("--name", "-n", default="", help=_("its title (default: the text's beginning)"))
        parser.add_argument("--description", "-d", default="", help=_("one line that says what it is about"))

    def run(self, **options: Any) -> None:
        scope = self.scope(options)
        text = options["text"]
        result = services.save(
            MemoryDraft(
                agent_name=scope.agent_name,
                user_id=scope.user_id,
                type=options["type"],
                name=options["name"] or title_of(text),
                content=text,
                description=options["description"],
            )
        )
        if options["json"]:
            self.print_json({"outcome": result.outcome, "memory": as_json(result.memory)})
        elif result.outcome is Outcome.CREATED:
            self.stdout.write(_("Saved as memory %(id)d.") % {"id": result.memory.id})
        else:
            self.stdout.write(_("Already there: memory %(id)d says the same.") % {"id": result.memory.id})
