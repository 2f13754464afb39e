"""How agents are filtered."""

from typing import Any

import django_filters
from django.db.models import Q, QuerySet

from agents_app.models import Agent
from memory_app.filters import Flag, Values


class AgentFilter(django_filters.FilterSet):
    """Filters of agents: by name (one or several), switches, backend, and words in name, label and description."""

    name = Values(field_name="name")
    enabled = Flag(field_name="enabled")
    backend = Values(field_name="memory__backend")
    keyWord = Values(method="with_keyword")

    class Meta:
        model = Agent
        fields: list[str] = []

    def with_keyword(self, rows: QuerySet[Agent], name: str, value: tuple[str, ...]) -> QuerySet[Any]:
        for word in " ".join(value).split():
            rows = rows.filter(Q(name__icontains=word) | Q(label__icontains=word) | Q(description__icontains=word))
        return rows
