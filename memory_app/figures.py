"""Figures over all stores for the console's first page: one set of them, counted at one moment."""

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from time import perf_counter

from django.core.cache import cache
from django.db import connections
from django.utils import timezone

from memory_app import registry
from memory_app.exceptions import StoreUnavailable
from memory_app.providers import failures
from memory_app.providers.figures import (
    Asked,
    OwnerCount,
    StoreFigures,
    StoreHealth,
    answer_time,
    figures,
    health,
    size_of,
)
from memory_app.stretches import last_days, stretches

RANGES = (7, 30, 90)
BUSIEST = 10
QUICK = 0.25
FRESH = timedelta(seconds=30)
FRESH_WITH_FAILURES = timedelta(seconds=10)
KEPT_SECONDS = 300
ANSWER_SECONDS = 1.0
LEAST_SECONDS = 0.05
COUNTING_SECONDS = 8.0
_counting: set[str] = set()
_guard = threading.Lock()


class State(StrEnum):
    """How a store was when it was asked: SLOW is one that answers, and could not be counted in time."""

    OK = "ok"
    SLOW = "slow"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class StoreState:
    """A store: its state, the time of an answer (ms), rows and bytes; None is what it didn't tell."""

    label: str
    backend: str
    state: State
    milliseconds: float | None = None
    rows: int | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """An agent: memories, added and changed today, the latest write; counts are None when its store didn't tell."""

    agent_name: str
    store: StoreState
    count: int | None = None
    added: int | None = None
    updated: int | None = None
    latest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """The figures of an installation at a moment; what can't be read is missing from them, see `stores`."""

    at: datetime
    days: tuple[date, ...]
    stores: tuple[StoreState, ...] = ()
    agents: tuple[AgentFigures, ...] = ()
    by_type: Mapping[str, int] = field(default_factory=dict)
    by_day: Mapping[tuple[str, date], int] = field(default_factory=dict)
    busiest: tuple[OwnerCount, ...] = ()
    users: int | None = None
    seconds: float = 0

    @property
    def missing(self) -> tuple[StoreState, ...]:
        """The stores whose memories are not in the counts."""
        return tuple(store for store in self.stores if store.state is not State.OK)

    def total(self, name: str) -> int | None:
        """The sum of `count`, `added` or `updated`; None when there are stores and none of them told."""
        known = [number for agent in self.agents if (number := getattr(agent, name)) is not None]
        return sum(known) if known or not self.missing else None


@dataclass(frozen=True, slots=True)
class StoreReport:
    """A store for the status page: its health when it has any, and what went wrong last, in a sentence, and when."""

    label: str
    backend: str
    agents: int
    health: StoreHealth | None
    error: str = ""
    failed_at: datetime | None = None


def overview(number_of_days: int) -> Overview:
    """The figures with the last `number_of_days` days.

    Quick figures are counted for every caller. Those that take long are kept for half a minute; after that a caller
    is still given them at once, with the time they are of, while they are counted anew.
    """
    homes = registry.homes()
    wanted = last_days(number_of_days)
    key = _key(homes, wanted)
    kept: Overview | None = cache.get(key)
    if kept is None:
        return _count(homes, wanted, key)
    if timezone.now() - kept.at > (FRESH_WITH_FAILURES if kept.missing else FRESH):
        _count_behind(homes, wanted, key)
    return kept


def reports() -> Sequence[StoreReport]:
    """Every store that an agent uses, and how it does now."""
    return [_report(home) for home in registry.homes()]


def _report(home: registry.Home) -> StoreReport:
    provider = home.provider
    known = StoreReport(provider.label, provider.backend, len(home.agents), None)
    try:
        known = replace(known, health=health(provider, ANSWER_SECONDS))
        failure = failures.last(provider.key)
    except StoreUnavailable as error:
        failure = failures.failure_of(error)
    return replace(known, error=failures.told(failure), failed_at=failure.at) if failure else known


