"""The only writers of agents; an agent and its memory settings are made, and go, together."""

from typing import Any

from django.db import transaction

from agents_app.models import Agent
from memory_app import services as memory_services
from memory_app.models import MemoryConfig


def create_agent(name: str, *, memory: dict[str, Any] | None = None, **fields: Any) -> Agent:
    """Makes an agent with its memory settings; raises ValidationError for a bad value, and makes nothing then."""
    with transaction.atomic():
        agent = Agent(name=name, **fields)
        agent.full_clean()
        agent.save()
        config = MemoryConfig(agent=agent, **memory or {})
        config.full_clean()
        config.save()
    return agent


def delete_agent(agent: Agent) -> int:
    """Deletes an agent with its settings and all its memories; returns how many memories there were."""
    deleted = memory_services.delete_agent_memories(agent.name)
    agent.delete()
    return deleted
