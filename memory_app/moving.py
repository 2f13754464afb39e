"""Moving an agent's memories to another store: copied in batches, verified, switched, and only then removed.

While they are copied, the agent reads from the old store and its writes are refused for a moment. The state is kept in
`MemoryConfig.move`, so that a move that was interrupted at any point goes on when it is run again:

- phase `copy`: the old store counts. The new one holds a first part of the rows, in the order of their ids.
- phase `remove`: the new store counts. The old one holds what has not been removed yet.

Ids are kept where the new store uses none of them; the report says whether they were.
"""

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app import history, registry
from memory_app.exceptions import InvalidInput, Refused, StoreRejected, StoreUnavailable
from memory_app.models import MemoryConfig
from memory_app.paths import Place
from memory_app.providers import transfer
from memory_app.providers.mysql import named_lock
from memory_app.registry import COPY, REMOVE

Advance = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move did: how many memories, whether they kept their ids, and the digest that both copies had."""

    moved: int
    ids_kept: bool
    digest: str


def move(agent_name: str, to: Place, advance: Advance | None = None) -> MoveReport:
    """Moves all memories of an agent, or goes on with a move to the same place that was interrupted.

    Raises InvalidInput for a place that settings may not name; Refused when the new store already holds memories of the
    agent, or when another move is unfinished or under way; StoreUnavailable when a store fails, or when the copy is not
    equal to the original: the old store counts then.
    """
    check_place(registry.config_for(agent_name), to)
    with _only_mover(agent_name):
        config = registry.config_for(agent_name)
        if config.move is None:
            if config.place.normal() == to.normal():
                return MoveReport(0, True, "")
            if not _readable(config):
                return _repoint(config, to)
            _begin(config, to)
        elif Place(**config.move["to"]).normal() != to.normal():
            raise Refused(_("A move of this agent to another store was interrupted; finish that one first."))
        return _Move(config, advance or _silently).run()


def cancel(agent_name: str) -> None:
    """Gives up a move that was interrupted while it copied: the old store goes on counting, the copies are removed.

    Raises Refused when there is nothing to give up, or when the new store counts already. A new store that can't be
    reached keeps its copies, which nobody sees.
    """
    with _only_mover(agent_name):
        config = registry.config_for(agent_name)
        if config.move is None or config.move["phase"] != COPY:
            raise Refused(_("There is no move of this agent that could be given up."))
        target = registry.store_at(Place(**config.move["to"]))
        with suppress(StoreUnavailable):
            transfer.remove_all(target, agent_name)
        config.move = None
        _save(config)


def check_place(config: MemoryConfig, to: Place) -> None:
    """Raises InvalidInput unless the agent's settings may name this store."""
    wanted = copy(config)
    wanted.place = to
    try:
        wanted.full_clean()
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages)) from None


def waiting(agent_name: str) -> int:
    """How many memories a move of the agent would move; none of a file that can't be a store."""
    config = registry.config_for(agent_name)
    try:
        return transfer.count(registry.store_at(config.place), agent_name)
    except StoreRejected:
        return 0


def _readable(config: MemoryConfig) -> bool:
    """False for a file that can't be a store: whatever it holds can't move."""
    try:
        transfer.count(registry.store_at(config.place), config.agent.name)
    except StoreRejected:
        return False
    return True


def _repoint(config: MemoryConfig, to: Place) -> MoveReport:
    """Leaves an unreadable file as it is and goes on in another store."""
    config.place = to
    _save(config)
    return MoveReport(0, True, "")


def _begin(config: MemoryConfig, to: Place) -> None:
    name = config.agent.name
    source, target = registry.store_at(config.place), registry.store_at(to)
    if found := transfer.count(target, name):
        message = _("%(store)s already holds %(count)d memories of this agent; delete those, or choose another store.")
        raise Refused(message % {"store": target.label, "count": found})
    config.move = {
        "to": asdict(to.normal()),
        "from": asdict(config.place),
        "phase": COPY,
        "keep_ids": True,
        "copied": 0,
        "total": transfer.count(source, name),
    }
    _save(config)


