"""One change to many memories of many agents: in batches, each row under the version that was read, each told.

Nothing here raises for a row: what wasn't done is an outcome with its reason. An agent whose store fails isn't asked
again within a run; its other rows are told as failed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from itertools import islice

from django.utils.translation import gettext as _

from memory_app import search, services
from memory_app.contracts import MemoryChanges, MemoryEntry, Scope
from memory_app.exceptions import Conflict, NetaclawError, StoreUnavailable, UnknownAgent

BATCH = 500
Versions = Mapping[str, Mapping[int, datetime]]  # agent → id → version


class Fate(StrEnum):
    """What became of a row: a failed one may be tried again, a skipped one would be skipped again."""

    DONE = "done"
    SKIPPED = "skipped"
    CONFLICT = "conflict"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one row, why it wasn't done, and the identity it has now, where that is another one."""

    agent_name: str
    id: int
    fate: Fate
    reason: str = ""
    now: tuple[str, int] | None = None


Work = Callable[[str, Mapping[int, datetime]], Iterator[Told]]
Change = Callable[[MemoryEntry], MemoryEntry | str]


def run(work: Work, rows: Versions) -> Iterator[list[Told]]:
    """Does the work agent by agent and yields, batch by batch, what became of each row."""
    for agent_name, versions in rows.items():
        waiting = iter(versions.items())
        trouble = ""
        while batch := dict(islice(waiting, BATCH)):
            told, trouble = ([], trouble) if trouble else _tried(work, agent_name, batch)
            seen = {item.id for item in told}
            yield told + [Told(agent_name, number, Fate.FAILED, trouble) for number in batch if number not in seen]


def _tried(work: Work, agent_name: str, batch: Mapping[int, datetime]) -> tuple[list[Told], str]:
    """What was told before the store failed, and the failure."""
    told: list[Told] = []
    try:
        for item in work(agent_name, batch):
            told.append(item)
    except NetaclawError as error:
        return told, error.message
    return told, ""


def delete(agent_name: str, versions: Mapping[int, datetime]) -> Iterator[Told]:
    """Deletes a batch in one transaction."""
    current = search.entries(agent_name, versions)
    same = {number: version for number, version in versions.items() if _is(current.get(number), version)}
    yield from (_left_alone(agent_name, number, current.get(number)) for number in versions if number not in same)
    deleted = services.delete(Scope.all_users(agent_name), list(same), same)
    left = search.entries(agent_name, same) if deleted < len(same) else {}
    for number in same:
        yield _left_alone(agent_name, number, left[number]) if number in left else Told(agent_name, number, Fate.DONE)


def retype(type_key: str) -> Work:
    """Gives memories another type, a batch in one transaction; those whose metadata doesn't fit it are left alone."""
    return partial(_retyped, MemoryChanges(type=type_key))


def _retyped(changes: MemoryChanges, agent_name: str, versions: Mapping[int, datetime]) -> Iterator[Told]:
    current = search.entries(agent_name, versions)
    typed = [number for number, entry in current.items() if entry.type == changes.type and number in versions]
    same = _("No change: it has this type already.")
    yield from (Told(agent_name, number, Fate.SKIPPED, same) for number in typed)
    waiting = {number: version for number, version in versions.items() if number not in typed}
    for number, outcome in services.update_many(Scope.all_users(agent_name), changes, waiting).items():
        yield _told(agent_name, number, outcome)


def move(agent_name: str | None, user_id: str | None) -> Work:
    """Moves memories to an agent, a user ("" for all users), or both; None keeps what a memory has."""

    def change(entry: MemoryEntry) -> MemoryEntry | str:
        to = Scope(
            entry.agent_name if agent_name is None else agent_name, entry.user_id if user_id is None else user_id
        )
        if (to.agent_name, to.user_id) == (entry.agent_name, entry.user_id):
            return _("No change: it is there already.")
        return services.reassign(Scope.all_users(entry.agent_name), entry.id, to, entry.updated_at)

    return partial(_each, change)


def _each(change: Change, agent_name: str, versions: Mapping[int, datetime]) -> Iterator[Told]:
    """One transaction a row: a row that is refused holds up no other. `change` answers a sentence for no change."""
    current = search.entries(agent_name, versions)
    for number, version in versions.items():
        entry = current.get(number)
        if entry is None or not _is(entry, version):
            yield _left_alone(agent_name, number, entry)
        else:
            yield _changed(change, entry)


def _changed(change: Change, entry: MemoryEntry) -> Told:
    try:
        return _told(entry.agent_name, entry.id, change(entry))
    except (StoreUnavailable, UnknownAgent):
        raise
    except NetaclawError as error:
        return _told(entry.agent_name, entry.id, error)


def _told(agent_name: str, number: int, outcome: MemoryEntry | NetaclawError | str) -> Told:
    if isinstance(outcome, str):
        return Told(agent_name, number, Fate.SKIPPED, outcome)
    if isinstance(outcome, MemoryEntry):
        now = (outcome.agent_name, outcome.id)
        return Told(agent_name, number, Fate.DONE, now=None if now == (agent_name, number) else now)
    if isinstance(outcome, Conflict):
        return _left_alone(agent_name, number, outcome.current)
    return Told(agent_name, number, Fate.SKIPPED, outcome.message)


def _is(entry: MemoryEntry | None, version: datetime) -> bool:
    return entry is not None and entry.updated_at == version


def _left_alone(agent_name: str, number: int, entry: MemoryEntry | None) -> Told:
    if entry is None:
        return Told(agent_name, number, Fate.SKIPPED, _("It was deleted meanwhile."))
    return Told(agent_name, number, Fate.CONFLICT, _("It was changed meanwhile and left alone."))
