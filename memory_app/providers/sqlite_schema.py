"""The schema of a .db file (first document, section 3.3, without its CHECK): made, completed or upgraded on opening.

`memory_fts` (trigram) serves the operators' substring search; `memory_terms` indexes the scoped terms that recall uses
(a query touches only its owner's postings). Both are external-content FTS5 tables kept by the
same three triggers. `PRAGMA user_version` holds the version; a change of schema or of analysis raises it. Everything
happens in one transaction, so that a crash leaves the old file or the new one.
"""

import logging
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import DatabaseError, OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from memory_app.exceptions import StoreRejected
from memory_app.indexing import terms_of

VERSION = 1
BUSY_SECONDS = 5
UPGRADE_SECONDS = 900
COLUMNS = (
    "id",
    "agent_name",
    "user_id",
    "type",
    "name",
    "content",
    "description",
    "metadata",
    "created_at",
    "updated_at",
)
TABLE = """CREATE TABLE memory (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_name TEXT NOT NULL,
  user_id TEXT NOT NULL,
  type TEXT NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  metadata TEXT,
  created_at TEXT DEFAULT (datetime('now')),
  updated_at TEXT DEFAULT (datetime('now')),
  terms TEXT NOT NULL DEFAULT ''
)"""
INDEXES = {
    "idx_agent_user": "CREATE INDEX idx_agent_user ON memory(agent_name, user_id)",
    "idx_owner_text": "CREATE INDEX idx_owner_text ON memory(agent_name, user_id, substr(content, 1, 40))",
    "idx_agent_type": "CREATE INDEX idx_agent_type ON memory(agent_name, type)",
    "idx_agent_updated": "CREATE INDEX idx_agent_updated ON memory(agent_name, updated_at)",
    "idx_updated": "CREATE INDEX idx_updated ON memory(updated_at)",
    "idx_type_updated": "CREATE INDEX idx_type_updated ON memory(type, updated_at)",
    "idx_user_updated": "CREATE INDEX idx_user_updated ON memory(user_id, updated_at)",
    "idx_created": "CREATE INDEX idx_created ON memory(created_at, agent_name)",
}
FULL_TEXT = {
    "memory_fts": """CREATE VIRTUAL TABLE memory_fts USING fts5(
  name, content, description, content='memory', content_rowid='id', tokenize='trigram')""",
    "memory_terms": """CREATE VIRTUAL TABLE memory_terms USING fts5(
  terms, content='memory', content_rowid='id', tokenize='ascii', detail='none', columnsize=0)""",
}
VOCABULARY = {"memory_vocab": "CREATE VIRTUAL TABLE memory_vocab USING fts5vocab(memory_terms, row)"}
_ADD = """INSERT INTO memory_fts(rowid, name, content, description)
  VALUES (new.id, new.name, new.content, new.description);
  INSERT INTO memory_terms(rowid, terms) VALUES (new.id, new.terms);"""
_REMOVE = """INSERT INTO memory_fts(memory_fts, rowid, name, content, description)
  VALUES ('delete', old.id, old.name, old.content, old.description);
  INSERT INTO memory_terms(memory_terms, rowid, terms) VALUES ('delete', old.id, old.terms);"""
TRIGGERS = {
    "memory_ai": f"CREATE TRIGGER memory_ai AFTER INSERT ON memory BEGIN\n  {_ADD}\nEND",
    "memory_ad": f"CREATE TRIGGER memory_ad AFTER DELETE ON memory BEGIN\n  {_REMOVE}\nEND",
    "memory_au": f"CREATE TRIGGER memory_au AFTER UPDATE ON memory BEGIN\n  {_REMOVE}\n  {_ADD}\nEND",
}
logger = logging.getLogger(__name__)


