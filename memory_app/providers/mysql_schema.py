"""The table `netaclaw_memory` (first document, section 3.2): made, completed, or adopted from the older system.

What the documents leave to the server is fixed here: names are compared byte for byte (utf8mb4_bin), times have
microseconds and don't change by themselves, a type may be 50 long. `metadata` is JSON text, as MariaDB's JSON type is:
MySQL's own would reorder keys and round large integers. `ft_content` is there where the server has the ngram parser;
`ft_terms` is the index that recall uses. Every step looks at what is there, so that an interrupted run can be repeated.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.timezone import make_aware

from memory_app.indexing import terms_of

TABLE = "netaclaw_memory"
BATCH = 500
NO_SUCH_PARSER = (1126, 1128, 1286)
KEY = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
TEXT = "CHARACTER SET utf8mb4"
COLUMNS = {
    "id": "BIGINT NOT NULL AUTO_INCREMENT",
    "agent_name": f"VARCHAR(100) {KEY}",
    "user_id": f"VARCHAR(100) {KEY}",
    "type": f"VARCHAR(50) {KEY}",
    "name": f"VARCHAR(255) {TEXT} NOT NULL",
    "content": f"LONGTEXT {TEXT} NOT NULL",
    "description": f"VARCHAR(500) {TEXT} NOT NULL DEFAULT ''",
    "metadata": "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL",
    "created_at": "DATETIME(6) NOT NULL",
    "updated_at": "DATETIME(6) NOT NULL",
    "terms": "LONGTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL",
}
INDEXES = {
    "idx_agent_user": "(agent_name, user_id)",
    "idx_type": "(type)",
    "idx_agent_type": "(agent_name, type)",
    "idx_agent_updated": "(agent_name, updated_at)",
    "idx_updated": "(updated_at)",
    "idx_type_updated": "(type, updated_at)",
    "idx_user_updated": "(user_id, updated_at)",
    "idx_created": "(created_at, agent_name)",
    "idx_owner_text": "(agent_name, user_id, content(40))",
}
SHAPE = {  # what information_schema says of a column that is as it should be
    "id": ("bigint", None, None),
    "agent_name": ("varchar", 100, "utf8mb4_bin"),
    "user_id": ("varchar", 100, "utf8mb4_bin"),
    "type": ("varchar", 50, "utf8mb4_bin"),
    "name": ("varchar", 255, "utf8mb4"),
    "content": ("longtext", None, "utf8mb4"),
    "description": ("varchar", 500, "utf8mb4"),
    "metadata": ("longtext", None, "utf8mb4_bin"),
    "created_at": ("datetime", 6, None),
    "updated_at": ("datetime", 6, None),
    "terms": ("longtext", None, "ascii_bin"),
}
logger = logging.getLogger(__name__)


class Step(NamedTuple):
    """One change that the table needs: what it is, for people, and what does it."""

    title: str
    run: Callable[[], None]


def bring_up_to_date(connection: BaseDatabaseWrapper, advance: Callable[[int, int], None] | None = None) -> None:
    """Makes the table what it should be, step by step; `advance(done, total)` counts the rows given their terms.

    Safe to interrupt, to repeat, and to run while rows are read and written.
    """
    while steps := plan(connection, advance):
        for step in steps:
            logger.info("%s: %s", TABLE, step.title)
            step.run()


def plan(connection: BaseDatabaseWrapper, advance: Callable[[int, int], None] | None = None) -> list[Step]:
    """The steps that are still to be done, in order; none for a table that is as it should be."""
    columns = _columns(connection)
    if not columns:
        return [Step(f"create table {TABLE}", lambda: _create(connection))]
    steps = []
    if wrong := [name for name in COLUMNS if columns.get(name) != SHAPE[name]]:
        steps.append(Step(f"change columns: {', '.join(wrong)}", lambda: _alter(connection, wrong, columns)))
    waiting = _count_without_terms(connection) if "terms" in columns else _count(connection)
    if waiting:
        title = f"index the text of {waiting} rows"
        steps.append(Step(title, lambda: _fill_terms(connection, waiting, advance or _silently)))
    present = _indexes(connection)
    missing = {name: definition for name, definition in INDEXES.items() if name not in present}
    if missing:
        steps.append(Step(f"add indexes: {', '.join(missing)}", lambda: _add_indexes(connection, missing)))
    if "ft_terms" not in present:
        steps.append(Step("add index ft_terms", lambda: _run(connection, *_full_text("ft_terms", "terms"))))
    if "ft_content" not in present and has_ngram(connection):
        index = _full_text("ft_content", "name, content, description", "WITH PARSER ngram")
        steps.append(Step("add index ft_content", lambda: _run(connection, *index)))
    return steps


def has_ngram(connection: BaseDatabaseWrapper) -> bool:
    """Whether the server has the ngram parser; MariaDB hasn't."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = 'ngram' AND plugin_status = 'ACTIVE'"
        )
        return bool(cursor.fetchone()[0])


def has_index(connection: BaseDatabaseWrapper, name: str) -> bool:
    """Whether the table has an index of this name."""
    return name in _indexes(connection)


def missing_indexes(connection: BaseDatabaseWrapper) -> list[str]:
    """The indexes that the table should have and hasn't; ft_content only where the server can make it."""
    wanted = [*INDEXES, "ft_terms", *(["ft_content"] if has_ngram(connection) else [])]
    present = _indexes(connection)
    return [name for name in wanted if name not in present]


