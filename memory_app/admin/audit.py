"""The audit: every change of every memory, whichever store it is in; read only."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import history
from memory_app.admin.base import ErrorsAsMessages, agent_choices, shown_time
from memory_app.admin.history import LABELS, current_memory, differences, who
from memory_app.models import MemoryChange
from memory_app.models.history import DOORS


class AgentFilter(admin.SimpleListFilter):
    """Changes in one agent's memories."""

    title = _("agent")
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return agent_choices()

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(agent_name=self.value()) if self.value() else queryset


class DoorFilter(admin.SimpleListFilter):
    """Changes through one door."""

    title = _("door")
    parameter_name = "door"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(door), str(label)) for door, label in DOORS.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(door=self.value()) if self.value() else queryset


@admin.register(MemoryChange)
class MemoryChangeAdmin(ErrorsAsMessages):
    """What was done, by whom, through which door; a row opens with what was before and after."""

    list_display = ("time", "who", "action", "memory", "title", "changed", "explained")
    list_display_links = ("time",)
    list_filter = (AgentFilter, DoorFilter, "action", "at")
    list_per_page = 50
    search_fields = ("actor", "agent_name", "user_id", "name")
    search_help_text = _("Who, agent, user or title.")
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ("-id",)
    empty_value_display = ""
    actions = None

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("before")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, (extra_context or {}) | {"title": gettext("Audit")})

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: Any = False,
        change: Any = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        before, after = history.around(obj, current_memory(obj.agent_name, obj.memory_id))
        version = next((one for one in history.versions(obj.agent_name, obj.memory_id, None) if one.undo == obj), None)
        shown = context | {
            "title": gettext("Change"),
            "subtitle": None,
            "change": obj,
            "who": who(obj),
            "differences": differences(before, after),
            "reference": _reference(obj),
            "restorable": version if before else None,
        }
        return TemplateResponse(request, "admin/memory_app/memorychange/change.html", shown)

    @admin.display(description=_("time"), ordering="id")
    def time(self, change: MemoryChange) -> str:
        return shown_time(change.at, "Y-m-d H:i:s")

    @admin.display(description=_("who"), ordering="actor")
    def who(self, change: MemoryChange) -> str:
        return who(change)

    @admin.display(description=_("memory"))
    def memory(self, change: MemoryChange) -> str:
        if not change.memory_id:
            return change.agent_name
        url = reverse("admin:memory_app_memory_history", args=[quote(_reference(change))])
        return format_html('<a href="{}">{}</a>', url, _reference(change))

    @admin.display(description=_("title"))
    def title(self, change: MemoryChange) -> str:
        return change.name

    @admin.display(description=_("fields"))
    def changed(self, change: MemoryChange) -> str:
        return gettext(", ").join(str(LABELS[name]) for name in change.fields.split(",") if name in LABELS)

    @admin.display(description=_("note"))
    def explained(self, change: MemoryChange) -> str:
        return change.explained


def _reference(change: MemoryChange) -> str:
    return f"{change.agent_name}:{change.memory_id}"