def bring_up_to_date(connection: BaseDatabaseWrapper) -> bool:
    """Makes, completes or upgrades the store behind an open connection; returns whether it has full text.

    The whole change is one IMMEDIATE transaction, for which other openers wait. Raises StoreRejected, and leaves the
    file as it is, when it isn't ours, is newer than this version, or is damaged.
    """
    with damage_told():
        if is_current(connection):
            return True
        _refuse_foreign(connection)
        _refuse_damaged(connection)
        _use_wal(connection)
        with _patience(connection), transaction.atomic(using=connection.alias):
            return is_current(connection) or _change(connection)


@contextmanager
def damage_told() -> Iterator[None]:
    """A file that can't be a store, or can't be made one, is told as StoreRejected."""
    try:
        yield
    except DatabaseError as error:
        if "not a database" in str(error) or "malformed" in str(error):
            raise StoreRejected(_("The file is no readable SQLite database; restore it from a backup.")) from error
        if "readonly" in str(error):
            message = _("The SQLite file has to be upgraded and is read-only; let the product write to it.")
            raise StoreRejected(message) from error
        raise


def full_text_problem() -> str:
    """Why this Python's SQLite can't make the full-text indexes; "" when it can."""
    probe = sqlite3.connect(":memory:")
    try:
        probe.execute("CREATE VIRTUAL TABLE probe USING fts5(text, tokenize='trigram')")
    except sqlite3.OperationalError as error:
        return str(error)
    finally:
        probe.close()
    return ""


def is_current(connection: BaseDatabaseWrapper) -> bool:
    """Whether the file has nothing to be made, completed or upgraded; raises StoreRejected for one that is no store."""
    with damage_told():
        objects = _objects(connection)
        wanted = {"memory": TABLE} | INDEXES | FULL_TEXT | VOCABULARY | TRIGGERS
        return _version(connection) == VERSION and all(_same(objects.get(name), sql) for name, sql in wanted.items())


def _refuse_foreign(connection: BaseDatabaseWrapper) -> None:
    if _version(connection) > VERSION:
        raise StoreRejected(_("The file was written by a newer version of NetaClaw Memory; upgrade this installation."))
    if not _objects(connection):
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pragma_table_info('memory')")
        found = {name for (name,) in cursor.fetchall()}
    if not found.issuperset(COLUMNS):
        raise StoreRejected(_("The SQLite file belongs to another program: it has no memory table. Name another file."))