def agent_names(connection: BaseDatabaseWrapper) -> list[str]:
    """The agents that have memories in the table."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT agent_name FROM {TABLE} ORDER BY agent_name")
        return [name for (name,) in cursor.fetchall()]


def _create(connection: BaseDatabaseWrapper) -> None:
    columns = ", ".join(f"{name} {definition}" for name, definition in COLUMNS.items())
    indexes = ", ".join(f"INDEX {name} {definition}" for name, definition in INDEXES.items())
    check = "CONSTRAINT netaclaw_memory_metadata CHECK (metadata IS NULL OR JSON_VALID(metadata))"
    _run(
        connection,
        f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns}, PRIMARY KEY (id), {indexes}, {check})"
        " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    )


def _alter(connection: BaseDatabaseWrapper, wrong: Sequence[str], columns: dict[str, Any]) -> None:
    """One rebuild of the table. Missing times are filled in first; full-text indexes are dropped, to be made anew."""

    def known(name: str) -> str:
        """A time, or NULL for MySQL's day zero."""
        return f"IF(CAST({name} AS CHAR) LIKE '0000-%', NULL, {name})"

    if "created_at" in columns:
        _run(
            connection,
            f"UPDATE {TABLE} SET created_at = COALESCE({known('created_at')}, {known('updated_at')}, UTC_TIMESTAMP()),"
            f" updated_at = COALESCE({known('updated_at')}, {known('created_at')}, UTC_TIMESTAMP())"
            f" WHERE {known('created_at')} IS NULL OR {known('updated_at')} IS NULL",
            f"UPDATE {TABLE} SET updated_at = updated_at, description = '' WHERE description IS NULL",
            f"UPDATE {TABLE} SET updated_at = updated_at, agent_name = TRIM(agent_name), user_id = TRIM(user_id),"
            " type = TRIM(type) WHERE agent_name <> BINARY TRIM(agent_name) OR user_id <> BINARY TRIM(user_id)",
        )
    changes = [f"{'MODIFY' if name in columns else 'ADD'} COLUMN {name} {COLUMNS[name]}" for name in wrong]
    dropped = [f"DROP INDEX {name}" for name in ("ft_content", "ft_terms") if name in _indexes(connection)]
    _run(connection, f"ALTER TABLE {TABLE} {', '.join(dropped + changes)}")


def _add_indexes(connection: BaseDatabaseWrapper, missing: dict[str, str]) -> None:
    _run(connection, f"ALTER TABLE {TABLE} {', '.join(f'ADD INDEX {name} {text}' for name, text in missing.items())}")


def _full_text(name: str, columns: str, parser: str = "") -> tuple[str, ...]:
    """MySQL drops ngrams that contain a stop word ("a", "i"); the list is switched off where the index is made."""
    return (
        "SET SESSION innodb_ft_enable_stopword = OFF",
        f"ALTER TABLE {TABLE} ADD FULLTEXT INDEX {name} ({columns}) {parser}",
        "SET SESSION innodb_ft_enable_stopword = ON",
    )


def _fill_terms(connection: BaseDatabaseWrapper, total: int, advance: Callable[[int, int], None]) -> None:
    done = 0
    for rows in _rows_without_terms(connection):
        terms = {
            row_id: terms_of(agent, user, name, content, description, make_aware(created, connection.timezone))
            for row_id, agent, user, name, content, description, created in rows
        }
        _write_terms(connection, terms)
        done += len(rows)
        advance(done, max(total, done))


def _write_terms(connection: BaseDatabaseWrapper, terms: dict[int, str]) -> None:
    """One statement for a batch; a row that was written meanwhile has its terms already and keeps them."""
    cases, places = " ".join(["WHEN %s THEN %s"] * len(terms)), ", ".join(["%s"] * len(terms))
    sql = (
        f"UPDATE {TABLE} SET terms = CASE id {cases} END, updated_at = updated_at WHERE terms = '' AND id IN ({places})"
    )
    values = [value for pair in terms.items() for value in pair]
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(sql, [*values, *terms])


def _rows_without_terms(connection: BaseDatabaseWrapper) -> Iterator[Sequence[Any]]:
    last = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT id, agent_name, user_id, name, content, description, created_at FROM {TABLE}"
                " WHERE id > %s AND terms = '' ORDER BY id LIMIT %s",
                [last, BATCH],
            )
            rows = cursor.fetchall()
        if not rows:
            return
        yield rows
        last = rows[-1][0]


def _columns(connection: BaseDatabaseWrapper) -> dict[str, tuple[str, int | None, str | None]]:
    """Each column's type, length (of times: digits) and collation, or character set where any collation will do."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type, character_maximum_length, datetime_precision, collation_name,"
            " character_set_name, is_nullable, extra FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name = %s",
            [TABLE],
        )
        rows = cursor.fetchall()
    found = {}
    for name, kind, length, digits, collation, charset, nullable, extra in rows:
        size = digits if kind == "datetime" else length if kind == "varchar" else None
        wanted = SHAPE.get(name, ("", None, None))[2]
        text = charset if wanted == charset else collation
        changes_itself = "on update" in extra.lower() or (kind == "datetime" and nullable == "YES")
        found[name] = (kind, -1 if changes_itself else size, text)
    return found


def _indexes(connection: BaseDatabaseWrapper) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT index_name FROM information_schema.statistics"
            " WHERE table_schema = DATABASE() AND table_name = %s",
            [TABLE],
        )
        return {name for (name,) in cursor.fetchall()}


def _count(connection: BaseDatabaseWrapper) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {TABLE}")
        return int(cursor.fetchone()[0])


def _count_without_terms(connection: BaseDatabaseWrapper) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {TABLE} WHERE terms = ''")
        return int(cursor.fetchone()[0])


def _silently(done: int, total: int) -> None:
    """Nobody watches."""


def _run(connection: BaseDatabaseWrapper, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
