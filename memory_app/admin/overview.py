"""The console's first page: figures over all stores, each of them a link to the memories it counts."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import get_script_prefix, reverse
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from memory_app.admin.status import status_address
from memory_app.figures import RANGES, AgentFigures, Overview, State, overview
from memory_app.models import MemoryConfig, MemoryType

CARDS = 12
SERIES = 8
BARS = 12
DEFAULT_RANGE = 30


@dataclass(frozen=True, slots=True)
class Tile:
    """A number (None: not known) that leads to what it counts."""

    name: str
    number: int | None
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """An agent, as the first page shows it."""

    label: str
    figures: AgentFigures
    state: str
    url: str
    added_url: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A number of a chart, and the list that holds as many memories ("": there is no such list)."""

    number: int
    url: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One series of a chart, one column of its table."""

    label: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart and its table, of the same numbers; the table has the rows beyond `drawn` and the total as well."""

    key: str
    title: str
    head: str
    labels: Sequence[str]
    columns: Sequence[Column]
    drawn: int | None = None
    total: Column | None = None

    @property
    def data_id(self) -> str:
        return f"chart-{self.key}-data"

    @property
    def per_day(self) -> bool:
        return self.total is not None

    @property
    def data(self) -> dict[str, Any]:
        """What the script draws."""
        series = [
            {
                "label": column.label,
                "data": [bar.number for bar in column.bars[: self.drawn]],
                "urls": [bar.url for bar in column.bars[: self.drawn]],
            }
            for column in self.columns
        ]
        return {"stacked": self.per_day, "labels": list(self.labels[: self.drawn]), "series": series}

    @property
    def table(self) -> Sequence[Column]:
        return [*self.columns, *([self.total] if self.total else [])]

    @property
    def rows(self) -> Iterator[tuple[str, list[Bar]]]:
        """The table's lines: what they are of, and their numbers."""
        return ((label, [column.bars[n] for column in self.table]) for n, label in enumerate(self.labels))


def context_of(request: HttpRequest) -> dict[str, Any]:
    """What the first page shows; `?days=` is the range of its chart."""
    chosen = _range(request.GET.get("days", ""))
    found = overview(chosen)
    labels = dict(MemoryConfig.objects.values_list("agent__name", "agent__label"))
    cards = [_card(agent, labels.get(agent.agent_name, "")) for agent in found.agents]
    names = {agent.agent_name: labels.get(agent.agent_name) or agent.agent_name for agent in found.agents}
    charts = [_days_chart(found, names), _types_chart(found), _agents_chart(found, names)]
    return {
        "overview": found,
        "empty": found.total("count") == 0 and not found.missing,
        "tiles": _tiles(found),
        "cards": cards[:CARDS],
        "more_cards": cards[CARDS:],
        "charts": charts,
        "ranges": [(days, days == chosen) for days in RANGES],
        "busiest": [
            (owner, names.get(owner.agent_name, owner.agent_name),
             address(agentName=owner.agent_name, userId=owner.user_id))
            for owner in found.busiest
        ],
        "states": _states(),
        "status_url": status_address(),
        "agents_there": bool(labels),
        "sample_agent": _in_shell(min(labels, default="demo")),
        "last_changes": None,
    }  # fmt: skip


def _in_shell(agent_name: str) -> str:
    """JSON text that stands between the single quotes of a shell."""
    return json.dumps(agent_name, ensure_ascii=False).replace("'", "'\\''")


def address(**filters: str | date) -> str:
    """The list of memories with these filters."""
    query = urlencode({name: str(value) for name, value in filters.items()})
    return _list_at(get_script_prefix()) + (f"?{query}" if query else "")


@cache
def _list_at(prefix: str) -> str:
    """Looked up once: the first page has hundreds of links to the list."""
    return reverse("admin:memory_app_memory_changelist")


def _range(text: str) -> int:
    return int(text) if text in map(str, RANGES) else DEFAULT_RANGE


def _states() -> Mapping[str, str]:
    return {State.OK: _("available"), State.SLOW: _("too slow to count"), State.UNAVAILABLE: _("unavailable")}


def _tiles(found: Overview) -> list[Tile]:
    note = _("at least") if found.missing else ""
    return [
        Tile(_("Memories"), found.total("count"), address(), note),
        Tile(_("Added today"), found.total("added"), address(created="today"), note),
        Tile(_("Updated today"), found.total("updated"), address(updated="today"), note),
        Tile(_("Users"), found.users, "#busiest", note),
        Tile(_("Stores unavailable"), len(found.missing), status_address()),
    ]


def _card(agent: AgentFigures, label: str) -> Card:
    name = agent.agent_name
    state = _states()[agent.store.state]
    return Card(label or name, agent, state, address(agentName=name), address(agentName=name, created="today"))


def _days_chart(found: Overview, names: Mapping[str, str]) -> Chart:
    """Memories added per day and agent: the agents with most in the range, then all others together."""
    by_agent: Counter[str] = Counter()
    by_day: Counter[date] = Counter()
    for (name, day), number in found.by_day.items():
        by_agent[name] += number
        by_day[day] += number
    ranked = sorted(by_agent, key=lambda name: (-by_agent[name], name))
    columns = [Column(names.get(name, name), _agent_days(found, name)) for name in ranked[:SERIES]]
    if len(ranked) > SERIES:
        rest = [by_day[day] - sum(column.bars[n].number for column in columns) for n, day in enumerate(found.days)]
        columns.append(Column(_("others"), [Bar(number) for number in rest]))
    total = Column(_("total"), [_bar(by_day[day], created=day) for day in found.days])
    return Chart(
        "days",
        _("Memories added per day"),
        _("day"),
        [date_format(day, "MONTH_DAY_FORMAT") for day in found.days],
        columns,
        total=total,
    )


def _agent_days(found: Overview, name: str) -> list[Bar]:
    return [_bar(found.by_day.get((name, day), 0), agentName=name, created=day) for day in found.days]


def _bar(number: int, **filters: str | date) -> Bar:
    return Bar(number, address(**filters) if number else "")


def _types_chart(found: Overview) -> Chart:
    known = {info.key: info.name for info in MemoryType.available()}
    keys = sorted(found.by_type, key=lambda key: (-found.by_type[key], key))
    bars = [_bar(found.by_type[key], type=key) for key in keys]
    labels = [f"{known[key]} ({key})" if known.get(key, key) != key else key for key in keys]
    return Chart("types", _("Memories by type"), _("type"), labels, [Column(_("memories"), bars)], BARS)


def _agents_chart(found: Overview, names: Mapping[str, str]) -> Chart:
    counted = [(agent.agent_name, agent.count) for agent in found.agents if agent.count]
    bars = [_bar(number, agentName=name) for name, number in counted]
    labels = [names[name] for name, _number in counted]
    return Chart("agents", _("Memories by agent"), _("agent"), labels, [Column(_("memories"), bars)], BARS)
