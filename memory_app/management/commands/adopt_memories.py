from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.translation import gettext as _

from memory_app.management.progress import adopting
from memory_app.providers import mysql_schema


class Command(BaseCommand):
    help = _(
        "Brings the table netaclaw_memory of a MySQL database up to date: rows, ids and times of the older system are "
        "kept. migrate does the same once; this can be run again at any time, also while the product runs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help=_("a database named in NETACLAW_DATABASES"))
        parser.add_argument("--dry-run", action="store_true", help=_("only say what would be done"))

    def handle(self, *args: Any, **options: Any) -> None:
        if options["database"] not in connections.settings:
            raise CommandError(_("There is no database of this name in NETACLAW_DATABASES."))
        connection = connections[options["database"]]
        if connection.vendor != "mysql":
            raise CommandError(_("This database is no MySQL or MariaDB; there is nothing to adopt."))
        steps = mysql_schema.plan(connection)
        for step in steps:
            self.stdout.write(step.title)
        if not steps:
            self.stdout.write(_("The table is up to date."))
        elif not options["dry_run"]:
            with adopting() as advance:
                mysql_schema.bring_up_to_date(connection, advance)
            self.stdout.write(_("Done."))
