"""The only writers: every change to memories, types and their places goes through here, whichever door it came by."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from django.db import transaction
from django.utils.translation import gettext as _

from memory_app import history, registry
from memory_app.contracts import (
    UNSET,
    MemoryChanges,
    MemoryDraft,
    MemoryEntry,
    SaveResult,
    Scope,
    clean_metadata,
    clean_text,
)
from memory_app.exceptions import (
    Conflict,
    InvalidInput,
    MemoryNotFound,
    NetaclawError,
    Refused,
    StoreMoved,
    StoreRejected,
    UnknownType,
    conflict_sentence,
)
from memory_app.metadata_schema import problem_of
from memory_app.models import MemoryType, TypeInfo, validated
from memory_app.paths import Place
from memory_app.providers import transfer
from memory_app.providers.rows import RowProvider

R = TypeVar("R")
logger = logging.getLogger(__name__)


def save(draft: MemoryDraft) -> SaveResult:
    """Stores a memory: created, or duplicate with the memory that has the same owner, type and text.

    Raises UnknownAgent, UnknownType or StoreUnavailable; nothing is written in these cases.
    """
    return save_many([draft])[0]


def save_many(drafts: Sequence[MemoryDraft]) -> list[SaveResult]:
    """`save` for drafts in order; those of one agent that stand together are written in one transaction."""
    types = MemoryType.available()
    for draft in drafts:
        check_type(types, draft.type)
        check_metadata(types, draft.type, draft.metadata)
    results: list[SaveResult] = []
    for agent_name, group in groupby(drafts, key=lambda draft: draft.agent_name):
        results += on_store(agent_name, partial(_save_batch, batch=list(group)))
    return results


def _save_batch(store: RowProvider, batch: Sequence[MemoryDraft]) -> Sequence[SaveResult]:
    return store.save_many(batch)


def update(scope: Scope, memory_id: int, changes: MemoryChanges, expected: datetime | None = None) -> MemoryEntry:
    """Edits one memory within the scope (see MemoryProvider.update); raises Conflict unless it is as `expected`."""
    check = _check_of(changes)
    return on_store(scope.agent_name, lambda store: store.update(scope, memory_id, changes, expected, check))


def update_many(
    scope: Scope, changes: MemoryChanges, expected: Mapping[int, datetime]
) -> Mapping[int, MemoryEntry | NetaclawError]:
    """The same edit of each memory that is as `expected`, in one transaction (see MemoryProvider.update_many)."""
    check = _check_of(changes)
    return on_store(scope.agent_name, lambda store: store.update_many(scope, changes, expected, check))


def _check_of(changes: MemoryChanges) -> Callable[[MemoryEntry], None] | None:
    """What must be true of a memory for these changes; raises UnknownType for a type that doesn't exist."""
    if changes.type is UNSET and changes.metadata is UNSET:
        return None
    types = MemoryType.available()
    if changes.type is not UNSET:
        check_type(types, changes.type)
    return partial(_check_changed_metadata, types, changes)


def _check_changed_metadata(types: Sequence[TypeInfo], changes: MemoryChanges, current: MemoryEntry) -> None:
    """Against the schema of the type that the memory will have."""
    type_key = current.type if changes.type is UNSET else changes.type
    check_metadata(types, type_key, current.metadata if changes.metadata is UNSET else changes.metadata or {})


def delete(scope: Scope, memory_ids: Collection[int], expected: Mapping[int, datetime] | None = None) -> int:
    """Deletes memories of the scope's own by id, those as `expected` only; returns how many there were."""
    return on_store(scope.agent_name, lambda store: store.delete(scope, memory_ids, expected)) if memory_ids else 0


def reassign(scope: Scope, memory_id: int, to: Scope, expected: datetime | None = None) -> MemoryEntry:
    """Gives a memory to another user of its agent, or to another agent, where it gets a new id.

    Raises Conflict unless it is as `expected`; Refused, and leaves it where it is, when the new owner has the same
    memory already. Interrupted between two stores, it is in both: nothing is lost.
    """
    memory = on_store(scope.agent_name, lambda store: store.get(scope, memory_id))
    if memory is None:
        raise MemoryNotFound(_("There is no memory %(id)d; it may have been deleted.") % {"id": memory_id})
    if expected is not None and memory.updated_at != expected:
        raise Conflict(conflict_sentence(), memory)
    if (memory.agent_name, memory.user_id) == (to.agent_name, to.user_id):
        return memory
    if twin := on_store(to.agent_name, lambda store: store.find_twin(_draft_for(memory, to))):
        raise Refused(_("The same memory is there already: %(id)d.") % {"id": twin.id})
    if to.agent_name == memory.agent_name:
        changes = MemoryChanges(user_id=to.user_id)
        return on_store(to.agent_name, lambda store: store.update(scope, memory_id, changes, memory.updated_at))
    return _carried_over(memory, to)


def _carried_over(memory: MemoryEntry, to: Scope) -> MemoryEntry:
    """Copied first, then deleted as it was copied; if somebody changed it in between, the copy goes."""
    source = Scope.all_users(memory.agent_name)
    draft = _draft_for(memory, to)
    came = f"moved-from {memory.agent_name}:{memory.id}"
    copy = on_store(to.agent_name, lambda store: store.save(draft), came).memory
    went = f"moved-to {copy.agent_name}:{copy.id}"
    unchanged = {memory.id: memory.updated_at}
    if not on_store(memory.agent_name, lambda store: store.delete(source, [memory.id], unchanged), went):
        on_store(to.agent_name, lambda store: store.delete(to, [copy.id], {copy.id: copy.updated_at}))
        current = on_store(memory.agent_name, lambda store: store.get(source, memory.id))
        if current is None:
            raise MemoryNotFound(_("There is no memory %(id)d; it may have been deleted.") % {"id": memory.id})
        raise Conflict(conflict_sentence(), current)
    return copy


