"""The only readers: recall, prefetch, pages over all stores, statistics."""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import TypeVar

from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app import missed, registry
from memory_app.acting import Door, actor
from memory_app.answering import SILENT_SECONDS, answering
from memory_app.contracts import (
    AgentStatistics,
    Count,
    Hit,
    MemoryDraft,
    MemoryEntry,
    Page,
    PageQuery,
    Scope,
    SearchOptions,
)
from memory_app.exceptions import InvalidInput, MemoryNotFound, NetaclawError, StoreUnavailable, UnknownAgent
from memory_app.models import MemoryConfig
from memory_app.prompt import memory_context
from memory_app.providers.base import SortKey
from memory_app.providers.rows import RowProvider

MAX_MESSAGE = 4_000
STATS = "memory_app.search.stats"
FRESH_SECONDS = 30
Found = TypeVar("Found")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prefetched:
    """What goes before the model: the block ("" for none), the hits in it, how long it took (ms), and why it failed."""

    block: str
    hits: Sequence[Hit]
    milliseconds: float
    failure: str = ""


NOTHING = Prefetched("", (), 0)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a chat turn may take of the memory: how many memories, in how many characters, and whether it is on."""

    limit: int
    characters: int
    enabled: bool = True


def recall(scope: Scope, query: str, type: str = "", limit: int = 5) -> Sequence[Hit]:
    """The memories that a raw message needs, best first; a store that fails raises StoreUnavailable."""
    options = SearchOptions(scope, type, limit)
    return registry.provider_for(scope.agent_name).search(query[:MAX_MESSAGE], options)


def get(scope: Scope, memory_id: int) -> MemoryEntry | None:
    """The memory of this id, or None outside the scope."""
    return registry.provider_for(scope.agent_name).get(scope, memory_id)


def entries(agent_name: str, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
    """The agent's memories of these ids that are there."""
    found = registry.provider_for(agent_name).entries(memory_ids) if memory_ids else {}
    return {key: entry for key, entry in found.items() if entry.agent_name == agent_name}


def twins(drafts: Sequence[MemoryDraft]) -> list[MemoryEntry | None]:
    """For each draft, all of one agent, the memory that makes it a duplicate, where there is one."""
    if not drafts:
        return []
    provider = registry.provider_for(drafts[0].agent_name)
    return [provider.find_twin(draft) for draft in drafts]


def one(memory_id: int, agent_name: str | None, *, certainly: bool = False) -> tuple[str, MemoryEntry]:
    """The memory of {agentName, id} and its backend; without an agent, the only one of this id.

    Raises MemoryNotFound, UnknownAgent, or InvalidInput where the id alone doesn't tell which is meant; `certainly`
    is for writers, see agents_of.
    """
    if agent_name is None:
        agent_name = agents_of([memory_id], certainly=certainly)[memory_id]
    provider = registry.provider_for(agent_name)
    memory = provider.get(Scope.all_users(agent_name), memory_id)
    if memory is None:
        raise _no_memory(memory_id)
    return provider.backend, memory


def agents_of(memory_ids: Collection[int], *, certainly: bool) -> dict[int, str]:
    """The agent of each id; raises MemoryNotFound for an id that none has, InvalidInput for one that several have.

    `certainly` raises InvalidInput while a store can't be read too: the memory that is meant may be there. Without it
    such a store is passed over.
    """
    found: dict[int, set[str]] = defaultdict(set)
    for home in registry.homes():
        try:
            entries = home.provider.entries(memory_ids)
        except StoreUnavailable:
            if not certainly:
                continue
            message = _("%(store)s can't be read, so an id alone doesn't tell which memory is meant; name agentName.")
            raise InvalidInput(message % {"store": home.provider.label}) from None
        for memory_id, entry in entries.items():
            found[memory_id] |= {entry.agent_name} & home.agents
    return {memory_id: _only(memory_id, found[memory_id]) for memory_id in memory_ids}


