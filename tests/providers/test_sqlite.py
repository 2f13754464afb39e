import sqlite3
import threading
from pathlib import Path

import pytest
from django.db import OperationalError

from memory_app.contracts import MemoryChanges, PageQuery, SearchOptions
from memory_app.exceptions import StoreUnavailable
from memory_app.providers import sqlite_schema
from memory_app.providers.sqlite import SqliteProvider
from tests.conftest import draft
from tests.providers.contract import ANN, BOB, ProviderContract, find, run_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(data_dir: Path) -> Path:
    return data_dir / "memory" / "memory.db"


@pytest.fixture
def provider(path: Path) -> SqliteProvider:
    return SqliteProvider(path, "memory/memory.db")


def shell(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


class TestSqliteProvider(ProviderContract):
    """The contract on a .db file."""


def test_it_makes_no_file_by_reading(provider, path):
    assert provider.list(ANN) == []
    assert find(provider, "tea") == []
    assert provider.page(PageQuery(keyword="tea")).total == 0
    assert provider.stats() == []
    assert not path.exists()


def test_it_writes_the_documents_tables(provider, path):
    provider.save(draft("tea"))
    names = {name for (name,) in shell(path).execute("SELECT name FROM sqlite_master")}
    assert names >= {"memory", "memory_fts", "memory_terms", "memory_ai", "memory_ad", "memory_au", "idx_agent_user"}
    assert shell(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_it_keeps_both_indexes_true(provider, path):
    first = provider.save(draft("green parrot")).memory
    provider.update(ANN, first.id, MemoryChanges(content="grey parrot", type="project"))
    provider.delete(ANN, [first.id])
    provider.save(draft("blue whale"))
    for index in ("memory_fts", "memory_terms"):
        shell(path).execute(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")
    assert find(provider, "parrot") == []


def test_it_waits_for_a_short_lock(provider, path):
    provider.save(draft("first"))
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, holder.execute, ["COMMIT"])
    release.start()
    assert provider.save(draft("second")).memory.id
    release.join()


def test_it_says_when_a_store_stays_locked(provider, path, monkeypatch):
    provider.save(draft("first"))
    holder = shell(path)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("memory_app.providers.pool.BUSY_SECONDS", 0)
    provider.close()
    with pytest.raises(StoreUnavailable) as caught:
        provider.save(draft("second"))
    assert "memory/memory.db" in caught.value.message
    assert str(path) not in caught.value.message
    holder.execute("ROLLBACK")
    assert provider.count(PageQuery()) == 1


def test_it_reads_while_another_process_writes(provider, path):
    provider.save(draft("tea"))
    holder = shell(path)
    holder.execute("BEGIN IMMEDIATE")
    assert find(provider, "tea") == ["tea"]
    holder.execute("ROLLBACK")


def test_it_stops_a_search_that_takes_too_long(provider):
    provider.save_many([draft(f"whale {n} " + "x" * 500, BOB) for n in range(2_000)])
    with pytest.raises(StoreUnavailable):
        provider.search("whale", SearchOptions(BOB, seconds=1e-9))
    assert find(provider, "whale", BOB, limit=1, seconds=60)


def test_it_survives_many_threads_on_one_file(provider):
    def work() -> None:
        name = threading.current_thread().name
        for number in range(10):
            memory = provider.save(draft(f"{name} {number}", BOB)).memory
            provider.update(BOB, memory.id, MemoryChanges(description="seen"), memory.updated_at)
            provider.search(name, SearchOptions(BOB))

    run_at_once(8, work)
    assert provider.count(PageQuery()) == 80


def test_it_works_without_full_text(provider, path, monkeypatch):
    real = sqlite_schema._run

    def run(connection, *statements: str) -> None:
        if any("VIRTUAL" in statement for statement in statements):
            raise OperationalError("no such module: fts5")
        real(connection, *statements)

    monkeypatch.setattr(sqlite_schema, "_run", run)
    provider.save_many([draft(f"note {n}", BOB) for n in range(700)])
    provider.save(draft("black tea", BOB))
    assert find(provider, "tea", BOB) == ["black tea"]
    assert provider.page(PageQuery(keyword="ack te")).total == 1
    assert provider.count(PageQuery(keyword="note")) == 700
