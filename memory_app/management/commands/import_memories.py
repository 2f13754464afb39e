import os
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _
from rich.progress import Progress

from memory_app import registry
from memory_app.acting import Door
from memory_app.importing import Report, read_lines, written
from memory_app.management.progress import progress_bar
from memory_app.management.terminal import MemoryCommand

SHOWN_PROBLEMS = 20


class Command(MemoryCommand):
    help = _(
        "Imports memories from a JSON Lines file: one object a line with content, and optionally user, type, name, "
        "description, metadata and createdAt. Lines that are there already are passed over, so it can be run again."
    )

    door = Door.IMPORT

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help=_("the file; UTF-8, one JSON object a line"))
        parser.add_argument("--agent", "-a", required=True, help=_("the agent's name"))
        parser.add_argument("--user", "-u", help=_("the user of lines that name none (default: shared by all users)"))
        parser.add_argument("--type", "-t", default="user", help=_("the type of lines that name none (default: user)"))
        self.add_json(parser)

    def run(self, **options: Any) -> None:
        registry.config_for(options["agent"])
        report = Report()
        try:
            with (
                options["file"].open(encoding="utf-8-sig", errors="surrogateescape") as file,
                progress_bar() as progress,
            ):
                task = progress.add_task(_("Importing"), total=os.fstat(file.fileno()).st_size)
                counted = _advancing(file, progress, task)
                for item in written(read_lines(counted, options["agent"], options["user"], options["type"])):
                    report.add(item)
        except OSError as error:
            raise CommandError(_("The file can't be read: %(error)s") % {"error": error.strerror}) from None
        self._report(report, as_json=options["json"])

    def _report(self, report: Report, *, as_json: bool) -> None:
        counts = {"created": report.created, "duplicate": report.duplicate, "refused": report.refused}
        problems = [_("Line %(number)d: %(problem)s") % {"number": n, "problem": text} for n, text in report.problems]
        if as_json:
            self.print_json(counts | ({"failed": report.failed} if report.failed else {}) | {"problems": problems})
        else:
            text = _("%(created)d created, %(duplicate)d already there, %(refused)d refused.")
            self.stdout.write(text % counts)
            for problem in problems[:SHOWN_PROBLEMS]:
                self.stderr.write(problem)
        if report.failed:
            text = _("%(count)d lines were not written: the store can't be used. Run it again when it is back.")
            raise CommandError(text % {"count": report.failed})
        if report.refused:
            raise CommandError(_("%(count)d lines were refused; the others are saved.") % {"count": report.refused})


def _advancing(file: Iterable[str], progress: Progress, task: Any) -> Iterator[str]:
    for line in file:
        yield line
        progress.advance(task, len(line.encode("utf-8", "replace")))