def _draft_for(memory: MemoryEntry, owner: Scope) -> MemoryDraft:
    values = {name: getattr(memory, name) for name in ("type", "name", "content", "description", "metadata")}
    return MemoryDraft(owner.agent_name, owner.user_id, **values, created_at=memory.created_at)


def places_of(agent_name: str) -> list[Place]:
    """Every store that may hold memories of the agent: its own, and those of a move that isn't finished."""
    config = registry.config_for(agent_name)
    moving = [Place(**config.move[name]) for name in ("from", "to")] if config.move else []
    return list({place.normal(): place for place in (config.place, *moving)})


def delete_memories_of(agent_name: str, places: Sequence[Place], *, after_writers: bool = False) -> int:
    """Deletes all memories of an agent in these stores, and its history; returns how many memories there were.

    `after_writers` waits for every write that is under way, which must not be one of this thread's own transaction.
    A file that can't be a store is left alone; a store that can't be reached raises StoreUnavailable.
    """
    deleted = 0
    for place in places:
        provider = registry.store_at(place)
        try:
            if after_writers:
                provider.wait_for_writers()
            deleted += transfer.remove_all(provider, agent_name)
        except StoreRejected as error:
            logger.warning("Memories of agent %s were left alone: %s", agent_name, error.message)
        provider.close()
    history.erase_agent(agent_name)
    return deleted


def seed_types() -> int:
    """Adds the built-in memory types that are missing; returns how many were added."""
    return MemoryType.seed()


def add_types(values: Sequence[Mapping[str, Any]]) -> list[MemoryType]:
    """Makes types, all or none; raises InvalidInput for a field that can't be."""
    with transaction.atomic():
        return [_saved(MemoryType(), fields) for fields in values]


def update_type(item: MemoryType, fields: Mapping[str, Any]) -> MemoryType:
    """Edits a type; raises Refused for another key, which would leave memories without their type."""
    if fields.get("key", item.key) != item.key:
        raise Refused(_('The key of a type never changes; "%(key)s" stays.') % {"key": item.key})
    return _saved(item, fields)


def _saved(item: MemoryType, fields: Mapping[str, Any]) -> MemoryType:
    for name, value in fields.items():
        is_schema = name == "metadata_schema"
        setattr(item, name, clean_metadata(value) or None if is_schema else clean_text(value, name, 10_000).strip())
    validated(item)
    item.save()
    return item


def delete_types(types: Iterable[MemoryType]) -> int:
    """Deletes types that nothing needs; raises Refused, and deletes none, for a built-in one or one that is in use."""
    doomed = list(types)
    for item in doomed:
        check_unneeded(item)
    MemoryType.objects.filter(pk__in=[item.pk for item in doomed]).delete()
    return len(doomed)


def check_unneeded(item: MemoryType) -> None:
    """Raises Refused for a type that can't be deleted, with the reason; StoreUnavailable where that can't be told."""
    if item.is_system:
        raise Refused(_('Type "%(key)s" is built in and can\'t be deleted.') % {"key": item.key})
    if used := type_uses(item.key):
        message = _('Type "%(key)s" is used by %(count)d memories (%(agents)s); give them another type first.')
        agents = ", ".join(f"{name}: {number}" for name, number in sorted(used.items()))
        raise Refused(message % {"key": item.key, "count": sum(used.values()), "agents": agents})


def type_uses(key: str) -> dict[str, int]:
    """How many memories of each agent have a type; a store that can't be read raises StoreUnavailable."""
    rows = [row for provider in registry.stores() for row in provider.stats()]
    return {row.agent_name: row.by_type[key] for row in rows if row.by_type.get(key)}


def check_type(types: Sequence[TypeInfo], key: str) -> None:
    """Raises UnknownType for a type that is none of `types`, the available ones."""
    known = [info.key for info in types]
    if key not in known:
        message = _('There is no memory type "%(key)s"; use one of: %(known)s.')
        raise UnknownType(message % {"key": key, "known": ", ".join(known)})


def check_metadata(types: Sequence[TypeInfo], key: str, metadata: Mapping[str, Any]) -> None:
    """Raises InvalidInput unless the metadata fits the JSON Schema of its type, where that has one."""
    schema = next((info.metadata_schema for info in types if info.key == key), None)
    if schema is None:
        return
    place, problem = problem_of(metadata, schema)
    if problem:
        message = _('%(place)s doesn\'t fit the schema of type "%(key)s": %(problem)s')
        raise InvalidInput(message % {"place": place, "key": key, "problem": problem})


def on_store(agent_name: str, work: Callable[[RowProvider], R], note: str = "") -> R:
    """Runs a write on the agent's store, and once more on the new one if the agent was moved in this very moment.

    The history is told of what it did, with the note.
    """
    try:
        return work(_journaled(agent_name, note))
    except StoreMoved:
        return work(_journaled(agent_name, note))


def _journaled(agent_name: str, note: str) -> RowProvider:
    provider = registry.provider_for(agent_name)
    provider.journal = partial(history.record, note=note)
    return provider
