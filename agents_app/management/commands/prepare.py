import secrets
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.utils.translation import gettext as _

from agents_app.models import Agent
from memory_app import registry, services
from memory_app.exceptions import StoreUnavailable
from memory_app.models import named_databases

OPERATOR = "admin"


class Command(BaseCommand):
    help = _("Makes an installation ready to serve: tables, memory types, static files, and a first operator account.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--demo", choices=["ask", "yes", "no"], default="ask", help=_("the demo agent (default: ask)")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self._migrate()
        services.seed_types()
        call_command("collectstatic", interactive=False, verbosity=0)
        self._upgrade_stores()
        self._first_operator()
        if not Agent.objects.exists() and self._wants_demo(options["demo"]):
            call_command("demo", stdout=self.stdout)

    def _migrate(self) -> None:
        """The main database first, then the named ones; a server that can't be reached is said in a sentence."""
        for alias in (DEFAULT_DB_ALIAS, *named_databases()):
            try:
                call_command("migrate", database=alias, interactive=False, verbosity=0)
            except OperationalError as error:
                variable = "NETACLAW_DATABASE_URL" if alias == DEFAULT_DB_ALIAS else "NETACLAW_DATABASES"
                message = _("The database of %(variable)s (%(alias)s) can't be used: %(error)s")
                raise CommandError(message % {"variable": variable, "alias": alias, "error": error.args[-1]}) from None

    def _upgrade_stores(self) -> None:
        """Files that need an upgrade get it now: a page would say that they can't be read until it is done."""
        for store in registry.stores():
            try:
                store.agent_names()
            except StoreUnavailable as error:
                self.stderr.write(error.message)

    def _first_operator(self) -> None:
        """A superuser with a random password, shown once, when nobody could sign in otherwise."""
        users = get_user_model()._default_manager
        if users.filter(is_staff=True, is_active=True).exists():
            return
        password = secrets.token_urlsafe(12)
        users.create_superuser(OPERATOR, password=password)
        self.stdout.write(
            _("Sign in as %(name)s with password %(password)s") % {"name": OPERATOR, "password": password}
        )
        self.stdout.write(
            _("It is shown only now; change it with: manage.py changepassword %(name)s") % {"name": OPERATOR}
        )

    def _wants_demo(self, choice: str) -> bool:
        """Asks only where somebody can answer; an empty installation without anybody to ask gets the demo agent."""
        if choice != "ask" or not sys.stdin.isatty():
            return choice != "no"
        try:
            answer = input(_("Add a demo agent with a few memories? [Y/n] "))
        except (EOFError, KeyboardInterrupt):
            raise CommandError(_("Stopped.")) from None
        return not answer.strip().lower().startswith("n")
