"""The operators' pages for agents in Django's admin."""

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agents_app import services
from agents_app.models import Agent
from agents_app.move_view import address, move_view
from memory_app import search
from memory_app.admin import ErrorsAsMessages, MemoryConfigInline


@admin.register(Agent)
class AgentAdmin(ErrorsAsMessages):
    """Agents with their memory section; a name never changes, and memories go with their agent."""

    list_display = ("name", "label", "memory_on", "backend", "memories", "enabled")
    list_filter = ("enabled", "memory__enabled", "memory__backend")
    list_select_related = ("memory",)
    search_fields = ("name", "label", "description")
    inlines = (MemoryConfigInline,)
    fieldsets = (
        (None, {"fields": ("name", "label", "description", "enabled")}),
        (_("Model"), {"fields": ("system_prompt", "provider", "model", "base_url")}),
    )

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        counts = {row.agent_name: row.count for row in search.stats()}
        for agent in changelist.result_list:
            agent.memory_count = counts.get(agent.name)
        return changelist

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    @admin.display(description=_("memory"), boolean=True, ordering="memory__enabled")
    def memory_on(self, agent: Any) -> bool:
        return agent.memory.enabled

    @admin.display(description=_("backend"), ordering="memory__backend")
    def backend(self, agent: Any) -> str:
        return agent.memory.get_backend_display()

    @admin.display(description=_("memories"))
    def memories(self, agent: Any) -> str:
        return "—" if agent.memory_count is None else str(agent.memory_count)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(partial(move_view, model_admin=self))
        return [path("<int:agent_id>/move/", view, name="agents_app_agent_move"), *super().get_urls()]

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        wanted = [item.wanted_place for item in formset.forms if getattr(item, "wanted_place", None)]
        request.wanted_place = wanted[0] if wanted else None  # type: ignore[attr-defined]

    def response_change(self, request: HttpRequest, obj: Agent) -> HttpResponse:
        wanted = getattr(request, "wanted_place", None)
        return HttpResponseRedirect(address(obj, wanted)) if wanted else super().response_change(request, obj)

    def delete_model(self, request: HttpRequest, obj: Agent) -> None:
        self._delete(request, [obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._delete(request, list(queryset))

    def _delete(self, request: HttpRequest, agents: list[Agent]) -> None:
        number = sum(services.delete_agent(agent) for agent in agents)
        text = ngettext("%(count)d memory went with it.", "%(count)d memories went with it.", number)
        messages.info(request, text % {"count": number})
