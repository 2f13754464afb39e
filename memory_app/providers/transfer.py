"""Copying one agent's memories from store to store: raw rows out and in, ids looked up, writers waited for.

Metadata travels as the text that is stored, and times to the microsecond, so that a copy can be verified byte for byte.
Reads open the store as writers do: a replica may lag behind.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import TextField, Value
from django.db.models.functions import Cast

from memory_app.providers.operations import operation_of
from memory_app.providers.rows import RowProvider, terms_of_row

FIELDS = ("user_id", "type", "name", "content", "description", "created_at", "updated_at")
BATCH = 500


class RawMemory(NamedTuple):
    """A row as it is stored; `metadata` is its JSON text or None."""

    id: int
    user_id: str
    type: str
    name: str
    content: str
    description: str
    created_at: datetime
    updated_at: datetime
    metadata: str | None


def read(provider: RowProvider, agent_name: str, after: int, limit: int = BATCH) -> list[RawMemory]:
    """The agent's next rows by id."""

    def run() -> list[RawMemory]:
        with provider.writing() as rows:
            owned = rows.filter(agent_name=agent_name, id__gt=after).order_by("id")
            raw = owned.annotate(raw_metadata=Cast("metadata", TextField()))
            return [RawMemory(*row) for row in raw.values_list("id", *FIELDS, "raw_metadata")[:limit]]

    return operation_of(provider, run)


def read_all(provider: RowProvider, agent_name: str) -> Iterator[list[RawMemory]]:
    """All of the agent's rows by id, in batches."""
    after = 0
    while batch := read(provider, agent_name, after):
        yield batch
        after = batch[-1].id


def insert(provider: RowProvider, agent_name: str, batch: Sequence[RawMemory], *, keep_ids: bool) -> bool:
    """Writes rows as they are, in one transaction, under their own ids or, in the same order, under new ones.

    Returns False, and writes nothing, when one of the ids to be kept is taken.
    """
    made = [_row(provider, agent_name, item, keep_ids=keep_ids) for item in batch]

    def run() -> bool:
        with provider.writing() as rows:
            if keep_ids and rows.filter(pk__in=[item.id for item in batch]).exists():
                return False
            rows.bulk_create(made)
            return True

    return operation_of(provider, run)


def _row(provider: RowProvider, agent_name: str, item: RawMemory, *, keep_ids: bool) -> Any:
    values = {name: getattr(item, name) for name in FIELDS}
    row = provider.model(agent_name=agent_name, **values)
    if keep_ids:
        row.pk = item.id
    row.terms = terms_of_row(row)
    if item.metadata is not None:
        row.metadata = Value(item.metadata, output_field=TextField())
    return row


def count(provider: RowProvider, agent_name: str) -> int:
    """How many rows of the agent the store has."""

    def run() -> int:
        with provider.writing() as rows:
            return rows.filter(agent_name=agent_name).count()

    return operation_of(provider, run)


def ids(provider: RowProvider, agent_name: str) -> list[int]:
    """The ids of the agent's rows, in their order."""

    def run() -> list[int]:
        with provider.writing() as rows:
            return list(rows.filter(agent_name=agent_name).order_by("id").values_list("id", flat=True))

    return operation_of(provider, run)


def any_taken(provider: RowProvider, ids: Collection[int]) -> bool:
    """Whether the store uses any of these ids."""

    def run() -> bool:
        with provider.writing() as rows:
            return rows.filter(pk__in=list(ids)).exists()

    return operation_of(provider, run)


def remove(provider: RowProvider, agent_name: str, user_id: str | None = None) -> int:
    """Deletes up to BATCH rows of the agent, or of one user of it; returns how many there were."""

    def run() -> int:
        with provider.writing() as rows:
            owned = rows.filter(agent_name=agent_name)
            owned = owned if user_id is None else owned.filter(user_id=user_id)
            ids = list(owned.order_by("id").values_list("id", flat=True)[:BATCH])
            return rows.filter(pk__in=ids).delete()[0] if ids else 0

    return operation_of(provider, run)


def remove_all(
    provider: RowProvider, agent_name: str, advance: Callable[[int], None] | None = None, user_id: str | None = None
) -> int:
    """Deletes all rows of the agent, or of one user of it, in batches, telling `advance` of each; returns how many."""
    deleted = 0
    while removed := remove(provider, agent_name, user_id):
        deleted += removed
        if advance:
            advance(removed)
    return deleted


def digest(provider: RowProvider, agent_name: str, *, with_ids: bool) -> str:
    """A hash of everything the agent's rows say, in the order of their ids."""
    whole = hashlib.blake2b(digest_size=16)
    for batch in read_all(provider, agent_name):
        for item in batch:
            whole.update(_canonical(item if with_ids else item._replace(id=0)))
    return whole.hexdigest()


def _canonical(item: RawMemory) -> bytes:
    spelled = [value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value for value in item]
    return json.dumps(spelled, ensure_ascii=False).encode() + b"\n"
