"""The filters beside the list of memories: what they offer, with counts, and what each leaves when it is taken off.

They only show; MemoryFilter filters. Each has a template of its own, and gives the chips above the table.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib import admin
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app.admin.columns import BACKENDS
from memory_app.contracts import AgentStatistics
from memory_app.days import PRESETS, days_of

SHOWN_CARDS = 8
FOLDER = "admin/memory_app/memory/change_list_"
PRESET_WORDS = {"today": _("Today"), "7d": _("Last 7 days"), "30d": _("Last 30 days"), "90d": _("Last 90 days")}


class Chip(NamedTuple):
    """An active filter in words, where the list without it is, and the fields of PageQuery that it sets."""

    label: str
    word: str
    query_string: str
    cleared: Mapping[str, Any]


class Card(NamedTuple):
    """What is known of one agent; the number is None when its store can't be read."""

    name: str
    label: str
    backend: str
    number: int | None
    types: Sequence[tuple[str, str, int]]
    selected: bool
    query_string: str


class PanelFilter(admin.SimpleListFilter):
    """A filter of the panel: `fields` of PageQuery are what it sets, `parameters` what it reads from the address."""

    parameters: tuple[str, ...] = ()
    fields: Mapping[str, Any] = {}

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.parameters:
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: Any) -> None:
        """MemoryFilter does it, see MemoryListing.get_queryset."""

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name, *self.parameters]

    def chips(self, cl: Any) -> Iterator[Chip]:
        """The active filter, if it is one, as a chip."""
        value = self.value()
        if value is not None:
            yield Chip(str(self.title), self.word(cl, value), self.link(cl), self.fields)

    def word(self, cl: Any, value: str) -> str:
        """What the value is called."""
        return value

    def link(self, cl: Any, value: str | None = None) -> str:
        """Where this filter has another value, or none."""
        names = [str(name) for name in self.expected_parameters()]
        query: str = cl.get_query_string({self.parameter_name: value} if value else {}, remove=names)
        return query

    def choice(self, cl: Any, value: str, word: str, count: int | None = None) -> dict[str, Any]:
        """One value to choose; the chosen one leads back."""
        selected = self.value() == value
        link = self.link(cl, None if selected else value)
        return {"selected": selected, "query_string": link, "display": word, "value": value, "count": count}

    def hidden(self, cl: Any) -> list[tuple[str, str]]:
        """The rest of the address, for the filter's form."""
        return [(name, value) for name, value in cl.params.items() if name not in self.expected_parameters()]


class AgentFilter(PanelFilter):
    """A card for each agent: what it keeps where. A click filters, a click on the chosen one takes the filter off."""

    title = _("agent")
    parameter_name = "agentName"
    template = f"{FOLDER}agents.html"
    fields = {"agent_names": ()}

    def choices(self, cl: Any) -> Iterator[Any]:
        cards = [self._card(cl, row) for row in cl.statistics]
        yield {"shown": cards[:SHOWN_CARDS], "more": cards[SHOWN_CARDS:], "counted_at": cl.counted_at}

    def _card(self, cl: Any, row: AgentStatistics) -> Card:
        by_type = sorted(row.by_type.items(), key=lambda pair: -pair[1])
        types = [(key, cl.word_of(key), number) for key, number in by_type]
        selected = self.value() == row.agent_name
        link = self.link(cl, None if selected else row.agent_name)
        return Card(row.agent_name, cl.labels.get(row.agent_name, ""), row.backend, row.count, types, selected, link)

    def word(self, cl: Any, value: str) -> str:
        label = cl.labels.get(value)
        return f"{label} ({value})" if label else value


class BackendFilter(PanelFilter):
    """Memories of one kind of store."""

    title = _("store")
    parameter_name = "backend"
    template = f"{FOLDER}choices.html"
    fields = {"backends": ()}

    def choices(self, cl: Any) -> Iterator[Any]:
        counted = cl.counted({"agentName", "type"}, but="backend")
        known = {row.backend for row in cl.statistics} | {self.value()}
        for backend, word in BACKENDS.items():
            if backend in known:
                rows = None if counted is None else [row for row in counted if row.backend == backend]
                yield self.choice(cl, backend, word, _sum(cl, rows))

    def word(self, cl: Any, value: str) -> str:
        return {str(backend): word for backend, word in BACKENDS.items()}[value]


