"""The history of memories: what was changed, by whom, through which door; bounded, prunable, erasable.

It lies in the main database, so that one list covers all stores and survives a store that is down.
"""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet, Sum
from django.utils import timezone

from memory_app import acting
from memory_app.contracts import Change, MemoryEntry
from memory_app.models import MemoryChange, MetadataEncoder

STATE = ("type", "name", "content", "description", "metadata", "user_id")
TIMES = ("created_at", "updated_at")
BATCH = 1_000
MEGABYTE = 1024 * 1024
ROW_BYTES = 300
PRUNE_EVERY = 3_600
Action = MemoryChange.Action
logger = logging.getLogger(__name__)
_last_pruned = time.monotonic()


@dataclass(frozen=True, slots=True)
class MemoryState:
    """What a memory said at some time."""

    type: str
    name: str
    content: str
    description: str
    metadata: Mapping[str, Any]
    user_id: str
    created_at: datetime

    @classmethod
    def of(cls, memory: MemoryEntry) -> "MemoryState":
        """The state of a memory that is there."""
        return cls(**{item.name: getattr(memory, item.name) for item in fields(cls)})

    @classmethod
    def before(cls, change: MemoryChange) -> "MemoryState | None":
        """The state that a change replaced; None where there was none."""
        if not change.before:
            return None
        kept = json.loads(change.before)
        return cls(**{name: kept[name] for name in STATE}, created_at=datetime.fromisoformat(kept["created_at"]))


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a memory and the change that made it.

    `change` is None for a state older than the history; `state` is None where the memory was deleted; `undo` is the
    change that replaced the state, None for the state of now.
    """

    number: int
    change: MemoryChange | None
    state: MemoryState | None
    undo: MemoryChange | None


def record(changes: Sequence[Change], note: str = "") -> None:
    """Writes down what was done, at this moment and by whoever acts."""
    MemoryChange.objects.bulk_create([_row(change, note) for change in changes])
    _prune_sometimes()


def _row(change: Change, note: str) -> MemoryChange:
    before = _kept(change.before) if change.before else ""
    who = acting.actor()
    return MemoryChange(
        agent_name=change.memory.agent_name,
        user_id=(change.before or change.memory).user_id,
        memory_id=change.memory.id,
        action=Action.CREATED if not change.before else Action.UPDATED if change.after else Action.DELETED,
        name=change.memory.name,
        fields=",".join(_changed(change)),
        door=who.door,
        actor=who.name[:150],
        at=timezone.now(),
        note=note,
        before=before,
        size=len(before.encode()) + ROW_BYTES,
    )


def _kept(memory: MemoryEntry) -> str:
    values = {name: getattr(memory, name) for name in STATE}
    return as_text(values | {name: getattr(memory, name).isoformat() for name in TIMES})


def as_text(value: Mapping[str, Any]) -> str:
    """JSON as the stores write it."""
    return json.dumps(value, cls=MetadataEncoder)


def _changed(change: Change) -> list[str]:
    if not (change.before and change.after):
        return []
    return [name for name in STATE if getattr(change.before, name) != getattr(change.after, name)]


def latest(limit: int) -> QuerySet[MemoryChange]:
    """The last changes of all memories, newest first, without their texts."""
    return MemoryChange.objects.order_by("-id").defer("before")[:limit]


def last_change(agent_name: str, memory_id: int) -> MemoryChange | None:
    """Who changed a memory last; None where the history doesn't know."""
    return _of(agent_name, memory_id).order_by("-id").defer("before").first()


def versions(agent_name: str, memory_id: int, current: MemoryEntry | None) -> list[Version]:
    """The known states of a memory, the newest first; `current` is the memory as it is, None when it is gone."""
    changes = list(_of(agent_name, memory_id).exclude(action=Action.FORGOTTEN).order_by("id"))
    states = [MemoryState.before(change) for change in changes]
    states.append(MemoryState.of(current) if current else None)
    makers: list[MemoryChange | None] = [None, *changes]
    undos: list[MemoryChange | None] = [*changes, None]
    found = [
        Version(number, maker, state, undo)
        for number, (maker, state, undo) in enumerate(zip(makers, states, undos, strict=True))
    ]
    return [version for version in reversed(found) if version.change or version.state]