def _key(homes: Sequence[registry.Home], wanted: Sequence[date]) -> str:
    """Other agents, stores or days are other figures."""
    spelled = repr([(home.provider.key, sorted(home.agents)) for home in homes])
    return f"overview:{blake2b(spelled.encode(), digest_size=12).hexdigest()}:{wanted[0]}:{wanted[-1]}"


def _count_behind(homes: Sequence[registry.Home], wanted: Sequence[date], key: str) -> None:
    """In a thread of its own, one at a time for the same figures."""

    def run() -> None:
        try:
            _count(homes, wanted, key)
        finally:
            connections.close_all()
            with _guard:
                _counting.discard(key)

    with _guard:
        if key in _counting:
            return
        _counting.add(key)
    threading.Thread(target=run, name="overview", daemon=True).start()


def _count(homes: Sequence[registry.Home], wanted: Sequence[date], key: str) -> Overview:
    start = perf_counter()
    found = _together(_ask_all(homes, wanted), wanted)
    found = replace(found, seconds=perf_counter() - start)
    if found.seconds > QUICK:
        cache.set(key, found, KEPT_SECONDS)
    return found


@dataclass(frozen=True, slots=True)
class _Answer:
    home: registry.Home
    store: StoreState
    figures: StoreFigures | None


def _ask_all(homes: Sequence[registry.Home], wanted: Sequence[date]) -> list[_Answer]:
    """Stores that don't answer share one patience: many of them cost no more time than one."""
    patience = ANSWER_SECONDS
    answers = []
    for home in homes:
        start = perf_counter()
        answers.append(_ask(home, wanted, max(patience, LEAST_SECONDS)))
        if answers[-1].store.state is State.UNAVAILABLE:
            patience -= perf_counter() - start
    return answers


def _ask(home: registry.Home, wanted: Sequence[date], patience: float) -> _Answer:
    """First whether the store answers, then its figures: a large one may be slow at counting and is not down."""
    provider = home.provider
    store = StoreState(provider.label, provider.backend, State.UNAVAILABLE)
    try:
        store = replace(store, milliseconds=answer_time(provider, patience), state=State.SLOW)
        strangers = sorted(set(provider.agent_names()) - home.agents)
        asked = Asked(stretches(wanted[0], wanted[-1]), stretches(wanted[-1], wanted[-1]), strangers, BUSIEST)
        found = figures(provider, asked, COUNTING_SECONDS)
    except StoreUnavailable:
        return _Answer(home, store, None)
    rows, size = sum(found.by_type.values()), size_of(provider)
    return _Answer(home, replace(store, state=State.OK, rows=rows, size=size), found)


def _together(answers: Sequence[_Answer], wanted: Sequence[date]) -> Overview:
    by_type: dict[str, int] = defaultdict(int)
    by_day: dict[tuple[str, date], int] = {}
    owners: list[OwnerCount] = []
    users: set[str] = set()
    agents: list[AgentFigures] = []
    for answer in answers:
        agents += _agents(answer, wanted[-1])
        if answer.figures:
            for (_name, key), number in answer.figures.by_type.items():
                by_type[key] += number
            by_day |= answer.figures.by_day
            owners += answer.figures.owners
            users |= answer.figures.users
    told = any(answer.figures for answer in answers) or not answers
    return Overview(
        timezone.now(),
        tuple(wanted),
        tuple(answer.store for answer in answers),
        tuple(sorted(agents, key=lambda agent: (-(agent.count or 0), agent.agent_name))),
        dict(by_type),
        by_day,
        tuple(sorted(owners, key=lambda owner: (-owner.number, owner))[:BUSIEST]),
        len(users) if told else None,
    )


def _agents(answer: _Answer, today: date) -> list[AgentFigures]:
    found = answer.figures
    if found is None:
        return [AgentFigures(name, answer.store) for name in answer.home.agents]
    counts: dict[str, int] = defaultdict(int)
    for (name, _type), number in found.by_type.items():
        counts[name] += number
    return [
        AgentFigures(
            name,
            answer.store,
            counts[name],
            found.by_day.get((name, today), 0),
            found.updated.get(name, 0),
            found.latest.get(name),
        )
        for name in answer.home.agents
    ]
