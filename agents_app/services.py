"""The only writers of agents; an agent and its memory settings are made, and go, together."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import CharField, TextField
from django.utils.translation import gettext as _

from agents_app.models import Agent
from memory_app import moving
from memory_app import services as memory_services
from memory_app.contracts import clean_metadata, clean_text
from memory_app.exceptions import Refused
from memory_app.models import MemoryConfig, validated

Row = TypeVar("Row", Agent, MemoryConfig)


def create_agent(name: str, *, memory: Mapping[str, Any] | None = None, **fields: Any) -> Agent:
    """Makes an agent with its memory settings; raises InvalidInput for a bad value, and makes nothing then."""
    return add_agents([{"name": name, "memory": memory or {}} | fields])[0]


def add_agents(values: Sequence[Mapping[str, Any]]) -> list[Agent]:
    """Makes agents, all or none; the memory settings are under `memory`."""
    with transaction.atomic():
        return [_made(dict(fields)) for fields in values]


def _made(fields: dict[str, Any]) -> Agent:
    memory = fields.pop("memory", {})
    agent = _with(Agent(), fields)
    agent.save()
    config = _with(MemoryConfig(agent=agent), memory)
    config.save()
    return agent


def update_agent(agent: Agent, *, memory: Mapping[str, Any] | None = None, **fields: Any) -> Agent:
    """Edits an agent and its memory settings; fields left out stay as they are.

    Raises InvalidInput for a bad value; Refused for another name, and for another store while memories are in the old:
    they move by moving.move, which takes its time.
    """
    if fields.get("name", agent.name) != agent.name:
        raise Refused(_("The name of an agent never changes."))
    config = MemoryConfig.objects.get(agent=agent)
    place = config.place
    wanted = _with(config, memory or {}).place
    config.place = place
    moves = wanted.normal() != place.normal()
    if moves and (number := moving.waiting(agent.name)):
        message = _("%(count)d memories are in the old store; move them in the console or by move_memories.")
        raise Refused(message % {"count": number})
    with transaction.atomic():
        _with(agent, fields).save()
        config.save(update_fields=["enabled", "prefetch_limit"])
    if moves:
        moving.move(agent.name, wanted)
    return agent


def _with(row: Row, fields: Mapping[str, Any]) -> Row:
    """The row with new values, checked."""
    for name, value in fields.items():
        if name == "config":
            value = clean_metadata(value)
        is_text = isinstance(row._meta.get_field(name), CharField | TextField)
        setattr(row, name, clean_text(value, name, 1_000_000) if is_text else value)
    validated(row)
    return row


def delete_agent(agent: Agent) -> int:
    """Deletes an agent with its settings and all its memories; returns how many memories there were.

    Memories go first, so that a store that can't be reached refuses the whole; and once more after the agent is gone,
    for what was saved in between.
    """
    places = memory_services.places_of(agent.name)
    deleted = memory_services.delete_memories_of(agent.name, places)
    agent.delete()
    sweep = partial(memory_services.delete_memories_of, agent.name, places, after_writers=True)
    transaction.on_commit(sweep, robust=True)
    return deleted