def around(change: MemoryChange, current: MemoryEntry | None) -> tuple[MemoryState | None, MemoryState | None]:
    """The memory before and after a change."""
    following = _of(change.agent_name, change.memory_id).filter(id__gt=change.pk).order_by("id").first()
    after = MemoryState.before(following) if following else MemoryState.of(current) if current else None
    return MemoryState.before(change), after if change.action in (Action.CREATED, Action.UPDATED) else None


def _of(agent_name: str, memory_id: int) -> QuerySet[MemoryChange]:
    return MemoryChange.objects.filter(agent_name=agent_name, memory_id=memory_id)


def erase_user(agent_name: str, user_id: str) -> int:
    """Erases what the history keeps of a user; returns how many changes that were."""
    return _delete(MemoryChange.objects.filter(agent_name=agent_name, user_id=user_id))


def erase_agent(agent_name: str) -> int:
    """Erases what the history keeps of an agent; returns how many changes that were."""
    return _delete(MemoryChange.objects.filter(agent_name=agent_name))


def erased(agent_name: str, note: str) -> None:
    """Writes down that a user was forgotten, without saying which."""
    who = acting.actor()
    MemoryChange.objects.create(
        agent_name=agent_name,
        memory_id=0,
        action=Action.FORGOTTEN,
        door=who.door,
        actor=who.name[:150],
        at=timezone.now(),
        note=note,
    )


def renumber(agent_name: str, ids: Mapping[int, int]) -> None:
    """Follows memories to another store: old ids become new ones; those of memories that are gone become negative."""
    last = 0
    while batch := list(_kept_rows(agent_name, last)):
        last = batch[-1].pk
        moved = [row for row in batch if ids.get(row.memory_id) != row.memory_id]
        for row in moved:
            row.memory_id = ids.get(row.memory_id, -abs(row.memory_id))
        MemoryChange.objects.bulk_update(moved, ["memory_id"])


def _kept_rows(agent_name: str, last: int) -> QuerySet[MemoryChange]:
    rows = MemoryChange.objects.filter(agent_name=agent_name, id__gt=last).exclude(action=Action.FORGOTTEN)
    return rows.order_by("id").only("memory_id")[:BATCH]


def prune() -> int:
    """Deletes what is older than NETACLAW_HISTORY_DAYS, then the oldest over NETACLAW_HISTORY_MEGABYTES."""
    oldest = timezone.now() - timedelta(days=settings.HISTORY_DAYS)
    deleted = _delete(MemoryChange.objects.filter(at__lt=oldest))
    surplus = (MemoryChange.objects.aggregate(total=Sum("size"))["total"] or 0) - settings.HISTORY_MEGABYTES * MEGABYTE
    while surplus > 0:
        batch = list(MemoryChange.objects.order_by("id").values_list("id", "size")[:BATCH])
        doomed = []
        for key, size in batch:
            if surplus <= 0:
                break
            doomed.append(key)
            surplus -= size
        deleted += MemoryChange.objects.filter(pk__in=doomed).delete()[0]
    return deleted


def _prune_sometimes() -> None:
    """Once an hour in each process, so that nobody has to; a failure is left to the next time."""
    global _last_pruned
    if time.monotonic() - _last_pruned < PRUNE_EVERY:
        return
    _last_pruned = time.monotonic()
    try:
        prune()
    except DatabaseError:
        logger.exception("The history was not pruned")


def _delete(rows: QuerySet[MemoryChange]) -> int:
    """In batches: one statement over a large table would hold its locks for long."""
    deleted = 0
    while keys := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted += MemoryChange.objects.filter(pk__in=keys).delete()[0]
    return deleted
