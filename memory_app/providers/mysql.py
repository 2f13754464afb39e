"""Backend `mysql`: the table netaclaw_memory of the main database, or of a named one (first document, 4.3)."""

import hashlib
import logging
import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, F, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Collate
from django.utils.translation import gettext as _

from memory_app.analysis import Kind, Prefixes, Query, QueryTerm, scoped
from memory_app.contracts import Backend, MemoryDraft, PageQuery, SaveResult
from memory_app.exceptions import StoreUnavailable
from memory_app.models import Memory
from memory_app.providers import mysql_schema
from memory_app.providers.operations import operation
from memory_app.providers.rows import LENGTH_SAMPLE, MAX_CANDIDATES, TEXT, RowProvider
from memory_app.ranking import Statistics, posting_terms

LOCK_TIMEOUT = 1205
BUSY = (LOCK_TIMEOUT, 1213, 1020)  # also: deadlock; MariaDB's "record has changed since last read"
LOST = (0, 2006, 2013, 2055, 4031)
REFUSED = (2002, 2003, 2005)
INDEX_SECONDS = 60
WRITERS_SECONDS = 30
LOCK_SECONDS = 5
STRIPES = 64
BINARY = "utf8mb4_bin"
TERMS = "MATCH(terms) AGAINST (%s IN BOOLEAN MODE)"
NGRAM = "MATCH(name, content, description) AGAINST (%s IN BOOLEAN MODE)"
logger = logging.getLogger(__name__)
_INDEXES: dict[tuple[str, str], tuple[bool, float]] = {}


