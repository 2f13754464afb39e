"""The console's first page: figures over all stores, each of them a link to the memories it counts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from memory_app import history
from memory_app.admin.charts import address, agents_chart, days_chart, types_chart
from memory_app.admin.status import status_address
from memory_app.figures import RANGES, AgentFigures, Overview, overview
from memory_app.models import MemoryChange, MemoryConfig
from memory_app.providers.figures import OwnerCount

CARDS = 12
DEFAULT_RANGE = 30
CHANGES = 10


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
    url: str
    added_url: str


@dataclass(frozen=True, slots=True)
class LastChange:
    """What was done to a memory, by whom, and where to read more ("": nowhere)."""

    at: datetime
    who: str
    what: str
    agent_name: str
    name: str
    url: str


def context_of(request: HttpRequest) -> dict[str, Any]:
    """What the first page shows; `?days=` is the range of its chart."""
    chosen = _range(request.GET.get("days", ""))
    found = overview(chosen)
    labels = dict(MemoryConfig.objects.values_list("agent__name", "agent__label"))
    names = {name: label or name for name, label in labels.items()}
    cards = [_card(agent, names.get(agent.agent_name, agent.agent_name)) for agent in found.agents]
    return {
        "overview": found,
        "empty": found.total("count") == 0 and not found.missing,
        "tiles": _tiles(found),
        "cards": cards[:CARDS],
        "more_cards": cards[CARDS:],
        "charts": [days_chart(found, names), types_chart(found), agents_chart(found, names)],
        "ranges": [(days, days == chosen) for days in RANGES],
        "busiest": list(_busiest(found, names)),
        "last_changes": [_last_change(change, labels) for change in history.latest(CHANGES)],
        "audit_url": _audit_address() if request.user.has_perm("memory_app.view_memorychange") else "",
        "status_url": status_address(),
        "agents_there": bool(labels),
        "sample": _sample(request, min(labels, default="demo")),
    }


def _sample(request: HttpRequest, agent_name: str) -> str:
    """A call that saves a memory, for a shell: a single quote of the name must not end the data."""
    memory = {"agentName": agent_name, "userId": "ann", "type": "user", "name": "tea", "content": "Likes green tea"}
    data = json.dumps(memory, ensure_ascii=False).replace("'", "'\\''")
    url = request.build_absolute_uri("/admin/netaclaw/memory/add")
    return f"""curl {url} \\
  -H "Authorization: $TOKEN" -H "Content-Type: application/json" \\
  -d '{data}'"""


def _range(text: str) -> int:
    return int(text) if text in map(str, RANGES) else DEFAULT_RANGE


def _tiles(found: Overview) -> list[Tile]:
    note = _("at least") if found.missing else ""
    return [
        Tile(_("Memories"), found.total("count"), address(), note),
        Tile(_("Added today"), found.total("added"), address(created="today"), note),
        Tile(_("Updated today"), found.total("updated"), address(updated="today"), note),
        Tile(_("Users"), found.users, "#busiest" if found.users else address(), note),
        Tile(_("Stores unavailable"), len(found.missing), status_address()),
    ]


def _card(agent: AgentFigures, label: str) -> Card:
    name = agent.agent_name
    return Card(label, agent, address(agentName=name), address(agentName=name, created="today"))


def _busiest(found: Overview, names: Mapping[str, str]) -> Iterator[tuple[OwnerCount, str, str]]:
    for owner in found.busiest:
        url = address(agentName=owner.agent_name, userId=owner.user_id)
        yield owner, names.get(owner.agent_name, owner.agent_name), url


def _last_change(change: MemoryChange, agents: Mapping[str, str]) -> LastChange:
    """With the way to the memory's history, while there is an agent and an id to name it by."""
    url = ""
    if change.agent_name in agents and change.memory_id > 0:
        url = reverse("admin:memory_app_memory_history", args=[quote(f"{change.agent_name}:{change.memory_id}")])
    who = f"{change.actor} ({change.door_label})" if change.actor else change.door_label
    return LastChange(change.at, who, change.get_action_display(), change.agent_name, change.name, url)


def _audit_address() -> str:
    try:
        return reverse("admin:memory_app_memorychange_changelist")
    except NoReverseMatch:
        return ""
