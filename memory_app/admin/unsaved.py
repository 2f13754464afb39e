"""The pages on which a form comes back unsaved, with the operator's text and the reason."""

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from django.contrib import messages
from django.contrib.admin import helpers
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from memory_app import search
from memory_app.admin.base import agent_choices, shown_time
from memory_app.admin.conflict import compared, own_text
from memory_app.admin.forms import MemoryForm, version_of
from memory_app.admin.missing import MissingPages
from memory_app.contracts import MemoryEntry
from memory_app.exceptions import NetaclawError
from memory_app.merged import as_row, by_reference, reference_of
from memory_app.models import Memory, MemoryConfig


class UnsavedPages(MissingPages):
    """A form that comes back: to be shown otherwise, refused, in conflict, or without its memory or store."""

    def shown_again(self, request: HttpRequest, row: Memory | None, reference: str) -> HttpResponse:
        """The same form for another type, or with metadata in the other editor; nothing is checked or written."""
        if reference and row is None:
            return self.gone_page(request, reference)
        form = MemoryForm(request.POST, instance=row)
        form.keep_only_unreadable()
        return self._form_page(request, form, row, chosen=request.POST["_show"])

    def refused_page(self, request: HttpRequest, reference: str, error: NetaclawError) -> HttpResponse:
        """The form with the sentence of what was refused."""
        if request.method != "POST":
            raise error
        row = _stand_in(request, reference) if reference else None
        form = MemoryForm(request.POST, instance=row)
        form.add_error(None, error.message)
        return self._form_page(request, form, row)

    def twin_page(self, request: HttpRequest, memory: MemoryEntry) -> HttpResponse:
        """The form of a memory that is there already, with the way to that one."""
        url = reverse("admin:memory_app_memory_change", args=(quote(reference_of(memory)),))
        text = gettext("The same memory is there already; no second one was made: {link}.")
        link = format_html('<a href="{}">{} ({})</a>', url, memory.name, reference_of(memory))
        messages.warning(request, format_html(text, link=link))
        return self._form_page(request, MemoryForm(request.POST), None)

    def unavailable_page(self, request: HttpRequest, reference: str, error: NetaclawError) -> HttpResponse:
        """503: what is there can't be read, what was posted comes back."""
        if request.method != "POST":
            return self.closed_page(request, reference, error)
        row = _stand_in(request, reference) if reference else None
        title = gettext("Not saved: the store is unavailable")
        notice = [error.message, gettext("Your text is kept in this page; save again in a moment.")]
        response = self._form_page(request, MemoryForm(request.POST, instance=row), row, title=title, notice=notice)
        response.status_code = 503
        response.headers["Retry-After"] = "10"
        return response

    def gone_page(self, request: HttpRequest, reference: str) -> HttpResponse:
        """410: the operator's text as a new memory, for the agent and user that the old one had."""
        if request.method != "POST":
            return self.missing_page(request, reference)
        if not self.has_change_permission(request):
            raise PermissionDenied
        if not self.has_add_permission(request):
            return self.missing_page(request, reference)
        data = request.POST.copy()
        data["agent_name"] = reference.rpartition(":")[0]
        data["user_id"] = data.get("initial-user_id", "")
        title = gettext("This memory was deleted while you edited it")
        notice = [gettext("Nothing is saved. Your text is below: save it as a new memory, or leave the page.")]
        url = reverse("admin:memory_app_memory_add")
        response = self._form_page(request, MemoryForm(data), None, title=title, notice=notice, form_url=url, gone=True)
        response.status_code = 410
        return response

    def conflict_page(self, request: HttpRequest, current: MemoryEntry) -> HttpResponse:
        """409: both versions, field by field; what only one side changed is merged, the rest is chosen."""
        row = as_row(search.backend_of(current.agent_name), current)
        form = MemoryForm(request.POST, instance=row)
        form.is_valid()
        opened = version_of(form.cleaned_data)
        fields = compared(form, current)
        context = self.admin_site.each_context(request) | {
            "title": gettext("Somebody changed this memory before you saved"),
            "opts": self.opts,
            "original": row,
            "opened": shown_time(opened, "Y-m-d H:i:s") if opened else "",
            "changed": shown_time(current.updated_at, "Y-m-d H:i:s"),
            "version": current.updated_at.isoformat(),
            "fields": fields,
            "mine": own_text(fields),
            "unchanged": [item for item in fields if not item.changed],
            "preserved_filters": self.get_preserved_filters(request),
        }
        return TemplateResponse(request, "admin/memory_app/memory/conflict.html", context, status=409)

    def given(self, request: HttpRequest, name: str) -> str:
        """What the URL says of a memory to be added, or the list that the operator came from."""
        filters = parse_qs(request.GET.get("_changelist_filters", ""))
        return request.GET[name] if name in request.GET else (filters.get(name) or [""])[0]

    def agent_is_given(self, request: HttpRequest) -> bool:
        """Whether the memory to be added has an agent."""
        return self.given(request, "agentName") in dict(agent_choices())

    def agents_page(self, request: HttpRequest) -> HttpResponse:
        """The first step of adding: whose memory it is."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        query = request.GET.copy()
        agents = []
        for config in MemoryConfig.objects.select_related("agent").order_by("agent__name"):
            query["agentName"] = config.agent.name
            agents.append({"name": config.agent.name, "label": config.agent.label, "url": f"?{query.urlencode()}"})
        context = self.admin_site.each_context(request) | {
            "title": gettext("Add a memory: for which agent?"),
            "opts": self.opts,
            "agents": agents,
            "unknown": self.given(request, "agentName"),
            "preserved_filters": self.get_preserved_filters(request),
        }
        return TemplateResponse(request, "admin/memory_app/memory/agents.html", context)

    def _form_page(self, request: HttpRequest, form: MemoryForm, row: Memory | None, **extra: Any) -> HttpResponse:
        """The page of a form that was posted, with nothing written."""
        if not (self.has_change_permission(request, row) if row else self.has_add_permission(request)):
            raise PermissionDenied
        fieldsets: Any = self.get_fieldsets(request, row)
        readonly = self.get_readonly_fields(request, row)
        page = helpers.AdminForm(form, fieldsets, {}, readonly, model_admin=self)
        name = self.opts.verbose_name
        context = self.admin_site.each_context(request) | {
            "title": (gettext("Change %s") if row else gettext("Add %s")) % name,
            "subtitle": str(row) if row else None,
            "adminform": page,
            "object_id": row.pk if row else None,
            "original": row,
            "is_popup": False,
            "to_field": None,
            "media": self.media + page.media,
            "inline_admin_formsets": [],
            "errors": helpers.AdminErrorList(form, []),
            "preserved_filters": self.get_preserved_filters(request),
        }
        response = self.render_change_form(request, context, add=row is None, change=row is not None, obj=row)
        response.context_data |= extra  # type: ignore[attr-defined]
        return response


def _stand_in(request: HttpRequest, reference: str) -> Memory:
    """The row of a memory for its page, made from the form where it can't be read."""
    with suppress(NetaclawError):
        if (found := by_reference(reference)) is not None:
            return found
    agent_name, _, number = reference.rpartition(":")
    row = Memory(agent_name=agent_name, name=request.POST.get("name", ""), type=request.POST.get("type", ""))
    row.user_id = request.POST.get("initial-user_id", "")
    row.updated_at = version_of(request.POST)  # type: ignore[assignment]
    row.pk = reference
    row.number = number  # type: ignore[attr-defined]
    row.backend = ""  # type: ignore[attr-defined]
    return row
