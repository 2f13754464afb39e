"""The tables of an installation: made, and brought up to date."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.files import locks
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

from memory_app import services
from memory_app.models import named_databases


@contextmanager
def alone() -> Iterator[None]:
    """One process of the machine at a time: clients start several at once, and two must not make the same tables."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with open(settings.DATA_DIR / "prepare.lock", "w") as file:
        locks.lock(file, locks.LOCK_EX)
        yield


def make_tables() -> None:
    """Migrates the main database first, then the named ones, and adds the memory types that are missing.

    A server that can't be reached is said in the sentence of a CommandError.
    """
    for alias in (DEFAULT_DB_ALIAS, *named_databases()):
        try:
            call_command("migrate", database=alias, interactive=False, verbosity=0)
        except OperationalError as error:
            raise _unusable(alias, error) from None
    services.seed_types()


def are_current() -> bool:
    """Whether the main database lacks no migration; raises CommandError when it can't be reached."""
    try:
        executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
        return not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except OperationalError as error:
        raise _unusable(DEFAULT_DB_ALIAS, error) from None


def _unusable(alias: str, error: OperationalError) -> CommandError:
    variable = "NETACLAW_DATABASE_URL" if alias == DEFAULT_DB_ALIAS else "NETACLAW_DATABASES"
    message = _("The database of %(variable)s (%(alias)s) can't be used: %(error)s")
    return CommandError(message % {"variable": variable, "alias": alias, "error": error.args[-1]})
