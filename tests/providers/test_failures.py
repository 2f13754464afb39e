from types import SimpleNamespace

import pytest
from django.db import OperationalError

from memory_app.exceptions import StoreRejected, StoreUnavailable
from memory_app.providers.failures import failure_of, last, told
from memory_app.providers.operations import operation_of
from memory_app.providers.sqlite import SqliteProvider

SENTENCE = "the sentence for everybody"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperationalError(2002, "Can't connect to server on 'db.internal' (115)"), "The server can't be reached."),
        (OperationalError(1045, "Access denied for user 'x'@'h'"), "The server refuses the account or its password."),
        (OperationalError(1234, "secret"), "The server answers with error 1234."),
        (OperationalError("database is locked"), "SQLite says: database is locked."),
        (OperationalError("interrupted"), "The answer takes too long."),
        (OperationalError("unable to open /srv/data/x.db"), SENTENCE),
    ],
)
def test_it_tells_a_cause_without_paths_hosts_and_accounts(error, words):
    failure = StoreUnavailable(SENTENCE)
    failure.__cause__ = error
    assert told(failure_of(failure)) == words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperationalError("disk I/O error"), "The store failed; the server's log says why."),
        (OperationalError("database is locked"), "SQLite says: database is locked."),
        (StoreRejected("The file is strange."), "The file is strange."),
    ],
)
def test_it_remembers_the_last_failure_of_a_store(data_dir, error, words):
    def fail() -> None:
        raise error

    provider = SqliteProvider(data_dir / "memory" / "memory.db", "memory/memory.db")
    assert last(provider.key) is None
    with pytest.raises(StoreUnavailable):
        operation_of(provider, fail)
    assert told(last(provider.key)) == words


def test_it_fails_no_further_when_nothing_can_be_remembered(data_dir, monkeypatch):
    def full(*values: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("memory_app.providers.failures.cache", SimpleNamespace(set=full))
    provider = SqliteProvider(data_dir / "memory" / "memory.db", "memory/memory.db")
    with pytest.raises(StoreUnavailable):
        operation_of(provider, lambda: (_ for _ in ()).throw(OperationalError("database is locked")))
