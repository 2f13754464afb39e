"""Backend `sqlite`: memories in a .db file with FTS5 (first document, section 4.4)."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Max, Q, QuerySet
from django.db.models.expressions import RawSQL

from memory_app.analysis import Kind, Prefixes, Query, QueryTerm, scoped
from memory_app.contracts import Backend
from memory_app.models import SqliteMemory
from memory_app.providers.pool import POOL
from memory_app.providers.rows import LENGTH_SAMPLE, MAX_CANDIDATES, TEXT, RowProvider
from memory_app.providers.sqlite_schema import BUSY_SECONDS
from memory_app.ranking import Statistics, posting_terms

TRIGRAM = 3
STEPS_BETWEEN_CHECKS = 1_000


class SqliteProvider(RowProvider):
    """The store in one .db file; the file is made by the first write."""

    backend = Backend.SQLITE
    model = SqliteMemory
    # The signs + keep SQLite from choosing another index, and from putting the constant into substr(content).
    twin_query = (
        "SELECT id FROM memory WHERE agent_name = %s AND user_id = %s AND +type = %s AND +name = %s AND +content = %s"
        " AND +description = %s AND substr(content, 1, 40) = substr(%s, 1, 40) ORDER BY +id LIMIT 1"
    )

    def __init__(self, path: Path, label: str) -> None:
        super().__init__()
        self.path = path
        self._label = label

    @property
    def key(self) -> str:
        return str(self.path)

    @property
    def label(self) -> str:
        return self._label

    def wait_for_writers(self) -> None:
        with self._opened(write=True) as alias, transaction.atomic(using=alias):
            """The transaction is IMMEDIATE: it begins when it alone may write."""

    def close(self) -> None:
        POOL.discard(self.path)

    @contextmanager
    def _opened(self, *, write: bool, seconds: float | None = None) -> Iterator[str]:
        with POOL.opened(self.path, create=write, seconds=seconds) as alias:
            if seconds is None:
                yield alias
            else:
                with _time_limit(connections[alias], seconds):
                    yield alias

    def _is_indexed(self, word: str, alias: str) -> bool:
        return len(word) >= TRIGRAM and POOL.full_text(alias)

    def _contains(self, word: str) -> Q:
        """By the trigram index from three characters on; shorter words by LIKE, whose case folding knows ASCII only."""
        if self._is_indexed(word, POOL.current_alias()):
            phrase = '"' + word.replace('"', '""') + '"'
            return Q(pk__in=RawSQL("SELECT rowid FROM memory_fts WHERE memory_fts MATCH %s", [phrase]))
        found = Q()
        for spelling in {word} if word.isascii() else {word, word.lower(), word.upper(), word.title()}:
            for name in TEXT:
                found |= Q(**{f"{name}__icontains": spelling})
        return found

    def _latest(self, rows: QuerySet[Any], agent_names: Collection[str]) -> Mapping[str, datetime]:
        """One look into the index for each agent: SQLite would read the whole of it to group."""
        latest = {name: rows.filter(agent_name=name).aggregate(Max("updated_at")) for name in agent_names}
        return {name: found["updated_at__max"] for name, found in latest.items() if found["updated_at__max"]}

    def _statistics(self, query: Query, owners: Sequence[Prefixes], rows: QuerySet[Any]) -> Statistics | None:
        if not POOL.full_text(rows.db):
            return None
        total = rows.count()
        frequency = {term: min(total, self._frequency(rows.db, term, owners)) for term in query.terms}
        sample = rows.order_by("-id").values_list("terms", flat=True)[:LENGTH_SAMPLE]
        lengths = [len(terms) for terms in sample]
        return Statistics(total, sum(lengths) / len(lengths), frequency)

    def _frequency(self, alias: str, term: QueryTerm, owners: Sequence[Prefixes]) -> int:
        """How many of the owner's rows hold the term: the vocabulary knows, because terms of other owners differ."""
        words = [scoped(term, owner) for owner in owners]
        condition = "term >= %s AND term < %s" if term.kind is Kind.CHAR else "term = %s"
        found = 0
        with connections[alias].cursor() as cursor:
            for word in words:
                bounds = [word, word + "~"] if term.kind is Kind.CHAR else [word]
                cursor.execute(f"SELECT COALESCE(SUM(doc), 0) FROM memory_vocab WHERE {condition}", bounds)
                found += cursor.fetchone()[0]
        return found

    def _best_rows(
        self, query: Query, owners: Sequence[Prefixes], statistics: Statistics, rows: QuerySet[Any], *, widened: bool
    ) -> QuerySet[Any]:
        pieces = [
            (f'"{word}"{"*" if wide else ""}', weight)
            for term, weight, wide in posting_terms(query, statistics, widened=widened)
            for word in (scoped(term, owner) for owner in owners)
        ]
        if not pieces:
            return rows.none()
        union = " UNION ALL ".join(
            ["SELECT rowid, %s AS weight FROM memory_terms WHERE memory_terms MATCH %s"] * len(pieces)
        )
        best = (
            f"SELECT rowid FROM ({union}) GROUP BY rowid ORDER BY SUM(weight) DESC, rowid DESC LIMIT {MAX_CANDIDATES}"
        )
        values = [value for phrase, weight in pieces for value in (weight, phrase)]
        return rows.filter(pk__in=RawSQL(best, values))


@contextmanager
def _time_limit(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Interrupts statements that are still running after `seconds`, and waits no longer than that for a lock."""
    connection.ensure_connection()
    raw = connection.connection
    deadline = time.monotonic() + seconds
    raw.execute(f"PRAGMA busy_timeout={max(1, int(seconds * 1000))}")
    raw.set_progress_handler(lambda: int(time.monotonic() > deadline), STEPS_BETWEEN_CHECKS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, 0)
        raw.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
