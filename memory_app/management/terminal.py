"""What the memory commands share: whose memories, tables for people, JSON for programs, errors as one line."""

import getpass
import json
from abc import abstractmethod
from argparse import ArgumentParser
from typing import IO, Any, ClassVar, cast

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memory_app.acting import Door, acting_as
from memory_app.contracts import SHARED, MemoryEntry, Scope
from memory_app.exceptions import InvalidInput, NetaclawError


class MemoryCommand(BaseCommand):
    """A command on one agent's memories; an error of the product ends it with its sentence and exit code 1."""

    door: ClassVar[Door] = Door.COMMAND

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", "-a", required=True, help=_("the agent's name"))
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--user", "-u", help=_("the user's id"))
        whose.add_argument("--shared", action="store_true", help=_("the memories that all users of the agent share"))
        self.add_json(parser)

    def add_json(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help=_("print JSON for programs"))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with acting_as(self.door, _account()):
                self.run(**options)
        except NetaclawError as error:
            raise CommandError(error.message) from None

    @abstractmethod
    def run(self, **options: Any) -> None:
        """What the command does."""

    def scope(self, options: dict[str, Any]) -> Scope:
        """The scope that --agent and --user or --shared name."""
        if not options["shared"] and not (options["user"] or "").strip():
            raise InvalidInput(_("--user is empty; say --shared for the memories of all users."))
        return Scope(options["agent"], SHARED if options["shared"] else options["user"])

    def print_json(self, value: Any) -> None:
        """One line of JSON; Chinese and emoji as themselves."""
        self.stdout.write(json.dumps(value, ensure_ascii=False, default=str))

    def print_table(self, columns: list[str], rows: list[list[str]], *, wide: int) -> None:
        """A table as wide as the terminal, most of it for column `wide`; text is printed as it is, never as markup."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
        for position, column in enumerate(columns):
            table.add_column(column, ratio=5 if position == wide else None, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        Console(file=cast(IO[str], self.stdout), highlight=False).print(table)


def _account() -> str:
    """Who runs the command; some containers have no name for their user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def as_json(memory: MemoryEntry) -> dict[str, Any]:
    """A memory for programs, in the names of the API; times in ISO 8601."""
    return {
        "id": memory.id,
        "agentName": memory.agent_name,
        "userId": memory.user_id,
        "type": memory.type,
        "name": memory.name,
        "content": memory.content,
        "description": memory.description,
        "metadata": dict(memory.metadata),
        "createdAt": memory.created_at.isoformat(),
        "updatedAt": memory.updated_at.isoformat(),
    }
