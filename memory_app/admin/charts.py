"""The charts of the console's first page, and their tables: every number leads to the memories that it counts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from django.urls import get_script_prefix, reverse
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from memory_app.figures import Overview
from memory_app.models import MemoryType

SERIES = 8
BARS = 12


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


def address(**filters: str | date) -> str:
    """The list of memories with these filters."""
    query = urlencode({name: str(value) for name, value in filters.items()})
    return _list_at(get_script_prefix()) + (f"?{query}" if query else "")


@cache
def _list_at(prefix: str) -> str:
    """Looked up once: the first page has hundreds of links to the list."""
    return reverse("admin:memory_app_memory_changelist")


def days_chart(found: Overview, names: Mapping[str, str]) -> Chart:
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


def types_chart(found: Overview) -> Chart:
    known = {info.key: info.name for info in MemoryType.available()}
    keys = sorted(found.by_type, key=lambda key: (-found.by_type[key], key))
    bars = [_bar(found.by_type[key], type=key) for key in keys]
    labels = [f"{known[key]} ({key})" if known.get(key, key) != key else key for key in keys]
    return Chart("types", _("Memories by type"), _("type"), labels, [Column(_("memories"), bars)], BARS)


def agents_chart(found: Overview, names: Mapping[str, str]) -> Chart:
    counted = [(agent.agent_name, agent.count) for agent in found.agents if agent.count]
    bars = [_bar(number, agentName=name) for name, number in counted]
    labels = [names[name] for name, _number in counted]
    return Chart("agents", _("Memories by agent"), _("agent"), labels, [Column(_("memories"), bars)], BARS)
