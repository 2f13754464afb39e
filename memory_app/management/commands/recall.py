from argparse import ArgumentParser
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app import search
from memory_app.management.terminal import MemoryCommand, as_json


class Command(MemoryCommand):
    help = _("Finds the memories that a raw message needs, best first.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("message", help=_("the user's message, as it is"))
        parser.add_argument("--type", "-t", default="", help=_("only memories of this type"))
        parser.add_argument("--limit", "-l", type=int, default=5, help=_("how many at most (default: 5)"))

    def run(self, **options: Any) -> None:
        hits = search.recall(self.scope(options), options["message"], options["type"], options["limit"])
        if options["json"]:
            self.print_json([as_json(hit.memory) | {"score": hit.score, "matched": hit.matched} for hit in hits])
        elif not hits:
            self.stdout.write(_("Nothing found."))
        else:
            columns = [_("score"), _("id"), _("type"), _("title"), _("content"), _("matched"), _("updated")]
            self.print_table(columns, [_row(hit) for hit in hits], wide=4)


def _row(hit: Any) -> list[str]:
    memory = hit.memory
    updated = timezone.localtime(memory.updated_at).strftime("%Y-%m-%d")
    text = [memory.type, memory.name, memory.content, " ".join(hit.matched), updated]
    return [f"{hit.score:.2f}", str(memory.id), *text]
