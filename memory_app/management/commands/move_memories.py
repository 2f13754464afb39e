from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from memory_app import moving
from memory_app.management.progress import counted
from memory_app.management.terminal import MemoryCommand
from memory_app.paths import Place


class Command(MemoryCommand):
    help = _("Moves an agent's memories to another store; goes on with a move that was interrupted.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", help=_("the agent's name"))
        parser.add_argument("--to", choices=["sqlite", "mysql"], help=_("the backend to move to"))
        parser.add_argument(
            "--cancel", action="store_true", help=_("give up a move that was interrupted while it copied")
        )
        parser.add_argument("--sqlite-path", default="", help=_("its own .db file, relative to the data directory"))
        parser.add_argument("--database", default="", help=_("a database named in NETACLAW_DATABASES"))
        self.add_json(parser)

    def run(self, **options: Any) -> None:
        if options["cancel"]:
            moving.cancel(options["agent"])
            self.stdout.write(_("The move was given up; the memories are where they were."))
            return
        if not options["to"]:
            raise CommandError(_("Say where to: --to sqlite or --to mysql."))
        to = Place(options["to"], options["database"], options["sqlite_path"])
        with counted(_("Moving memories")) as advance:
            report = moving.move(options["agent"], to, advance)
        if options["json"]:
            self.print_json({"moved": report.moved, "idsKept": report.ids_kept, "digest": report.digest})
        else:
            ids = _("ids kept") if report.ids_kept else _("with new ids")
            text = _("%(count)d memories moved, %(ids)s, verified by digest %(digest)s.")
            self.stdout.write(text % {"count": report.moved, "ids": ids, "digest": report.digest or "-"})
