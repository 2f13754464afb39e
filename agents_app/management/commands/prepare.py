import secrets
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from agents_app.models import Agent
from memory_app import registry
from memory_app.exceptions import StoreUnavailable
from memory_app.management import tables

OPERATOR = "admin"


class Command(BaseCommand):
    help = _("Makes an installation ready to serve: tables, memory types, static files, and a first operator account.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--demo", choices=["ask", "yes", "no"], default="ask", help=_("the demo agent (default: ask)")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with tables.alone():
            tables.make_tables()
        call_command("collectstatic", interactive=False, verbosity=0)
        self._upgrade_stores()
        self._first_operator()
        if not Agent.objects.exists() and self._wants_demo(options["demo"]):
            call_command("demo", stdout=self.stdout)

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
