"""The only writers: every change to memories, types and their places goes through here, whichever door it came by."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import TypeVar

from django.utils.translation import gettext as _

from memory_app import registry
from memory_app.contracts import UNSET, MemoryChanges, MemoryDraft, MemoryEntry, PageQuery, SaveResult, Scope
from memory_app.exceptions import Refused, StoreMoved, UnknownType
from memory_app.models import MemoryType
from memory_app.providers.rows import RowProvider

R = TypeVar("R")


def save(draft: MemoryDraft) -> SaveResult:
    """Stores a memory: created, or duplicate with the memory that has the same owner, type and text.

    Raises UnknownAgent, UnknownType or StoreUnavailable; nothing is written in these cases.
    """
    return save_many([draft])[0]


def save_many(drafts: Sequence[MemoryDraft]) -> list[SaveResult]:
    """`save` for drafts in order; those of one agent that stand together are written in one transaction."""
    for key in {draft.type for draft in drafts}:
        check_type(key)
    results: list[SaveResult] = []
    for agent_name, group in groupby(drafts, key=lambda draft: draft.agent_name):
        results += _on_store(agent_name, partial(_save_batch, batch=list(group)))
    return results


def _save_batch(store: RowProvider, batch: Sequence[MemoryDraft]) -> Sequence[SaveResult]:
    return store.save_many(batch)


def update(scope: Scope, memory_id: int, changes: MemoryChanges, expected: datetime | None = None) -> MemoryEntry:
    """Edits one memory within the scope (see MemoryProvider.update); raises Conflict unless it is as `expected`."""
    if changes.type is not UNSET:
        check_type(changes.type)
    return _on_store(scope.agent_name, lambda store: store.update(scope, memory_id, changes, expected))


def delete(scope: Scope, memory_ids: Collection[int]) -> int:
    """Deletes memories of the scope's own by id; returns how many there were."""
    return _on_store(scope.agent_name, lambda store: store.delete(scope, memory_ids)) if memory_ids else 0


def delete_agent_memories(agent_name: str) -> int:
    """Deletes all memories of an agent that is about to go, and lets go of its file; returns how many there were."""
    provider = registry.provider_for(agent_name)
    everything = Scope.all_users(agent_name)
    deleted = 0
    while entries := provider.list(everything, limit=1_000):
        deleted += provider.delete(everything, [entry.id for entry in entries])
    provider.close()
    return deleted


def seed_types() -> int:
    """Adds the built-in memory types that are missing; returns how many were added."""
    return MemoryType.seed()


def delete_types(types: Iterable[MemoryType]) -> int:
    """Deletes types that nothing needs; raises Refused, and deletes none, for a built-in one or one that is in use."""
    doomed = list(types)
    for item in doomed:
        if item.is_system:
            raise Refused(_('Type "%(key)s" is built in and can\'t be deleted.') % {"key": item.key})
        used = {provider.label: provider.count(PageQuery(types=(item.key,))) for provider in registry.stores()}
        if number := sum(used.values()):
            message = _('Type "%(key)s" is used by %(count)d memories; give them another type first.')
            raise Refused(message % {"key": item.key, "count": number})
    return MemoryType.objects.filter(pk__in=[item.pk for item in doomed]).delete()[0]


def _on_store(agent_name: str, work: Callable[[RowProvider], R]) -> R:
    """Runs a write on the agent's store, and once more on the new one if the agent was moved in this very moment."""
    try:
        return work(registry.provider_for(agent_name))
    except StoreMoved:
        return work(registry.provider_for(agent_name))


def check_type(key: str) -> None:
    """Raises UnknownType unless memories may have this type."""
    known = [info.key for info in MemoryType.available()]
    if key not in known:
        message = _('There is no memory type "%(key)s"; use one of: %(known)s.')
        raise UnknownType(message % {"key": key, "known": ", ".join(known)})