def _only(memory_id: int, agents: set[str]) -> str:
    if not agents:
        raise _no_memory(memory_id)
    if len(agents) > 1:
        message = _("Memory %(id)d exists for several agents (%(names)s); name agentName.")
        raise InvalidInput(message % {"id": memory_id, "names": ", ".join(sorted(agents))})
    return next(iter(agents))


def _no_memory(memory_id: int) -> MemoryNotFound:
    return MemoryNotFound(_("There is no memory %(id)d; it may have been deleted.") % {"id": memory_id})


def count_by_type(scope: Scope) -> Mapping[str, int]:
    """How many memories of each type the scope reads."""
    return registry.provider_for(scope.agent_name).count_by_type(scope)


def own_turn(config: MemoryConfig) -> Turn:
    """What the agent's turns take by its own settings and the installation's."""
    return Turn(config.prefetch_limit, settings.PREFETCH_CHARACTERS, config.enabled)


def turn_of(agent_name: str) -> Turn:
    """`own_turn` of the agent of this name; raises UnknownAgent."""
    return own_turn(registry.config_for(agent_name))


def prefetch(scope: Scope, message: str, turn: Turn | None = None) -> Prefetched:
    """The memory context for a chat turn (first document, section 6), within NETACLAW_PREFETCH_SECONDS and _CHARACTERS;
    or for the turn that is given, to try other settings.

    Raises UnknownAgent, and nothing for whatever fails or is slow: that is logged, counted and told in the answer, and
    the turn goes on.
    """
    start = perf_counter()
    hits: Sequence[Hit] = ()
    failure = ""
    try:
        config = registry.config_for(scope.agent_name)
        turn = turn or own_turn(config)
        hits = _hits_in_time(config, scope, message, turn.limit) if turn.enabled else ()
    except UnknownAgent:
        raise
    except NetaclawError as error:
        failure = error.message
        logger.warning("Prefetch for agent %s failed: %s", scope.agent_name, error)
    except Exception:
        failure = _("Something went wrong on the server; nothing was changed. Its log has the details.")
        logger.exception("Prefetch for agent %s failed", scope.agent_name)
    if failure and actor().door not in (Door.CONSOLE, Door.COMMAND):  # where people only try what a turn would get
        missed.note(scope.agent_name, failure)
    block = memory_context(hits, turn.characters) if turn else ""
    return Prefetched(block, hits, (perf_counter() - start) * 1000, failure)


def _hits_in_time(config: MemoryConfig, scope: Scope, message: str, limit: int) -> Sequence[Hit]:
    options = SearchOptions(scope, limit=limit, seconds=settings.PREFETCH_SECONDS)
    return registry.provider_of(config).search(message[:MAX_MESSAGE], options)


def page(query: PageQuery) -> Page:
    """One page of memories over the stores of the named agents, or over all stores, merged.

    Totals are exact for the stores that answered; `unavailable` names the others.
    """
    parts, unavailable, stores = each_store(query, partial(_part, limit=query.start + query.size))
    keys = sorted(((key, number) for number, part in enumerate(parts) for key in part.keys), reverse=query.descending)
    found = _load(parts, keys[query.start : query.start + query.size])
    lost = [number for number, entries in found.items() if entries is None]
    rows = [
        (parts[number].provider.backend, entries[key.id])
        for key, number in keys[query.start : query.start + query.size]
        if (entries := found[number]) is not None and key.id in entries
    ]
    return Page(
        tuple(rows),
        query.page,
        query.size,
        sum(part.total for number, part in enumerate(parts) if number not in lost),
        (*unavailable, *(parts[number].provider.label for number in lost)),
        stores,
        _unindexed(parts) if query.keyword.strip() else {},
    )


def count(query: PageQuery) -> Count:
    """How many memories the filters leave, without reading any."""
    counts, unavailable, _stores = each_store(query, RowProvider.count)
    return Count(sum(counts), tuple(unavailable))


@dataclass(frozen=True, slots=True)
class _Part:
    """What one store has of a list."""

    provider: RowProvider
    total: int
    keys: Sequence[SortKey]
    unindexed: Sequence[str]


