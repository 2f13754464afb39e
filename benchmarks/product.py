"""The product on new, empty stores, for the length of a benchmark."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.servers import temporary_database

SERVERS = {"mysql": "NETACLAW_TEST_MYSQL_URL", "mariadb": "NETACLAW_TEST_MARIADB_URL"}


@contextmanager
def product(store: str) -> Iterator[None]:
    """The product on new, empty stores, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="netaclaw-benchmark-") as directory:
        os.environ |= {"NETACLAW_DATA_DIR": directory, "DJANGO_SETTINGS_MODULE": "netaclaw.settings"}
        with _server_database(store) as url:
            os.environ["NETACLAW_DATABASE_URL"] = url
            import django

            django.setup()
            from django.core.management import call_command

            call_command("migrate", verbosity=0)
            yield


@contextmanager
def _server_database(store: str) -> Iterator[str]:
    if store == "sqlite":
        yield ""
        return
    server = os.environ.get(SERVERS[store])
    if not server:
        raise SystemExit(f"Set {SERVERS[store]} to mysql://user:password@host:port to measure {store}.")
    with temporary_database(server) as url:
        yield url