def _save(config: MemoryConfig) -> None:
    if config.move is not None:
        config.move["at"] = timezone.now().isoformat()
    config.save(update_fields=["move", "backend", "database", "sqlite_path"])


class _Move:
    """One run of a move, from wherever it stands."""

    def __init__(self, config: MemoryConfig, advance: Advance) -> None:
        assert config.move is not None
        self.config, self.advance = config, advance
        self.state: dict[str, Any] = config.move
        self.name = config.agent.name
        self.source = registry.store_at(Place(**self.state["from"]))
        self.target = registry.store_at(Place(**self.state["to"]))

    def run(self) -> MoveReport:
        if self.state["phase"] == COPY:
            self.source.wait_for_writers()
            self._copy()
            self._verify()
            self._switch()
        total = self.state["total"]
        transfer.remove_all(self.source, self.name, lambda removed: self.advance(total, total + removed))
        self.config.move = None
        _save(self.config)
        self.source.close()
        return MoveReport(self.state["total"], self.state["keep_ids"], self.state["digest"])

    def _copy(self) -> None:
        """Goes on after the rows that are there already: they are the first ones, because batches are written whole."""
        done = transfer.count(self.target, self.name)
        if not done:
            self.state["keep_ids"] = self.state["keep_ids"] and not self._ids_are_taken()
        self.state["total"] = transfer.count(self.source, self.name)
        seen = 0
        for batch in transfer.read_all(self.source, self.name):
            rest = batch[max(0, done - seen) :]
            seen += len(batch)
            if rest and not transfer.insert(self.target, self.name, rest, keep_ids=self.state["keep_ids"]):
                self._start_over_with_new_ids()
                break
            self.state["copied"] = seen
            _save(self.config)
            self.advance(seen, self.state["total"])

    def _start_over_with_new_ids(self) -> None:
        """Another agent of the new store was given an id meanwhile that one of our rows has."""
        transfer.remove_all(self.target, self.name)
        self.state["keep_ids"] = False
        _save(self.config)
        self._copy()

    def _ids_are_taken(self) -> bool:
        batches = transfer.read_all(self.source, self.name)
        return any(transfer.any_taken(self.target, [item.id for item in batch]) for batch in batches)

    def _verify(self) -> None:
        """By count and by a digest over all that the rows say; a copy that differs is thrown away."""
        keep_ids = self.state["keep_ids"]
        original = transfer.digest(self.source, self.name, with_ids=keep_ids)
        copied = transfer.digest(self.target, self.name, with_ids=keep_ids)
        counts = [transfer.count(store, self.name) for store in (self.source, self.target)]
        if original == copied and counts[0] == counts[1]:
            self.state["digest"] = original
            return
        transfer.remove_all(self.target, self.name)
        self.config.move = None
        _save(self.config)
        raise StoreUnavailable(_("The copy was not equal to the original and was thrown away; nothing was moved."))

    def _switch(self) -> None:
        """The history follows in the same transaction: it is found by ids."""
        ids = self._new_ids()
        self.config.place = Place(**self.state["to"])
        self.state["phase"] = REMOVE
        with transaction.atomic():
            history.renumber(self.name, ids)
            _save(self.config)

    def _new_ids(self) -> dict[int, int]:
        """Old ids and new ones: both stores have the rows in the same order."""
        old, new = (transfer.ids(store, self.name) for store in (self.source, self.target))
        return dict(zip(old, new, strict=True))


@contextmanager
def _only_mover(agent_name: str) -> Iterator[None]:
    """Two moves of one agent at once would write the same rows twice; a lock of the dead is let go by the system."""
    name = f"move-{hashlib.blake2b(agent_name.encode(), digest_size=8).hexdigest()}"
    with named_lock(name) if connection.vendor == "mysql" else _file_lock(name) as held:
        if not held:
            raise Refused(_("Another process is moving this agent's memories at the moment."))
        yield


@contextmanager
def _file_lock(name: str) -> Iterator[bool]:
    with (settings.DATA_DIR / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _silently(done: int, total: int) -> None:
    """Nobody watches."""
