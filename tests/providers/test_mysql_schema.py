"""Adopting the table of the older system, on real servers."""

from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from memory_app.contracts import MemoryChanges, PageQuery, Scope, SearchOptions
from memory_app.providers import mysql_schema
from memory_app.providers.mysql import MysqlProvider
from tests.conftest import draft
from tests.providers.contract import run_at_once

SERVERS = [name for name in ("mysql", "mariadb") if name in settings.DATABASES]
ENUM = "ENUM('user', 'project', 'feedback', 'reference')"
OLD = """CREATE TABLE netaclaw_memory (
  id INT AUTO_INCREMENT PRIMARY KEY,
  agent_name VARCHAR(100) NOT NULL,
  user_id VARCHAR(100) NOT NULL,
  type {type} NOT NULL,
  name VARCHAR(255) NOT NULL,
  content TEXT NOT NULL,
  description VARCHAR(500) NOT NULL DEFAULT '',
  metadata JSON,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  updated_at DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  INDEX idx_agent_user (agent_name, user_id),
  INDEX idx_type (type){full_text}
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"""
NGRAM = ", FULLTEXT INDEX ft_content (name, content, description) WITH PARSER ngram"
ROW = "INSERT INTO netaclaw_memory (id, agent_name, user_id, type, name, content, metadata, created_at, updated_at)"
TIMES = ("2026-04-12 08:00:00", "2026-04-13 09:00:00")
LOOK = "SELECT id, agent_name, user_id, type, name, content, description, created_at, updated_at FROM netaclaw_memory"


def run(alias: str, sql: str, values: object = None) -> list[tuple]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall()) if cursor.description else []


def old_table(alias: str, type: str = ENUM, rows: int = 2_500) -> None:
    ngram = mysql_schema.has_ngram(connections[alias])
    run(alias, OLD.format(type=type, full_text=NGRAM if ngram else ""))
    values = [
        (n * 2, ("helper", "Helper")[n % 2], ("alice", "Alice", "álice")[n % 3], "user", f"名 {n}", f"🍣 text {n} 花生")
        for n in range(1, rows + 1)
    ]
    with connections[alias].cursor() as cursor:
        cursor.executemany(
            ROW + ' VALUES (%s, %s, %s, %s, %s, %s, \'{"k": [1, "中"]}\', %s, %s)', [(*v, *TIMES) for v in values]
        )


