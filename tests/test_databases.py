"""Agents spread over MySQL databases with replicas; for a run whose main database is MySQL too (see script/test)."""

import pytest
from django.conf import settings as installed
from django.core.exceptions import ValidationError
from django.db import connections

from agents_app.services import create_agent
from memory_app import moving, search, services
from memory_app.contracts import PageQuery, Scope
from memory_app.models import MemoryConfig
from memory_app.paths import Place
from tests.conftest import draft

SERVERS = [name for name in ("mysql", "mariadb") if name in installed.DATABASES]
REPLICAS = {name: (f"{name}-replica-1",) for name in SERVERS}
MAIN_IS_MYSQL = installed.DATABASES["default"]["ENGINE"].endswith("mysql")

if MAIN_IS_MYSQL and SERVERS:
    pytestmark = pytest.mark.django_db(transaction=True, databases=["default", *SERVERS, *sum(REPLICAS.values(), ())])

    @pytest.fixture(autouse=True)
    def spread(settings):
        """An agent in each database, with one memory."""
        settings.REPLICAS = REPLICAS
        for alias in ("default", *SERVERS):
            with connections[alias].cursor() as cursor:
                cursor.execute("DELETE FROM netaclaw_memory")
        create_agent("default")
        for alias in SERVERS:
            create_agent(alias, memory={"backend": "mysql", "database": alias})
        for name in ("default", *SERVERS):
            services.save(draft(f"tea of {name}", Scope(name, "ann")))

    def rows_in(alias: str) -> list[str]:
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT content FROM netaclaw_memory")
            return [content for (content,) in cursor.fetchall()]

    def test_it_keeps_each_agents_memories_in_its_database():
        for name in ("default", *SERVERS):
            assert rows_in(name) == [f"tea of {name}"]
            assert search.recall(Scope(name, "ann"), "tea")[0].memory.content == f"tea of {name}"

    def test_it_lists_and_counts_over_all_of_them():
        page = search.page(PageQuery(keyword="tea", order="name", descending=False))
        names = [entry.name for _backend, entry in page.rows]
        assert names == sorted(f"tea of {name}" for name in ("default", *SERVERS))
        assert [row.count for row in search.stats()] == [1] * (len(SERVERS) + 1)

    def test_it_moves_an_agent_from_database_to_database():
        to = Place("mysql", SERVERS[0])
        assert moving.move("default", to).moved == 1
        assert rows_in("default") == []
        assert search.recall(Scope("default", "ann"), "tea")[0].memory.content == "tea of default"
        assert len(rows_in(SERVERS[0])) == 2

    def test_it_goes_on_without_a_database_that_is_gone(monkeypatch):
        gone = SERVERS[0]
        for alias in (gone, *REPLICAS[gone]):
            connections[alias].close()
            monkeypatch.setitem(connections[alias].settings_dict, "HOST", "127.0.0.1")
            monkeypatch.setitem(connections[alias].settings_dict, "PORT", "1")
        page = search.page(PageQuery())
        assert page.unavailable == (f"MySQL {gone}",)
        assert page.total == len(SERVERS)

    def test_it_makes_only_the_table_of_memories_in_a_named_database():
        for alias in SERVERS:
            tables = set(connections[alias].introspection.table_names())
            assert tables == {"django_migrations", "netaclaw_memory"}

    def test_it_refuses_a_database_without_a_name():
        config = MemoryConfig.objects.get(agent__name="default")
        config.database = "nowhere"
        with pytest.raises(ValidationError, match="NETACLAW_DATABASES"):
            config.full_clean()
