from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from agents_app.models import Agent
from agents_app.services import create_agent
from memory_app import registry
from memory_app.contracts import Scope
from memory_app.exceptions import InvalidInput, NetaclawError
from memory_app.management import tables
from memory_app.mcp import stdio
from memory_app.mcp.server import Caller


class Command(BaseCommand):
    help = _("Speaks MCP on standard input and output, for a client that starts it: one agent's memory of one user.")
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", "-a", required=True, help=_("the agent's name"))
        parser.add_argument("--user", "-u", required=True, help=_("the user's id"))
        parser.add_argument("--read-only", action="store_true", help=_("offer no tool that writes"))

    def handle(self, *args: Any, **options: Any) -> None:
        with stdio.wire() as output:
            try:
                caller = self._caller(options)
            except NetaclawError as error:
                raise CommandError(error.message) from None
            stdio.serve(caller, output)

    def _caller(self, options: dict[str, Any]) -> Caller:
        scope = Scope(options["agent"], options["user"])
        if not scope.user_id:
            raise InvalidInput(_("--user is empty; name the user whose memories are meant."))
        if not self._is_ready():
            with tables.alone():
                self._prepare(scope.agent_name)
        registry.config_for(scope.agent_name)
        return Caller(scope, options["read_only"], scope.agent_name)

    def _is_ready(self) -> bool:
        return tables.are_current() and Agent.objects.exists()

    def _prepare(self, name: str) -> None:
        """A new installation needs no visit to the console before its first client: it gets the agent that is named."""
        if not tables.are_current():
            tables.make_tables()
        if not Agent.objects.exists():
            create_agent(name)
            self.stderr.write(_("Agent %(name)s is ready.") % {"name": name})
