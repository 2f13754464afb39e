from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from agents_app import services
from memory_app.exceptions import NetaclawError


class Command(BaseCommand):
    help = _("Makes an agent with its memory switched on.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help=_("the agent's name; it never changes"))
        parser.add_argument("--label", default="", help=_("how it is called in lists"))
        parser.add_argument("--backend", choices=["mysql", "sqlite"], help=_("where its memories are kept"))
        parser.add_argument("--sqlite-path", default="", help=_("its own .db file, relative to the data directory"))

    def handle(self, *args: Any, **options: Any) -> None:
        memory = {"sqlite_path": options["sqlite_path"]}
        if options["backend"]:
            memory["backend"] = options["backend"]
        try:
            agent = services.create_agent(options["name"], label=options["label"], memory=memory)
        except NetaclawError as error:
            raise CommandError(error.message) from None
        self.stdout.write(_("Agent %(name)s is ready.") % {"name": agent.name})
