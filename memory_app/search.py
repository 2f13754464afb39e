"""The only readers: recall, prefetch, pages over all stores, statistics."""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from django.conf import settings
from django.utils.translation import gettext as _

from memory_app import registry
from memory_app.contracts import (
    AgentStatistics,
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
from memory_app.providers.base import MemoryProvider, SortKey

MAX_MESSAGE = 4_000
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prefetched:
    """What goes before the model: the block ("" for none), the hits in it, how long it took (ms), and why it failed."""

    block: str
    hits: Sequence[Hit]
    milliseconds: float
    failure: str = ""


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


def prefetch(scope: Scope, message: str) -> Prefetched:
    """The memory context for a chat turn (first document, section 6), within NETACLAW_PREFETCH_SECONDS and _CHARACTERS.

    Never raises for a store or a database that fails or is slow: the failure is logged and told in the answer, and the
    turn goes on.
    """
    start = perf_counter()
    hits: Sequence[Hit] = ()
    failure = ""
    try:
        config = registry.config_for(scope.agent_name)
        hits = _hits_in_time(config, scope, message) if config.enabled else ()
    except UnknownAgent:
        raise
    except NetaclawError as error:
        failure = error.message
        logger.warning("Prefetch for agent %s failed: %s", scope.agent_name, error)
    block = memory_context(hits, settings.PREFETCH_CHARACTERS)
    return Prefetched(block, hits, (perf_counter() - start) * 1000, failure)


def _hits_in_time(config: MemoryConfig, scope: Scope, message: str) -> Sequence[Hit]:
    options = SearchOptions(scope, limit=config.prefetch_limit, seconds=settings.PREFETCH_SECONDS)
    return registry.provider_of(config).search(message[:MAX_MESSAGE], options)


def page(query: PageQuery) -> Page:
    """One page of memories over the stores of the named agents, or over all stores: one query a store, merged.

    Totals are exact for the stores that answered; `unavailable` names the others.
    """
    homes = registry.homes(query.agent_names)
    providers = [home.provider for home in homes]
    totals: list[int] = []
    keys: list[tuple[SortKey, int]] = []
    unavailable: list[str] = []
    for position, home in enumerate(homes):
        try:
            asked = _of_its_agents(home, query)
            totals.append(home.provider.count(asked))
            keys += [(key, position) for key in home.provider.keys(asked, query.start + query.size)]
        except StoreUnavailable:
            unavailable.append(home.provider.label)
    keys.sort(reverse=query.descending)
    rows = _load(providers, keys[query.start : query.start + query.size])
    return Page(tuple(rows), query.page, query.size, sum(totals), tuple(unavailable))


def _of_its_agents(home: registry.Home, query: PageQuery) -> PageQuery:
    """Rows of agents that live elsewhere, or nowhere, are not to be seen: they can't be addressed."""
    if query.agent_names:
        return replace(query, agent_names=tuple(sorted(home.agents)))
    strangers = set(home.provider.agent_names()) - home.agents
    return replace(query, without_agents=tuple(sorted(strangers)))


def _load(providers: Sequence[MemoryProvider], keys: Sequence[tuple[SortKey, int]]) -> list[tuple[str, MemoryEntry]]:
    wanted: dict[int, list[int]] = defaultdict(list)
    for key, position in keys:
        wanted[position].append(key.id)
    found = {position: providers[position].entries(ids) for position, ids in wanted.items()}
    return [
        (providers[position].backend, found[position][key.id]) for key, position in keys if key.id in found[position]
    ]


def stats() -> Sequence[AgentStatistics]:
    """A row for each agent, by name, with its counts; agents without memories have 0 (second document, 3.4).

    The count of an agent whose store can't be read is None.
    """
    rows = []
    for home in registry.homes():
        backend = home.provider.backend
        try:
            counted = {row.agent_name: row for row in home.provider.stats()}
            nothing = 0
        except StoreUnavailable:
            counted, nothing = {}, None
        rows += [
            counted.get(name) or AgentStatistics(name, backend, nothing, {}, nothing, None) for name in home.agents
        ]
    return sorted(rows, key=lambda row: row.agent_name)


def backend_of(agent_name: str) -> str:
    """The backend an agent's memories are kept in."""
    return registry.provider_for(agent_name).backend
