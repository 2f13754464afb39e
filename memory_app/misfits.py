"""Which memories don't fit the schema of their type: looked for in every store, within bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

from memory_app.contracts import MemoryEntry, PageQuery
from memory_app.metadata_schema import problem_of
from memory_app.providers.rows import RowProvider
from memory_app.search import each_store

MAX_CHECKED = 20_000
MAX_CHECK_SECONDS = 10.0
MISFITS_SHOWN = 10
BATCH = 500


@dataclass(slots=True)
class Misfits:
    """Which memories of a type don't fit a schema: how many of those looked at, and the first with their problems.

    `total` is how many there are in the stores that answered; of those in `unavailable` not all were looked at.
    """

    until: float
    number: int = 0
    looked_at: int = 0
    total: int = 0
    first: list[tuple[MemoryEntry, str]] = field(default_factory=list)
    unavailable: tuple[str, ...] = ()

    def add(self, memory: MemoryEntry, problem: tuple[str, str]) -> None:
        """One more that was looked at; `problem` is where and why it doesn't fit, two empty texts when it does."""
        self.looked_at += 1
        if any(problem):
            self.number += 1
            self.first += [(memory, ": ".join(problem))] if len(self.first) < MISFITS_SHOWN else []


def misfits(type_key: str, schema: Mapping[str, Any]) -> Misfits:
    """The memories of a type that don't fit a schema, store by store, at most MAX_CHECKED and MAX_CHECK_SECONDS."""
    found = Misfits(until=perf_counter() + MAX_CHECK_SECONDS)
    query = PageQuery(types=(type_key,), size=BATCH, order="id", descending=False)
    _nothing, unavailable, _stores = each_store(query, partial(_look_at, found, schema))
    return replace(found, unavailable=tuple(unavailable))


def _look_at(found: Misfits, schema: Mapping[str, Any], provider: RowProvider, query: PageQuery) -> None:
    """In batches by their ids upwards, so that what is saved meanwhile shifts nothing."""
    found.total += provider.count(query)
    while rows := provider.page(query).rows:
        for _backend, memory in rows:
            if found.looked_at >= MAX_CHECKED or perf_counter() > found.until:
                return
            found.add(memory, problem_of(memory.metadata, schema))
        query = replace(query, page=query.page + 1)
