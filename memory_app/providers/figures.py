"""Figures of a whole store for operators: what each agent has, what came on which day, who has most; and its health.

Every query is answered by an index alone (idx_agent_type, idx_agent_updated, idx_created, idx_agent_user), so that the
cost follows the number of rows counted, not their length.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from time import perf_counter
from typing import Any, NamedTuple

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, DateField, Max, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from memory_app.providers import mysql_schema, sqlite_schema
from memory_app.providers.operations import operation_of
from memory_app.providers.pool import POOL
from memory_app.providers.rows import RowProvider
from memory_app.providers.sqlite import SqliteProvider
from memory_app.stretches import Stretch

SIZE = (
    # MySQL keeps what it says here for a day, unless it is told not to; MariaDB takes the hint for a comment.
    "SELECT /*+ SET_VAR(information_schema_stats_expiry=0) */ data_length + index_length FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND table_name = %s"
)


class OwnerCount(NamedTuple):
    """How many memories a user has with an agent."""

    agent_name: str
    user_id: str
    number: int


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """Counts by agent and type, by agent and day of creation, changed today; latest writes; the users."""

    by_type: Mapping[tuple[str, str], int]
    by_day: Mapping[tuple[str, date], int]
    updated: Mapping[str, int]
    latest: Mapping[str, datetime]
    owners: Sequence[OwnerCount]
    users: frozenset[str]


class Asked(NamedTuple):
    """The days to count by, those on which a change counts, whose users to leave out, and how many users to name."""

    days: Sequence[Stretch]
    updated: Sequence[Stretch]
    without_agents: Sequence[str] = ()
    owners: int = 10


class StoreHealth(NamedTuple):
    """How a store does: the time of its shortest answer (ms), size in bytes, full text, and its schema, in words."""

    milliseconds: float
    rows: int
    size: int | None
    full_text: bool
    schema: str


def figures(provider: RowProvider, asked: Asked, seconds: float) -> StoreFigures:
    """The store's figures; raises StoreUnavailable when it can't be read, or not within `seconds` a query."""

    def run() -> StoreFigures:
        with provider.reading(seconds) as rows:
            known = rows.exclude(agent_name__in=asked.without_agents) if asked.without_agents else rows.all()
            by_type = _by_type(known)
            names = sorted({name for name, _type in by_type})
            owned = known.exclude(user_id="")
            return StoreFigures(
                by_type,
                _by_day(known, asked.days),
                _updated(known, names, asked.updated),
                dict(known.order_by().values_list("agent_name").annotate(Max("updated_at"))),
                _owners(owned, asked.owners),
                frozenset(owned.order_by().values_list("user_id", flat=True).distinct()),
            )

    return operation_of(provider, run)


def answer_time(provider: RowProvider, seconds: float) -> float:
    """How long the store takes to open and to give one row (ms); raises StoreUnavailable after `seconds`."""

    def run() -> float:
        start = perf_counter()
        with provider.reading(seconds) as rows:
            rows.order_by().values_list("pk").first()
        return (perf_counter() - start) * 1000

    return operation_of(provider, run)


def size_of(provider: RowProvider) -> int | None:
    """The bytes of the .db file, or of the table and its indexes; None where there is nothing yet, or no answer."""
    if isinstance(provider, SqliteProvider):
        try:
            return provider.path.stat().st_size
        except OSError:
            return None
    try:
        with provider.reading() as rows, connections[rows.db].cursor() as cursor:
            cursor.execute(SIZE, [mysql_schema.TABLE])
            found = cursor.fetchone()
    except Error:
        return None
    return int(found[0]) if found and found[0] is not None else None


def health(provider: RowProvider, seconds: float) -> StoreHealth:
    """How the store does; raises StoreUnavailable when it can't be read within `seconds`."""
    milliseconds = answer_time(provider, seconds)

    def run() -> StoreHealth:
        with provider.reading() as rows:
            number = rows.count()
            full_text, schema = _shape(provider, connections[rows.db])
        return StoreHealth(milliseconds, number, size_of(provider), full_text, schema)

    return operation_of(provider, run)


def _by_type(rows: QuerySet[Any]) -> dict[tuple[str, str], int]:
    counted = rows.order_by().values_list("agent_name", "type").annotate(Count("id"))
    return {(name, key): number for name, key, number in counted}


def _by_day(rows: QuerySet[Any], stretches: Sequence[Stretch]) -> dict[tuple[str, date], int]:
    found: dict[tuple[str, date], int] = defaultdict(int)
    for stretch in stretches:
        within = rows.filter(created_at__gte=stretch.start, created_at__lt=stretch.end)
        local = within.annotate(day=_day(connections[rows.db], stretch.offset)).order_by()
        for name, day, number in local.values_list("agent_name", "day").annotate(Count("id")):
            found[name, day] += number
    return dict(found)


def _day(connection: BaseDatabaseWrapper, offset: int) -> RawSQL:
    """The local day of a row. SQLite would round the last half of a millisecond up to the next day."""
    if connection.vendor == "mysql":
        return RawSQL("DATE(created_at + INTERVAL %s SECOND)", [offset], output_field=DateField())
    return RawSQL("date(substr(created_at, 1, 19), %s)", [f"{offset:+d} seconds"], output_field=DateField())


def _updated(rows: QuerySet[Any], names: Sequence[str], stretches: Sequence[Stretch]) -> dict[str, int]:
    """By name, so that idx_agent_updated answers alone: idx_updated would have every row read for its agent."""
    found: dict[str, int] = defaultdict(int)
    for stretch in stretches:
        within = rows.filter(agent_name__in=names, updated_at__gte=stretch.start, updated_at__lt=stretch.end)
        for name, number in within.order_by().values_list("agent_name").annotate(Count("id")):
            found[name] += number
    return dict(found)


def _owners(rows: QuerySet[Any], number: int) -> list[OwnerCount]:
    counted = rows.order_by().values_list("agent_name", "user_id").annotate(number=Count("id"))
    return [OwnerCount(*row) for row in counted.order_by("-number", "agent_name", "user_id")[:number]]


def _shape(provider: RowProvider, connection: BaseDatabaseWrapper) -> tuple[bool, str]:
    """Whether the full-text index that recall uses is there, and what the schema is, for people."""
    if isinstance(provider, SqliteProvider):
        return POOL.full_text(connection.alias), _("version %(number)d") % {"number": sqlite_schema.VERSION}
    missing = mysql_schema.missing_indexes(connection)
    schema = _("missing: %(names)s") % {"names": ", ".join(missing)} if missing else _("complete")
    return "ft_terms" not in missing, schema