if SERVERS:  # script/test says which servers were given
    pytestmark = [
        pytest.mark.django_db(transaction=True, databases=["default", *SERVERS]),
        pytest.mark.parametrize("alias", SERVERS),
    ]

    @pytest.fixture(autouse=True)
    def table(alias: str):
        """A test begins without the table, and leaves it as the product makes it."""
        run(alias, "DROP TABLE IF EXISTS netaclaw_memory")
        yield
        run(alias, "DROP TABLE IF EXISTS netaclaw_memory")
        mysql_schema.bring_up_to_date(connections[alias])

    @pytest.mark.parametrize("type", [ENUM, "VARCHAR(20)"])
    def test_it_adopts_the_documents_table_with_every_row_id_and_time(alias, type):
        old_table(alias, type)
        before = run(alias, LOOK)
        counted: list[tuple[int, int]] = []
        mysql_schema.bring_up_to_date(connections[alias], lambda done, total: counted.append((done, total)))
        assert run(alias, LOOK) == before
        assert counted[-1] == (2_500, 2_500)
        assert mysql_schema.plan(connections[alias]) == []

    def test_it_uses_an_adopted_table_like_its_own(alias):
        old_table(alias, rows=60)
        mysql_schema.bring_up_to_date(connections[alias])
        provider = MysqlProvider(alias)
        (hit,) = provider.search("text 7?", SearchOptions(Scope("Helper", "Alice"), limit=1))
        assert (hit.memory.id, hit.memory.metadata) == (14, {"k": [1, "中"]})
        assert provider.save(draft("x", type="environment" * 4)).memory.id == 121
        changed = provider.update(Scope("Helper", "Alice"), 14, MemoryChanges(description="d"), hit.memory.updated_at)
        assert changed.created_at == hit.memory.created_at
        assert provider.stats()[0].users == 3

    def test_it_says_what_it_would_do_and_does_nothing(alias):
        old_table(alias, rows=10)
        out = StringIO()
        call_command("adopt_memories", database=alias, dry_run=True, stdout=out)
        assert "index the text of 10 rows" in out.getvalue()
        assert "terms" not in {name for name, *_rest in run(alias, "SHOW COLUMNS FROM netaclaw_memory")}
        call_command("adopt_memories", database=alias, stdout=out)
        call_command("adopt_memories", database=alias, stdout=out)
        assert out.getvalue().strip().endswith("The table is up to date.")

    def test_it_can_be_interrupted_and_run_again(alias):
        old_table(alias)
        before = run(alias, LOOK)

        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                mysql_schema.bring_up_to_date(connections[alias], stop)
        assert run(alias, "SELECT COUNT(*) FROM netaclaw_memory WHERE terms <> ''") == [(1_000,)]
        mysql_schema.bring_up_to_date(connections[alias])
        assert run(alias, LOOK) == before

    def test_it_adopts_while_the_application_reads_and_writes(alias):
        old_table(alias)
        for step in mysql_schema.plan(connections[alias])[:1]:
            step.run()
        provider = MysqlProvider(alias)
        new = [draft(f"written meanwhile {n} 花生") for n in range(20)]
        jobs = iter(
            [lambda: mysql_schema.bring_up_to_date(connections[alias]), lambda: [provider.save(d) for d in new]]
        )
        run_at_once(2, lambda: next(jobs)())
        assert provider.count(PageQuery()) == 2_520
        assert (
            provider.search("meanwhile 7", SearchOptions(Scope("helper", "ann"), limit=1))[0].memory.content
            == new[7].content
        )
        assert mysql_schema.plan(connections[alias]) == []

    def test_it_fills_in_missing_times(alias):
        old_table(alias, rows=3)
        run(alias, "UPDATE netaclaw_memory SET created_at = NULL, updated_at = %s WHERE id = 2", [TIMES[1]])
        mysql_schema.bring_up_to_date(connections[alias])
        ((created, updated),) = run(alias, "SELECT created_at, updated_at FROM netaclaw_memory WHERE id = 2")
        assert created == updated

    def test_it_mends_what_our_table_does_not_allow(alias):
        run(
            alias,
            OLD.replace("description VARCHAR(500) NOT NULL", "description VARCHAR(500)").format(
                type=ENUM, full_text=""
            ),
        )
        run(alias, "SET SESSION sql_mode = ''")
        values = "(1, 'helper', 'ann ', 'user', 'n', 'tea', NULL, '0000-00-00 00:00:00', '2026-04-13 09:00:00')"
        run(alias, f"{ROW} VALUES {values}")
        run(alias, "UPDATE netaclaw_memory SET description = NULL, updated_at = updated_at")
        run(alias, "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'")
        mysql_schema.bring_up_to_date(connections[alias])
        provider = MysqlProvider(alias)
        (hit,) = provider.search("tea", SearchOptions(Scope("helper", "ann")))
        assert (hit.memory.user_id, hit.memory.description) == ("ann", "")
        assert hit.memory.created_at == hit.memory.updated_at

    def test_it_works_while_its_full_text_indexes_are_missing(alias, monkeypatch):
        monkeypatch.setattr("memory_app.providers.mysql.INDEX_SECONDS", -1)
        mysql_schema.bring_up_to_date(connections[alias])
        provider = MysqlProvider(alias)
        provider.save_many([draft(f"note {n}") for n in range(700)])
        provider.save(draft("black tea"))
        run(alias, "ALTER TABLE netaclaw_memory DROP INDEX ft_terms")
        if mysql_schema.has_ngram(connections[alias]):
            run(alias, "ALTER TABLE netaclaw_memory DROP INDEX ft_content")
        assert provider.search("tea", SearchOptions(Scope("helper", "ann")))[0].memory.content == "black tea"
        assert provider.count(PageQuery(keyword="ack te")) == 1