def _part(provider: RowProvider, query: PageQuery, limit: int) -> _Part:
    unindexed = provider.unindexed(query.keyword) if query.keyword.strip() else ()
    total = provider.count(query)
    return _Part(provider, total, provider.keys(query, min(limit, total)) if total else (), unindexed)


def each_store(query: PageQuery, read: Callable[[RowProvider, PageQuery], Found]) -> tuple[list[Found], list[str], int]:
    """What is read in each store that the query asks, the names of those that failed, and how many were asked."""
    homes = [home for home in registry.homes(query.agent_names) if _asks(query, home)]
    found: list[Found] = []
    unavailable: list[str] = []
    for home in homes:
        try:
            with answering(home.provider) as present:
                found.append(read(home.provider, _of_its_agents(home, present, query)))
        except StoreUnavailable:
            unavailable.append(home.provider.label)
    return found, unavailable, len(homes)


def _asks(query: PageQuery, home: registry.Home) -> bool:
    return not query.backends or home.provider.backend in query.backends


def _of_its_agents(home: registry.Home, present: Collection[str], query: PageQuery) -> PageQuery:
    """Rows of agents that live elsewhere, or nowhere, are not to be seen: they can't be addressed."""
    if query.agent_names:
        return replace(query, agent_names=tuple(sorted(home.agents)))
    return replace(query, without_agents=tuple(sorted(set(present) - home.agents)))


def _load(
    parts: Sequence[_Part], keys: Sequence[tuple[SortKey, int]]
) -> Mapping[int, Mapping[int, MemoryEntry] | None]:
    """The memories of each store by id; None for a store that failed since it told their keys."""
    wanted: dict[int, list[int]] = defaultdict(list)
    for key, number in keys:
        wanted[number].append(key.id)
    found: dict[int, Mapping[int, MemoryEntry] | None] = {}
    for number, ids in wanted.items():
        try:
            found[number] = parts[number].provider.entries(ids)
        except StoreUnavailable:
            found[number] = None
    return found


def _unindexed(parts: Sequence[_Part]) -> Mapping[str, tuple[str, ...]]:
    """For each backend that was searched, the words that its stores had to read every row for."""
    words: dict[str, dict[str, None]] = {part.provider.backend: {} for part in parts}
    for part in parts:
        words[part.provider.backend] |= dict.fromkeys(part.unindexed)
    return {backend: tuple(found) for backend, found in words.items()}


def stats() -> Sequence[AgentStatistics]:
    """A row for each agent, by name, with its counts; agents without memories have 0 (second document, 3.4).

    The count of an agent whose store can't be read is None.
    """
    rows = []
    for home in registry.homes():
        backend = home.provider.backend
        try:
            with answering(home.provider):
                counted = {row.agent_name: row for row in home.provider.stats()}
            nothing = 0
        except StoreUnavailable:
            counted, nothing = {}, None
        rows += [
            counted.get(name) or AgentStatistics(name, backend, nothing, {}, nothing, None) for name in home.agents
        ]
    return sorted(rows, key=lambda row: row.agent_name)


def cached_stats() -> tuple[Sequence[AgentStatistics], datetime]:
    """`stats`, at most FRESH_SECONDS old, and when they were taken; a store that failed is asked again sooner."""
    found: tuple[Sequence[AgentStatistics], datetime] | None = cache.get(STATS)
    if found is None:
        taken_at = timezone.now()
        found = stats(), taken_at
        complete = all(row.count is not None for row in found[0])
        cache.set(STATS, found, FRESH_SECONDS if complete else SILENT_SECONDS)
    return found


def forget_stats() -> None:
    """Makes the next `cached_stats` count anew: whoever has just written must see it."""
    cache.delete(STATS)


def stats_of(agent_name: str) -> AgentStatistics:
    """The row of `stats` for one agent; raises UnknownAgent, or StoreUnavailable with the reason."""
    provider = registry.provider_for(agent_name)
    nothing = AgentStatistics(agent_name, provider.backend, 0, {}, 0, None)
    with answering(provider):
        return next(iter(provider.stats([agent_name])), nothing)


def backend_of(agent_name: str) -> str:
    """The backend an agent's memories are kept in."""
    return registry.provider_for(agent_name).backend