class MysqlProvider(RowProvider):
    """The table in database `alias`; reads go to a replica of it where the settings name one, and fall back to it."""

    backend = Backend.MYSQL
    model = Memory
    attempts = 4
    names_query = "SELECT DISTINCT agent_name FROM netaclaw_memory"  # the server jumps by itself
    # The first condition on content uses the index over its beginning, the last ones compare byte for byte.
    twin_query = (
        "SELECT id FROM netaclaw_memory WHERE agent_name = %s AND user_id = %s AND type = %s"
        f" AND name COLLATE {BINARY} = %s AND content COLLATE {BINARY} = %s AND description COLLATE {BINARY} = %s"
        " AND content = %s ORDER BY id LIMIT 1"
    )

    def __init__(self, alias: str) -> None:
        super().__init__()
        self.alias = alias
        self._replicas_failed = False

    @property
    def key(self) -> str:
        return self.alias

    @property
    def label(self) -> str:
        return "MySQL" if self.alias == "default" else f"MySQL {self.alias}"

    def _enter(self, alias: str) -> None:
        """Takes the metadata lock that LOCK TABLES waits for."""
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT id FROM netaclaw_memory LIMIT 0")

    @operation
    def wait_for_writers(self) -> None:
        connection = connections[self.alias].copy()
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION lock_wait_timeout = {WRITERS_SECONDS}")
                cursor.execute("LOCK TABLES netaclaw_memory WRITE")
                cursor.execute("UNLOCK TABLES")
        finally:
            connection.close()

    def close(self) -> None:
        """Connections belong to Django, which keeps them per thread."""

    @contextmanager
    def _opened(self, *, write: bool, seconds: float | None = None) -> Iterator[str]:
        alias = self.alias if write else self._reader()
        if seconds is None:
            yield alias
        else:
            with _time_limit(connections[alias], seconds):
                yield alias

    def _reader(self) -> str:
        replicas = settings.REPLICAS.get(self.alias, ())
        return random.choice(replicas) if replicas and not self._replicas_failed else self.alias

    def may_retry(self, error: Error) -> bool:
        """After a deadlock or a lost connection, outside a transaction; a replica that fails is left for its source."""
        code = error.args[0] if error.args else None
        if connections[self.alias].in_atomic_block:
            return False
        if code in LOST or code in REFUSED:
            aliases = (self.alias, *settings.REPLICAS.get(self.alias, ()))
            turns_to_source = len(aliases) > 1 and not self._replicas_failed
            self._replicas_failed = True
            for alias in aliases:
                connections[alias].close()
            return turns_to_source or code in LOST
        return code in BUSY

    def save_many(self, drafts: Sequence[MemoryDraft]) -> Sequence[SaveResult]:
        with self._owners_locked(drafts):
            return super().save_many(drafts)

    @contextmanager
    def _owners_locked(self, drafts: Sequence[MemoryDraft]) -> Iterator[None]:
        """Saves for one owner stand in line, so that of identical ones only the first makes a row."""
        connection = connections[self.alias]
        stripes = sorted({_stripe(draft) for draft in drafts})
        names = [f"netaclaw.{connection.settings_dict['NAME']}"[:60] + f".{stripe}" for stripe in stripes]
        held: list[str] = []
        try:
            for name in names:
                self._take(connection, name)
                held.append(name)
            yield
        finally:
            for name in held:
                self._let_go(connection, name)

    @operation
    def _take(self, connection: BaseDatabaseWrapper, name: str) -> None:
        """One lock, in one statement: an attempt that fails holds nothing."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT GET_LOCK(%s, %s)", [name, LOCK_SECONDS])
            if not cursor.fetchone()[0]:
                raise StoreUnavailable(_("Another save for this user takes too long; nothing was changed. Try again."))

    @operation
    def _let_go(self, connection: BaseDatabaseWrapper, name: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT RELEASE_LOCK(%s)", [name])

    def _sort_key(self, query: PageQuery) -> Any:
        """Text sorts by code point on every store, so that lists over several stores can be merged."""
        return Collate(F(query.order), BINARY) if query.order in TEXT else F(query.order)

    def _contains(self, word: str) -> Q:
        """By LIKE on folded text, which decides; where the ngram index can answer, it narrows the rows first."""
        pattern = "%" + word.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        found = Q()
        for name in TEXT:
            found |= Q(RawSQL(f"LOWER({name}) COLLATE {BINARY} LIKE %s", [pattern], output_field=BooleanField()))
        return found

    def _is_indexed(self, word: str, alias: str) -> bool:
        """Letters and digits only, two at least: nothing of the user's text can be an operator of the boolean mode."""
        connection = connections[alias]
        usable = len(word) >= 2 and word.isalnum() and not connection.in_atomic_block
        return usable and _has_index(connection, "ft_content")

    def _narrowed(self, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        return _matching(rows, NGRAM, f'"{word}"') if self._is_indexed(word, rows.db) else rows

    def _statistics(self, query: Query, owners: Sequence[Prefixes], rows: QuerySet[Any]) -> Statistics | None:
        """The index doesn't know the rows of an open transaction, so inside one the rows themselves are read."""
        connection = connections[rows.db]
        if connection.in_atomic_block or not _has_index(connection, "ft_terms"):
            return None
        total = rows.count()
        counts = self._frequencies(connection, query, owners)
        lengths = [len(terms) for terms in rows.order_by("-id").values_list("terms", flat=True)[:LENGTH_SAMPLE]]
        frequency = {term: min(total, number) for term, number in counts.items()}
        return Statistics(total, sum(lengths) / len(lengths), frequency)

    def _frequencies(
        self, connection: BaseDatabaseWrapper, query: Query, owners: Sequence[Prefixes]
    ) -> dict[QueryTerm, int]:
        """How many of the owner's rows hold each term, in one statement."""
        one = f"(SELECT COUNT(*) FROM netaclaw_memory WHERE {TERMS})"
        words = [" ".join(_boolean(term, owner) for owner in owners) for term in query.terms]
        with connection.cursor() as cursor:
            cursor.execute("SELECT " + ", ".join([one] * len(words)), words)
            return dict(zip(query.terms, cursor.fetchone(), strict=True))

    def _best_rows(
        self, query: Query, owners: Sequence[Prefixes], statistics: Statistics, rows: QuerySet[Any], *, widened: bool
    ) -> QuerySet[Any]:
        chosen = posting_terms(query, statistics, widened=widened)
        words = " ".join(_boolean(term, owner, widened=wide) for term, _weight, wide in chosen for owner in owners)
        if not words:
            return rows.none()
        best = _matching(rows, TERMS, words).order_by(RawSQL(TERMS, [words]).desc(), "-id")
        return rows.filter(pk__in=list(best.values_list("id", flat=True)[:MAX_CANDIDATES]))


@contextmanager
def named_lock(name: str) -> Iterator[bool]:
    """A lock of the main database's server, which ends with the connection; yields whether it was free."""
    connection = connections[DEFAULT_DB_ALIAS]
    whole = f"netaclaw.{connection.settings_dict['NAME']}"[:40] + f".{name}"[-24:]
    with connection.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK(%s, 0)", [whole])
        held = bool(cursor.fetchone()[0])
        try:
            yield held
        finally:
            if held:
                cursor.execute("SELECT RELEASE_LOCK(%s)", [whole])


def _has_index(connection: BaseDatabaseWrapper, name: str) -> bool:
    """Asked of the server once a minute; an index may still be in the making while the product runs."""
    known, since = _INDEXES.get((connection.alias, name), (False, -math.inf))
    if time.monotonic() - since > INDEX_SECONDS:
        known, since = mysql_schema.has_index(connection, name), time.monotonic()
        if not known and (connection.alias, name) not in _INDEXES:
            logger.info("Database %s has no index %s: rows are read instead.", connection.alias, name)
        _INDEXES[connection.alias, name] = known, since
    return known


def _boolean(term: QueryTerm, owner: Prefixes, *, widened: bool = False) -> str:
    """A scoped term for the boolean mode: ASCII letters and digits, and for a prefix the sign * of ours."""
    return scoped(term, owner) + ("*" if widened or term.kind is Kind.CHAR else "")


def _matching(rows: QuerySet[Any], match: str, words: str) -> QuerySet[Any]:
    """Rows by a full-text index; a condition as it is, for Django would ask whether its relevance is 1."""
    return rows.extra(where=[match], params=[words])


def _stripe(draft: MemoryDraft) -> int:
    owner = f"{draft.agent_name}\0{draft.user_id}".encode()
    return int.from_bytes(hashlib.blake2b(owner, digest_size=4).digest()) % STRIPES


@contextmanager
def _time_limit(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """The server ends statements that take longer: max_statement_time on MariaDB, max_execution_time on MySQL."""
    mariadb = getattr(connection, "mysql_is_mariadb", False)
    name, limit = (
        ("max_statement_time", max(seconds, 1e-6)) if mariadb else ("max_execution_time", math.ceil(seconds * 1000))
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION {name} = %s", [limit])
    try:
        yield
    finally:
        if connection.connection is not None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION {name} = 0")
