"""Adding and editing a memory in the console; whatever happens, the operator's text comes back."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import services
from memory_app.admin.base import shown_time
from memory_app.admin.deleting import MemoryDeleting
from memory_app.admin.forms import TEXT, MemoryForm
from memory_app.admin.history import who
from memory_app.admin.metadata import shown_metadata
from memory_app.admin.missing import last_change_of
from memory_app.admin.sign_in import kept_over_sign_in
from memory_app.admin.unsaved import UnsavedPages
from memory_app.contracts import MemoryChanges, MemoryDraft, MemoryEntry, Outcome, Scope
from memory_app.exceptions import Conflict, MemoryNotFound, NetaclawError, StoreUnavailable
from memory_app.merged import by_reference, reference_of
from memory_app.models import Memory

FORM = ("name", "content", "description", "type")
FACTS = ("whose", "reference", "place", "made", "changed")
GIVEN = ("agentName", "userId", "type")


class Twin(Exception):
    """The same memory is there already; nothing was written."""

    def __init__(self, memory: MemoryEntry) -> None:
        super().__init__(memory.name)
        self.memory = memory


class MemoryEditing(UnsavedPages, MemoryDeleting):
    """The pages of one memory."""

    form = MemoryForm

    def get_urls(self) -> list[Any]:
        """The form's pages keep what is posted to them when the session has ended."""
        urls = super().get_urls()
        for url in urls:
            if url.name in ("memory_app_memory_add", "memory_app_memory_change"):
                url.callback = kept_over_sign_in(self.admin_site, url.callback)
        return urls

    def get_fieldsets(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        if obj is None:
            fields: tuple[str, ...] = (*FORM, "user_id", "metadata", "agent_name")
            facts: tuple[str, ...] = ("whose",)
        elif self.has_change_permission(request, obj):
            fields, facts = (*FORM, "movable_owner", "metadata", "version"), FACTS
        else:
            fields, facts = ("name", "text", "description", "type", "owner", "data"), FACTS
        return [(None, {"fields": fields}), (_("Kept by the store") if obj else None, {"fields": facts})]

    def get_readonly_fields(self, request: HttpRequest, obj: Memory | None = None) -> tuple[str, ...]:
        return ("owner", "movable_owner", *FACTS, "text", "data") if obj else ("whose",)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        given = {name: self.given(request, name) for name in GIVEN}
        return {"agent_name": given["agentName"], "user_id": given["userId"], "type": given["type"]}

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Memory | None:
        return by_reference(object_id)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        match = request.resolver_match
        if request.method == "POST" and match and match.url_name == "memory_app_memory_change":
            return self.gone_page(request, unquote(object_id))
        return super()._get_obj_does_not_exist_redirect(request, opts, object_id)

    # saving

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        reference = unquote(object_id) if object_id else ""
        try:
            if request.method == "POST" and "_show" in request.POST:
                return self.shown_again(request, self.get_object(request, reference), reference)
            if not reference and request.method != "POST" and not self.agent_is_given(request):
                return self.agents_page(request)
            return super().changeform_view(request, object_id, form_url, extra_context)
        except Twin as twin:
            return self.twin_page(request, twin.memory)
        except Conflict as conflict:
            return self.conflict_page(request, conflict.current)
        except MemoryNotFound:
            return self.gone_page(request, reference)
        except StoreUnavailable as error:
            return self.unavailable_page(request, reference, error)
        except NetaclawError as error:
            return self.refused_page(request, reference, error)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            self._update(request, obj, form)
        else:
            self._add(obj, form.cleaned_data)

    def _update(self, request: HttpRequest, obj: Any, form: MemoryForm) -> None:
        names = form.changed_fields()
        request.nothing_changed = not names  # type: ignore[attr-defined]
        if names:
            changes = MemoryChanges(**{name: form.cleaned_data[name] for name in names})
            saved = services.update(Scope.all_users(obj.agent_name), obj.number, changes, form.read_version())
            obj.name = saved.name

    def _add(self, obj: Any, data: dict[str, Any]) -> None:
        result = services.save(MemoryDraft(**{name: data[name] for name in ("agent_name", "user_id", *TEXT)}))
        if result.outcome is Outcome.DUPLICATE:
            raise Twin(result.memory)
        obj.pk, obj.name = reference_of(result.memory), result.memory.name

    def message_user(
        self, request: HttpRequest, message: Any, level: Any = messages.INFO, *args: Any, **kwargs: Any
    ) -> None:
        """Says what really happened: nothing was changed."""
        if getattr(request, "nothing_changed", False):
            level, message = messages.INFO, gettext("No change: nothing was written.")
        super().message_user(request, message, level, *args, **kwargs)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Another one is added for the same agent and user."""
        if "_addanother" not in request.POST:
            return super().response_add(request, obj, post_url_continue)
        self.message_user(request, gettext("The memory “%(name)s” was added.") % {"name": obj.name}, messages.SUCCESS)
        names = zip(GIVEN, ("agent_name", "user_id", "type"), strict=True)
        given = {name: request.POST.get(field, "") for name, field in names}
        kept = {"_changelist_filters": request.GET.get("_changelist_filters", "")}
        return HttpResponseRedirect(f"{request.path}?{urlencode(given | {k: v for k, v in kept.items() if v})}")

    # what is shown and not edited

    @admin.display(description=_("agent"))
    def whose(self, row: Any) -> str:
        if row.pk or not row.agent_name:
            return row.agent_name or "—"
        url = reverse("admin:memory_app_memory_add")
        return format_html('{} <a href="{}?agentName=">{}</a>', row.agent_name, url, gettext("Choose another"))

    @admin.display(description=_("reference"))
    def reference(self, row: Any) -> str:
        return format_html("<code>{}</code>", row.pk)

    @admin.display(description=_("user"))
    def owner(self, row: Any) -> str:
        return row.user_id or gettext("all users of the agent (shared)")

    @admin.display(description=_("user"))
    def movable_owner(self, row: Any) -> str:
        button = '{} <button type="submit" form="move" class="as-link">{}</button>'
        return format_html(button, self.owner(row), gettext("Move to another user or agent"))

    @admin.display(description=_("store"))
    def place(self, row: Any) -> str:
        return {"sqlite": "SQLite", "mysql": "MySQL"}.get(row.backend, "—")

    @admin.display(description=_("created"))
    def made(self, row: Any) -> str:
        return shown_time(row.created_at, "Y-m-d H:i:s T") if row.created_at else "—"

    @admin.display(description=_("updated"))
    def changed(self, row: Any) -> str:
        if not row.updated_at:
            return "—"
        change = last_change_of(row.pk)
        by = who(change) if change else ""
        return " · ".join(filter(None, [shown_time(row.updated_at, "Y-m-d H:i:s T"), by]))

    @admin.display(description=_("content"))
    def text(self, row: Any) -> str:
        return format_html('<pre class="memory-text" dir="auto">{}</pre>', row.content)

    @admin.display(description=_("metadata"))
    def data(self, row: Any) -> str:
        return format_html('<pre class="memory-text">{}</pre>', shown_metadata(row.metadata)) if row.metadata else "—"