def _refuse_damaged(connection: BaseDatabaseWrapper) -> None:
    """Reads every page before the first byte is written: a damaged file is for its backup, not for an upgrade."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        if cursor.fetchone() != ("ok",):
            raise StoreRejected(_("The SQLite file is damaged; restore it from a backup."))


@contextmanager
def _patience(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Another process's upgrade of a large file takes minutes; whoever opens the file meanwhile waits for it."""
    _run(connection, f"PRAGMA busy_timeout={UPGRADE_SECONDS * 1000}")
    try:
        yield
    finally:
        _run(connection, f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")


def _change(connection: BaseDatabaseWrapper) -> bool:
    """Inside the transaction: the table first, then its indexes, then full text where this SQLite has it."""
    objects = _objects(connection)
    rest = {"memory": TABLE} | FULL_TEXT | VOCABULARY | TRIGGERS
    if _version(connection) == VERSION and all(_same(objects.get(name), sql) for name, sql in rest.items()):
        _make_indexes(connection, objects)  # without indexing every text anew
        return True
    _drop(connection, "TRIGGER", TRIGGERS, objects)
    if "memory" not in objects:
        _run(connection, TABLE)
    elif not _same(objects["memory"], TABLE):
        _rebuild_table(connection, objects)
        objects = {name: sql for name, sql in _objects(connection).items() if name not in INDEXES}
    elif _version(connection) != VERSION:
        _register(connection)
        _run(connection, f"UPDATE memory SET terms = {_TERMS}")
    _make_indexes(connection, objects)
    complete = _make_full_text(connection, objects)
    _run(connection, f"PRAGMA user_version = {VERSION}")
    return complete


def _make_indexes(connection: BaseDatabaseWrapper, objects: Mapping[str, str]) -> None:
    for name, sql in INDEXES.items():
        if not _same(objects.get(name), sql):
            _run(connection, f"DROP INDEX IF EXISTS {name}", sql)


_TERMS = "netaclaw_terms(agent_name, user_id, name, content, description, created_at)"


def _rebuild_table(connection: BaseDatabaseWrapper, objects: Mapping[str, str]) -> None:
    """The older system's table (CHECK, no terms, any spelling of times) becomes ours; rows, ids and times are kept."""
    _register(connection)
    kept = "id, agent_name, user_id, type, name, content, description, metadata"
    times = "netaclaw_time(COALESCE(created_at, updated_at)), netaclaw_time(COALESCE(updated_at, created_at))"
    _run(
        connection,
        "DROP TABLE IF EXISTS memory_new",
        TABLE.replace("TABLE memory", "TABLE memory_new", 1),
        f"INSERT INTO memory_new SELECT {kept}, {times}, {_TERMS} FROM memory ORDER BY id",
        "DELETE FROM sqlite_sequence WHERE name = 'memory_new'",
        "INSERT INTO sqlite_sequence SELECT 'memory_new', seq FROM sqlite_sequence WHERE name = 'memory'",
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT (SELECT COUNT(*) FROM memory), (SELECT COUNT(*) FROM memory_new)")
        before, after = cursor.fetchone()
    if before != after:
        raise StoreRejected(_("The SQLite file could not be upgraded completely; it was left as it is."))
    _run(connection, "DROP TABLE memory", "ALTER TABLE memory_new RENAME TO memory")
    logger.info("Upgraded a memory file of %d rows to version %d.", after, VERSION)


def _make_full_text(connection: BaseDatabaseWrapper, objects: Mapping[str, str]) -> bool:
    try:
        with transaction.atomic(using=connection.alias):
            for name, sql in FULL_TEXT.items():
                if not _same(objects.get(name), sql):
                    _run(connection, f"DROP TABLE IF EXISTS {name}", sql)
                _run(connection, f"INSERT INTO {name}({name}) VALUES ('rebuild')")
                _run(connection, f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)")
            _run(connection, "DROP TABLE IF EXISTS memory_vocab", *VOCABULARY.values(), *TRIGGERS.values())
    except OperationalError as error:
        if "no such module" not in str(error) and "no such tokenizer" not in str(error):
            raise
        logger.warning("This SQLite has no full-text search (%s): memories are searched row by row.", error)
        return False
    return True


def _register(connection: BaseDatabaseWrapper) -> None:
    """Lends SQL the analysis of the product, for one pass over a whole file."""
    connection.connection.create_function("netaclaw_time", 1, _spelled_time, deterministic=True)
    connection.connection.create_function("netaclaw_terms", 6, _spelled_terms, deterministic=True)


def _spelled_time(value: str | None) -> str:
    return _time(value).astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def _spelled_terms(agent: str, user: str, name: str, content: str, description: str, created: str | None) -> str:
    return terms_of(agent, user, name, content, description, _time(created))


def _time(value: str | None) -> datetime:
    """The older system wrote UTC without saying so; whatever is no time at all becomes the time of the upgrade."""
    try:
        parsed = parse_datetime(value or "")
        known = parsed and (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        known = None
    return known or timezone.now()


def _use_wal(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        if cursor.fetchone()[0] not in ("wal", "memory"):
            cursor.execute("PRAGMA journal_mode=WAL")


def _objects(connection: BaseDatabaseWrapper) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%%'", [])
        return dict(cursor.fetchall())


def _version(connection: BaseDatabaseWrapper) -> int:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA user_version")
        return int(cursor.fetchone()[0])


def _same(stored: str | None, wanted: str) -> bool:
    """SQLite quotes a renamed table's name and keeps every blank; neither makes another schema."""
    return stored is not None and stored.replace('"', "").split() == wanted.split()


def _drop(connection: BaseDatabaseWrapper, kind: str, names: Mapping[str, str], objects: Mapping[str, str]) -> None:
    _run(connection, *(f"DROP {kind} {name}" for name in names if name in objects))


def _run(connection: BaseDatabaseWrapper, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
