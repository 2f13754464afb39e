"""Undoing a change: a memory becomes again what it was, also after it was deleted. That is a change of its own."""

from datetime import datetime
from functools import partial

from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app import history, services
from memory_app.contracts import Change, MemoryChanges, MemoryDraft, MemoryEntry, Scope
from memory_app.exceptions import Refused
from memory_app.history import MemoryState
from memory_app.models import MemoryChange, MemoryType
from memory_app.providers import transfer
from memory_app.providers.rows import RowProvider


def restore(change: MemoryChange, version: int, expected: datetime | None) -> MemoryEntry:
    """Makes a memory what it was before a change, which is its state number `version` in the history.

    `expected` is the `updated_at` of the memory that was read, None where it was gone: Conflict, with what is there,
    unless that is still so. Raises Refused for a state that isn't known, and where its owner has the same memory
    already; InvalidInput where its type is gone, or no longer takes its metadata.
    """
    state = MemoryState.before(change)
    if state is None:
        raise Refused(_("There is nothing to restore: the memory was new then."))
    types = MemoryType.available()
    services.check_type(types, state.type)
    services.check_metadata(types, state.type, state.metadata)
    note = f"restored {version}"
    scope = Scope.all_users(change.agent_name)
    if expected is None:
        return services.on_store(change.agent_name, partial(_revive, change=change, state=state, note=note), note)
    changes = MemoryChanges(**{name: getattr(state, name) for name in history.STATE})
    return services.on_store(
        change.agent_name, lambda store: store.update(scope, change.memory_id, changes, expected), note
    )


def _revive(store: RowProvider, change: MemoryChange, state: MemoryState, note: str) -> MemoryEntry:
    """Under its old id, unless that means another store."""
    draft = _draft(change.agent_name, state)
    if twin := store.find_twin(draft):
        raise Refused(_("The same memory is there already: %(id)d.") % {"id": twin.id})
    if change.memory_id > 0:
        raw = _raw(change.memory_id, state)
        if transfer.insert(store, change.agent_name, [raw], keep_ids=True):
            revived = store.entries([change.memory_id])[change.memory_id]
            history.record([Change(None, revived)], note)
            return revived
    return store.save(draft).memory


def _draft(agent_name: str, state: MemoryState) -> MemoryDraft:
    values = {name: getattr(state, name) for name in history.STATE}
    return MemoryDraft(agent_name, **values, created_at=state.created_at)


def _raw(memory_id: int, state: MemoryState) -> transfer.RawMemory:
    values = {name: getattr(state, name) for name in history.STATE if name != "metadata"}
    return transfer.RawMemory(
        id=memory_id,
        **values,
        created_at=state.created_at,
        updated_at=timezone.now(),
        metadata=history.as_text(state.metadata) if state.metadata else None,
    )
