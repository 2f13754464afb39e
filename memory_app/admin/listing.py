"""The list of memories over all stores: filters, search, columns, bulk actions."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app.admin.base import ErrorsAsMessages, agent_choices, shown_time
from memory_app.admin.bulk import ACTIONS
from memory_app.filters import filtered
from memory_app.merged import ROWS
from memory_app.models import MemoryType
from memory_app.tools import title_of


class AgentFilter(admin.SimpleListFilter):
    """Memories of one agent."""

    title = _("agent")
    parameter_name = "agentName"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return agent_choices()

    def queryset(self, request: HttpRequest, queryset: Any) -> None:
        """MemoryFilter does it, see MemoryAdmin.get_queryset."""


class TypeFilter(admin.SimpleListFilter):
    """Memories of one type."""

    title = _("type")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(info.key, f"{info.name} ({info.key})") for info in MemoryType.available()]

    def queryset(self, request: HttpRequest, queryset: Any) -> None:
        """MemoryFilter does it, see MemoryAdmin.get_queryset."""


class MemoryListing(ErrorsAsMessages):
    """The changelist of memories; its columns also show what is fixed on a memory's page."""

    list_display = ("number", "title", "tag", "agent_name", "user", "store", "description", "updated")
    list_display_links = ("title",)
    list_filter = (AgentFilter, TypeFilter)
    list_per_page = ROWS
    search_fields = ("name", "content", "description")
    search_help_text = _("Title, content and description; several words must all occur.")
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ("-updated_at",)
    actions = ACTIONS

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Django's own deletion knows one database only."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def get_queryset(self, request: HttpRequest) -> Any:
        return filtered({name: request.GET.get(name) for name in ("agentName", "type")})

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return queryset.filter(keyword=search_term[:1_000]), False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response = super().changelist_view(request, (extra_context or {}) | {"title": gettext("memories").capitalize()})
        shown = getattr(response, "context_data", None) or {}
        for label in shown["cl"].queryset.unavailable if "cl" in shown else ():
            text = gettext("The memory store %(store)s can't be read; its memories are missing from this list.")
            messages.warning(request, text % {"store": label})
        return response

    @admin.display(description=_("ID"), ordering="id")
    def number(self, row: Any) -> int:
        return row.number

    @admin.display(description=_("title"), ordering="name")
    def title(self, row: Any) -> str:
        html = '<strong>{}</strong> <span class="beginning" title="{}">{}</span>'
        return format_html(html, row.name, row.content, title_of(row.content))

    @admin.display(description=_("type"), ordering="type")
    def tag(self, row: Any) -> str:
        return format_html('<span class="type-tag" data-type="{}">{}</span>', row.type, row.type)

    @admin.display(description=_("user"), ordering="user_id")
    def user(self, row: Any) -> str:
        return row.user_id or gettext("all users (shared)")

    @admin.display(description=_("store"))
    def store(self, row: Any) -> str:
        return {"sqlite": "SQLite", "mysql": "MySQL"}[row.backend]

    @admin.display(description=_("created"))
    def created(self, row: Any) -> str:
        return shown_time(row.created_at, "Y-m-d H:i:s")

    @admin.display(description=_("updated"), ordering="updated_at")
    def updated(self, row: Any) -> str:
        return shown_time(row.updated_at, "Y-m-d H:i")
