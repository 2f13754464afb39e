"""The admin site: Django's own, under the product's name, with the console's pages in its navigation."""

from collections.abc import Iterator
from functools import wraps
from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from netaclaw.zone import zone_of

SEES_MEMORIES = "memory_app.view_memory"


class Entry(NamedTuple):
    """A line of the navigation: a model's list, or a page of ours for those who have a right."""

    name: Promise
    model: str = ""
    page: str = ""
    right: str = SEES_MEMORIES


MEMORY = (
    Entry(_("Overview"), page="index"),
    Entry(_("Memories"), model="memory_app.memory"),
    Entry(_("Recall preview"), page="memory_app_memory_preview"),
    Entry(_("Agents"), model="agents_app.agent"),
    Entry(_("Memory types"), model="memory_app.memorytype"),
    Entry(_("Audit"), model="memory_app.memorychange"),
    Entry(_("Import"), page="memory_app_memory_import", right="memory_app.add_memory"),
    Entry(_("Forget a user"), page="memory_app_memory_forget", right="memory_app.delete_memory"),
    Entry(_("Agent keys"), model="memory_app.agentkey"),
    Entry(_("API tokens"), model="memory_app.apitoken"),
    Entry(_("System status"), page="memory_app_memory_status"),
)


class ConsoleSite(AdminSite):
    """The operators' console."""

    site_header = _("NetaClaw Memory")
    site_title = _("NetaClaw Memory")
    index_title = _("Overview")
    site_url = None

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Every page of the console shows times in the operator's zone."""
        page = super().admin_view(view, cacheable)

        @wraps(page)
        def in_zone(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            timezone.activate(zone_of(request))
            return page(request, *args, **kwargs)

        return in_zone

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """The first page: figures over all stores."""
        from memory_app.admin.overview import context_of  # its package registers with this site, so comes later

        context = context_of(request) if request.user.has_perm(SEES_MEMORIES) else {}
        return super().index(request, context | (extra_context or {}))

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The console's pages in the order of daily work, then everything else that is registered."""
        stock: list[Any] = super().get_app_list(request, app_label)
        if app_label is not None:
            return stock
        models = {
            f"{app['app_label']}.{model['object_name'].lower()}": model for app in stock for model in app["models"]
        }
        memory = list(_entries(request, models))
        administration = [model | {"current": False} for model in models.values()]
        _mark_current(request.path, memory + administration)
        sections = [("memory", _("Memory"), memory), ("administration", _("Administration"), administration)]
        return [
            {"name": name, "app_label": label, "app_url": "", "has_module_perms": True, "models": lines}
            for label, name, lines in sections
            if lines
        ]


def _entries(request: HttpRequest, models: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The entries that this operator may open; takes those of models out of `models`."""
    for entry in MEMORY:
        if entry.model:
            found = models.pop(entry.model, None)
            if found:
                yield found | {"name": entry.name, "current": False}
        elif (url := _address(entry.page)) and (entry.page == "index" or request.user.has_perm(entry.right)):
            yield {"name": entry.name, "object_name": entry.page, "admin_url": url, "add_url": None, "current": False}


def _address(page: str) -> str:
    try:
        return reverse(f"admin:{page}")
    except NoReverseMatch:
        return ""


def _mark_current(path: str, lines: list[dict[str, Any]]) -> None:
    """The line whose address is the longest beginning of the path; the first page only by itself."""
    first = reverse("admin:index")
    matching = [line for line in lines if line["admin_url"] and path.startswith(line["admin_url"])]
    best = max(matching, key=lambda line: len(line["admin_url"]), default=None)
    if best and (best["admin_url"] != first or path == first):
        best["current"] = True
