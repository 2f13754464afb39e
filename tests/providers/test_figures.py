from pathlib import Path

import pytest
from django.db import OperationalError, connections

from memory_app.exceptions import StoreUnavailable
from memory_app.providers.figures import cause
from memory_app.providers.mysql import MysqlProvider
from memory_app.providers.sqlite import SqliteProvider
from tests.providers.figures_contract import FiguresContract, zone
from tests.providers.test_mysql import DATABASES, SERVERS

__all__ = ["zone"]


@pytest.mark.django_db
class TestFiguresOfSqlite(FiguresContract):
    """The contract on a .db file."""

    @pytest.fixture
    def provider(self, data_dir: Path) -> SqliteProvider:
        return SqliteProvider(data_dir / "memory" / "memory.db", "memory/memory.db")


if SERVERS:  # script/test says which servers were given

    @pytest.mark.django_db(transaction=True, databases=DATABASES)
    @pytest.mark.parametrize("alias", SERVERS)
    class TestFiguresOfMysql(FiguresContract):
        """The contract on real servers, none of which has the tables of time zones."""

        @pytest.fixture
        def provider(self, alias: str) -> MysqlProvider:
            with connections[alias].cursor() as cursor:
                cursor.execute("DELETE FROM netaclaw_memory")
            return MysqlProvider(alias)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OperationalError(2002, "Can't connect to server on 'db.internal' (115)"), "The server can't be reached."),
        (OperationalError(1045, "Access denied for user 'x'@'h'"), "The server refuses the account or its password."),
        (OperationalError(1234, "secret"), "The server answers with error 1234."),
        (OperationalError("database is locked"), "SQLite says: database is locked."),
        (OperationalError("unable to open /srv/data/x.db"), "the sentence for everybody"),
    ],
)
def test_it_tells_a_cause_without_paths_hosts_and_accounts(error, told):
    failure = StoreUnavailable("the sentence for everybody")
    failure.__cause__ = error
    assert cause(failure) == told
