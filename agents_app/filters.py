"""How agents are filtered."""

import django_filters

from agents_app.models import Agent
from memory_app.filters import Flag, Values, Words


class AgentFilter(django_filters.FilterSet):
    """Filters of agents: by name (one or several), switches, backend, and words in name, label and description."""

    name = Values(field_name="name")
    enabled = Flag(field_name="enabled")
    backend = Values(field_name="memory__backend")
    keyWord = Words("name", "label", "description")

    class Meta:
        model = Agent
        fields: list[str] = []
