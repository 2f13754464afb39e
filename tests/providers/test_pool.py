import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from django.db import OperationalError, connections

from memory_app.contracts import PageQuery
from memory_app.exceptions import StoreUnavailable
from memory_app.models import SqliteMemory
from memory_app.providers import pool
from memory_app.providers.sqlite import SqliteProvider
from tests.conftest import draft
from tests.providers.contract import run_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def small(monkeypatch) -> pool.StorePool:
    """A pool of four, in the place of the process's own."""
    small = pool.StorePool(limit=4)
    for module in ("pool", "sqlite"):
        monkeypatch.setattr(f"memory_app.providers.{module}.POOL", small)
    yield small
    small.close_all()


def provider(data_dir: Path, name: str) -> SqliteProvider:
    return SqliteProvider(data_dir / f"{name}.db", f"{name}.db")


def open_files(directory: Path) -> set[str]:
    links = {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}
    return {link for link in links if link.startswith(str(directory))}


def test_it_keeps_a_bounded_number_open(small, data_dir):
    for number in range(20):
        provider(data_dir, str(number)).save(draft("tea"))
    assert small.open_count() == 4
    assert len({name.split(".db")[0] for name in open_files(data_dir)}) <= 4


def test_it_stays_bounded_with_many_threads_and_files(small, data_dir):
    run_at_once(16, lambda: [provider(data_dir, str(number)).count(PageQuery()) for number in range(25)])
    run_at_once(8, lambda: [provider(data_dir, str(number)).save(draft("tea")) for number in range(25)])
    assert small.open_count() <= 4
    assert all(provider(data_dir, str(number)).count(PageQuery()) == 1 for number in range(25))


def test_it_closes_a_file_that_is_no_longer_used(small, data_dir):
    store = provider(data_dir, "gone")
    store.save(draft("tea"))
    assert open_files(data_dir)
    store.close()
    assert not open_files(data_dir)


def test_it_opens_a_replaced_file_anew(small, data_dir):
    store = provider(data_dir, "a")
    store.save(draft("tea"))
    shutil.copy(data_dir / "a.db", data_dir / "b.db")
    for suffix in ("", "-wal", "-shm"):
        (data_dir / f"a.db{suffix}").unlink(missing_ok=True)
    assert store.count(PageQuery()) == 0
    store.save(draft("coffee"))
    assert store.count(PageQuery()) == 1


def test_it_lends_the_alias_only_while_the_store_is_open(small, data_dir):
    path = data_dir / "a.db"
    with small.opened(path, create=True) as alias:
        assert connections[alias].vendor == "sqlite"
        assert small.current_alias() == alias
        with small.opened(path, create=True) as again:
            assert again == alias
    with pytest.raises(StoreUnavailable):
        small.current_alias()
    assert not hasattr(connections._connections, alias)


def test_it_sends_store_rows_to_the_opened_store(small, data_dir):
    with pytest.raises(StoreUnavailable):
        SqliteMemory.objects.count()
    with small.opened(data_dir / "a.db", create=True):
        assert SqliteMemory.objects.count() == 0


def test_it_waits_for_a_locked_file_no_longer_than_its_caller(small, data_dir, monkeypatch):
    store = provider(data_dir, "a")
    store.save(draft("tea"))
    small.close_all()
    monkeypatch.setattr(pool, "BUSY_SECONDS", 3_600)
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    failures: list[Exception] = []

    def read() -> None:
        try:
            with store.reading(0.05) as rows:
                rows.count()
        except OperationalError as error:
            failures.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(60)
    holder.close()
    assert [str(error) for error in failures] == ["database is locked"]
