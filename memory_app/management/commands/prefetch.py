from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from memory_app import search
from memory_app.management.terminal import MemoryCommand, as_json


class Command(MemoryCommand):
    help = _("Prints the memory context that a chat turn with this message would get.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("message", help=_("the user's message, as it is"))

    def run(self, **options: Any) -> None:
        found = search.prefetch(self.scope(options), options["message"])
        if options["json"]:
            hits = [as_json(hit.memory) | {"score": hit.score} for hit in found.hits]
            self.print_json(
                {"block": found.block, "hits": hits, "milliseconds": found.milliseconds, "failure": found.failure}
            )
        elif found.failure:
            raise CommandError(found.failure)
        else:
            self.stdout.write(found.block or _("Nothing to inject."))
