import os
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _
from rich.progress import Progress

from memory_app import registry, services
from memory_app.acting import Door
from memory_app.importing import Line, read_lines
from memory_app.management.progress import progress_bar
from memory_app.management.terminal import MemoryCommand

BATCH = 500
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
        counts: Counter[str] = Counter(created=0, duplicate=0, refused=0)
        problems: list[str] = []
        try:
            with (
                options["file"].open(encoding="utf-8-sig", errors="surrogateescape") as file,
                progress_bar() as progress,
            ):
                task = progress.add_task(_("Importing"), total=os.fstat(file.fileno()).st_size)
                counted = _advancing(file, progress, task)
                lines = read_lines(counted, options["agent"], options["user"], options["type"])
                while batch := list(islice(lines, BATCH)):
                    problems += _save(batch, counts)
        except OSError as error:
            raise CommandError(_("The file can't be read: %(error)s") % {"error": error.strerror}) from None
        self._report(counts, problems, as_json=options["json"])

    def _report(self, counts: Counter[str], problems: list[str], *, as_json: bool) -> None:
        if as_json:
            self.print_json(dict(counts) | {"problems": problems})
        else:
            text = _("%(created)d created, %(duplicate)d already there, %(refused)d refused.")
            self.stdout.write(text % counts)
            for problem in problems[:SHOWN_PROBLEMS]:
                self.stderr.write(problem)
        if counts["refused"]:
            raise CommandError(_("%(count)d lines were refused; the others are saved.") % {"count": counts["refused"]})


def _save(batch: Collection[Line], counts: Counter[str]) -> list[str]:
    """Saves the good lines of a batch in one transaction and returns what is wrong with the others."""
    for result in services.save_many([line.draft for line in batch if line.draft]):
        counts[result.outcome.value] += 1
    bad = [line for line in batch if line.draft is None]
    counts["refused"] += len(bad)
    return [_("Line %(number)d: %(problem)s") % {"number": line.number, "problem": line.problem} for line in bad]


def _advancing(file: Iterable[str], progress: Progress, task: Any) -> Iterator[str]:
    for line in file:
        yield line
        progress.advance(task, len(line.encode("utf-8", "replace")))
