"""The list of memories over all stores: filters, search, columns, bulk actions."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app.admin.base import ErrorsAsMessages
from memory_app.admin.bulk import ACTIONS
from memory_app.admin.changelist import MemoryList
from memory_app.admin.columns import MemoryColumns
from memory_app.admin.list_filters import FILTERS, PARAMETERS, canonical
from memory_app.admin.type_tags import colors_view
from memory_app.filters import filtered, filtered_leniently
from memory_app.merged import ROWS

KNOWN = (*PARAMETERS, "q", "o", "p", "_popup")
DJANGOS = ("e", "all", "_facets", "_to_field")
RETRY_SECONDS = 10


class MemoryListing(MemoryColumns, ErrorsAsMessages):
    """The changelist of memories."""

    list_display = ("number", "title", "tag", "agent", "user", "store", "summary", "updated_ago", "menu")
    list_display_links = ("title",)
    list_filter = FILTERS
    list_per_page = ROWS
    search_fields = ("name", "content", "description")
    search_help_text = _("Title, content and description; several words must all occur.")
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ("-updated_at",)
    actions = ACTIONS

    def get_urls(self) -> list[Any]:
        colors = self.admin_site.admin_view(colors_view, cacheable=True)
        return [path("types.css", colors, name="memory_app_memory_colors"), *super().get_urls()]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Django's own deletion knows one database only."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[MemoryList]:
        return MemoryList

    def get_queryset(self, request: HttpRequest) -> Any:
        return filtered({name: request.GET.get(name) for name in PARAMETERS})

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return queryset.filter(keyword=search_term[:1_000]), False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        address = canonical(request.GET)
        if request.method == "GET" and address != request.GET:
            return HttpResponseRedirect(f"{request.path}?{address.urlencode()}")
        _leave_out_what_is_wrong(request)
        context = {"title": gettext("memories").capitalize(), "sample_url": _sample_url(request)}
        response = super().changelist_view(request, (extra_context or {}) | context)
        shown = getattr(response, "context_data", None) or {}
        if "cl" in shown and shown["cl"].found.unreadable:
            return _unreadable(request, shown)
        return response


def _leave_out_what_is_wrong(request: HttpRequest) -> None:
    """A mistyped address shows the list without its mistakes, and tells them; Django would show all, and tell none."""
    address = request.GET.copy()
    for name in [name for name in address if name not in KNOWN]:
        del address[name]
        if name not in DJANGOS:
            text = gettext("The list has no filter “%(name)s”; it was left out.") % {"name": name}
            messages.warning(request, text)
    _rows, problems = filtered_leniently({name: address.get(name) for name in PARAMETERS})
    for name, problem in problems.items():
        text = gettext("The filter “%(name)s” was left out. %(problem)s") % {"name": name, "problem": problem}
        messages.warning(request, text)
        del address[name]
    request.GET = address  # type: ignore[assignment]


def _sample_url(request: HttpRequest) -> str:
    return request.build_absolute_uri("/admin/netaclaw/memory/add")


def _unreadable(request: HttpRequest, shown: dict[str, Any]) -> HttpResponse:
    """No store at all could be read; that is no empty list."""
    context = shown | {"retry": request.get_full_path(), "list": reverse("admin:memory_app_memory_changelist")}
    headers = {"Retry-After": str(RETRY_SECONDS)}
    name = "admin/memory_app/memory/change_list_unavailable.html"
    return TemplateResponse(request, name, context, status=503, headers=headers)
