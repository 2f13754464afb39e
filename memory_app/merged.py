"""The memories of all stores as Django's ChangeList wants them: a lazy stand-in for a queryset.

ChangeList, its filters and its actions use the few methods below; every read goes through search.py. Rows are
unsaved Memory instances whose key is their reference ("agent:id"), because ids repeat from store to store: every
link of the admin's templates is built from it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Self

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Q

from memory_app import search
from memory_app.contracts import SORT_FIELDS, Count, MemoryEntry, Page, PageQuery
from memory_app.exceptions import MemoryNotFound, UnknownAgent
from memory_app.models import Memory

ROWS = 50
MAX_SELECTED = 10_000


def reference_of(memory: MemoryEntry) -> str:
    """A memory's identity in one string, for URLs."""
    return f"{memory.agent_name}:{memory.id}"


def by_reference(reference: str) -> Memory | None:
    """The memory of a reference as a row, or None; raises StoreUnavailable when its store can't be read."""
    agent_name, _, number = reference.rpartition(":")
    if not agent_name or not number.isascii() or not number.isdigit() or len(number) > 18:
        return None
    try:
        return as_row(*search.one(int(number), agent_name))
    except (MemoryNotFound, UnknownAgent):
        return None


def as_row(backend: str, entry: MemoryEntry) -> Memory:
    """A model instance for the admin's templates, whose key is the reference; it is never saved."""
    fields = [field.attname for field in Memory._meta.fields if field.attname not in ("id", "terms")]
    row = Memory(**{name: getattr(entry, name) for name in fields})
    row.pk = reference_of(entry)
    row.number = entry.id  # type: ignore[attr-defined]
    row.backend = backend  # type: ignore[attr-defined]
    row._state.adding = False
    row._state.db = DEFAULT_DB_ALIAS
    return row


class Selection:
    """The rows that were ticked, by their references."""

    def __init__(self, references: Sequence[str]) -> None:
        self.references = references


class MergedRows:
    """A list request that is run when it is counted or a page of it is read."""

    model = Memory
    db = "default"
    ordered = True

    def __init__(self, wanted: PageQuery | None = None) -> None:
        self.wanted = wanted or PageQuery()
        self.query = SimpleNamespace(order_by=(), select_related=True, distinct=False)

    def filter(self, *leftover: Q, **conditions: Any) -> Any:
        """Narrows by fields of PageQuery, or to the references of `pk__in`."""
        if any(leftover):
            raise ValueError("no such filter")
        if "pk__in" in conditions:
            return Selection([str(reference) for reference in conditions["pk__in"]])
        return type(self)(replace(self.wanted, **conditions))

    def order_by(self, *names: str) -> Self:
        """Sorts by the first name that stores can sort by; Django's last one, `pk`, is none, and the id comes last."""
        for name in names:
            if name.lstrip("-") in SORT_FIELDS:
                return type(self)(replace(self.wanted, order=name.lstrip("-"), descending=name.startswith("-")))
        return self.all()

    def all(self) -> Self:
        return type(self)(self.wanted)

    _clone = all

    @cached_property
    def _counted(self) -> Count:
        return search.count(self.wanted)

    @property
    def unavailable(self) -> tuple[str, ...]:
        """The stores whose memories are missing from the list."""
        return self._counted.unavailable

    def count(self) -> int:
        return self._counted.total

    def page(self, number: int) -> Page:
        """The rows of one page of the list, counted from 1, and what belongs to it."""
        return search.page(replace(self.wanted, page=number, size=ROWS))
