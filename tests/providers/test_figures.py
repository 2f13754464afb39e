from pathlib import Path

import pytest
from django.db import connections

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