class TypeFilter(PanelFilter):
    """Memories of one type."""

    title = _("type")
    parameter_name = "type"
    template = f"{FOLDER}choices.html"
    fields = {"types": ()}

    def choices(self, cl: Any) -> Iterator[Any]:
        counted = cl.counted({"agentName", "backend"}, but="type")
        numbers: Counter[str] = Counter()
        for row in counted or ():
            numbers.update(row.by_type)
        for key in dict.fromkeys([*cl.looks, *numbers, *([self.value()] if self.value() else [])]):
            yield self.choice(cl, key, cl.word_of(key), None if counted is None else numbers[key]) | {"tag": key}

    def word(self, cl: Any, value: str) -> str:
        return str(cl.word_of(value))


class UserFilter(PanelFilter):
    """Memories of one user, by the exact id, or the shared ones."""

    title = _("user")
    parameter_name = "userId"
    parameters = ("shared",)
    template = f"{FOLDER}user.html"

    def choices(self, cl: Any) -> Iterator[Any]:
        shared = self.used_parameters.get("shared")
        link = self.link(cl) if shared else cl.get_query_string({"shared": "1"}, remove=["userId"])
        user = self.value() or ""
        yield {
            "value": user,
            "hidden": self.hidden(cl),
            "selected": bool(shared),
            "query_string": link,
            "forget": _forget_url(cl, user) if user and cl.may_delete else "",
        }

    def chips(self, cl: Any) -> Iterator[Chip]:
        if self.value() is not None:
            link = cl.get_query_string(remove=["userId"])
            yield Chip(str(self.title), self.value() or "", link, {"user_ids": ()})
        if shared := self.used_parameters.get("shared"):
            word = gettext("shared") if shared.lower() in ("1", "true") else gettext("not shared")
            yield Chip(str(self.title), word, cl.get_query_string(remove=["shared"]), {"shared": None})


class DaysFilter(PanelFilter):
    """Memories written on certain days: some ranges to choose, and two dates."""

    template = f"{FOLDER}days.html"
    presets: Sequence[str] = ("today", "7d", "30d")

    def choices(self, cl: Any) -> Iterator[Any]:
        days = days_of(self.value() or "today")
        yield {
            "presets": [self.choice(cl, preset, str(PRESET_WORDS[preset])) for preset in self.presets],
            "first": days.first.isoformat() if self.value() and days.first else "",
            "last": days.last.isoformat() if self.value() and days.last else "",
            "hidden": self.hidden(cl),
            "zone": _other_zone(),
        }

    def word(self, cl: Any, value: str) -> str:
        if value in PRESETS:
            return str(PRESET_WORDS[value])
        days = days_of(value)
        if days.first == days.last:
            return str(days.first)
        if days.last is None:
            return gettext("from %(day)s") % {"day": days.first}
        if days.first is None:
            return gettext("to %(day)s") % {"day": days.last}
        return gettext("%(first)s to %(last)s") % {"first": days.first, "last": days.last}


class UpdatedFilter(DaysFilter):
    """Memories last written on certain days."""

    title = _("updated")
    parameter_name = "updated"
    fields = {"updated_from": None, "updated_before": None}


class CreatedFilter(DaysFilter):
    """Memories first written on certain days."""

    title = _("created")
    parameter_name = "created"
    fields = {"created_from": None, "created_before": None}


FILTERS = (AgentFilter, BackendFilter, TypeFilter, UserFilter, UpdatedFilter, CreatedFilter)
PARAMETERS = tuple(name for spec in FILTERS for name in (str(spec.parameter_name), *spec.parameters))
RANGES = tuple(str(spec.parameter_name) for spec in FILTERS if issubclass(spec, DaysFilter))


def canonical(asked: QueryDict) -> QueryDict:
    """The address that says the same in the fewest words: no empty filters, and the two dates of a form as a range."""
    address = asked.copy()
    for name in RANGES:
        ends = [address.pop(f"{name}_{end}", [""])[-1].strip() for end in ("from", "to")]
        if any(ends):
            address[name] = ends[0] if ends[0] == ends[1] else "..".join(ends)
    for name in (*PARAMETERS, "q"):
        if not address.get(name, "").strip():
            address.pop(name, None)
    return address


def _other_zone() -> str:
    """The installation's zone, which days are of, where the operator's is another one."""
    own, shown = timezone.get_default_timezone_name(), timezone.get_current_timezone_name()
    return "" if own == shown else own


def _forget_url(cl: Any, user: str) -> str:
    asked = {"user": user, "agent": cl.params.get("agentName", "")}
    return f"{reverse('admin:memory_app_memory_forget')}?{urlencode(asked)}"


def _sum(cl: Any, rows: Sequence[AgentStatistics] | None) -> int | None:
    """How many memories of the chosen type, or of all types, the rows have; None where that isn't known."""
    if rows is None or any(row.count is None for row in rows):
        return None
    chosen = cl.params.get("type")
    return sum(row.by_type.get(chosen, 0) if chosen else row.count or 0 for row in rows)
