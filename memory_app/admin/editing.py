"""Adding, editing and deleting a memory in the console; no edit is lost."""

from typing import Any

from django.contrib import messages
from django.contrib.admin import helpers
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import search, services
from memory_app.admin.base import ErrorsAsMessages
from memory_app.admin.conflict import conflicts, merged_data
from memory_app.admin.forms import TEXT, MemoryForm
from memory_app.contracts import MemoryChanges, MemoryDraft, MemoryEntry, Outcome, Scope
from memory_app.exceptions import Conflict
from memory_app.merged import as_row, by_reference, reference_of
from memory_app.models import Memory
from memory_app.tools import title_of


class MemoryEditing(ErrorsAsMessages):
    """The pages of one memory."""

    form = MemoryForm

    def get_fieldsets(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        if obj is None:
            return [(None, {"fields": ("agent_name", "user_id", *TEXT)})]
        fixed = ("agent_name", "user", "store", "created", "updated")
        if not self.has_change_permission(request, obj):
            return [(None, {"fields": (*TEXT, *fixed)})]
        return [(None, {"fields": (*TEXT, "version")}), (_("Kept by the store"), {"fields": fixed})]

    def get_readonly_fields(self, request: HttpRequest, obj: Memory | None = None) -> tuple[str, ...]:
        return ("agent_name", "user", "store", "created", "updated") if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        given = {name: request.GET.get(name, "") for name in ("agentName", "userId", "type")}
        return {"agent_name": given["agentName"], "user_id": given["userId"], "type": given["type"]}

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Memory | None:
        return by_reference(object_id)

    # saving

    def changeform_view(self, request: HttpRequest, object_id: str | None = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().changeform_view(request, object_id, *args, **kwargs)
        except Conflict as conflict:
            return self._conflict_page(request, conflict.current)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            self._update(request, obj, form)
        else:
            self._add(request, obj, form.cleaned_data)

    def _update(self, request: HttpRequest, obj: Any, form: MemoryForm) -> None:
        names = form.changed_fields()
        request.nothing_changed = not names  # type: ignore[attr-defined]
        if names:
            changes = MemoryChanges(**{name: form.cleaned_data[name] for name in names})
            services.update(Scope.all_users(obj.agent_name), obj.number, changes, form.read_version())

    def _add(self, request: HttpRequest, obj: Any, data: dict[str, Any]) -> None:
        values = {name: data[name] for name in ("agent_name", "user_id", *TEXT)}
        values["name"] = values["name"] or title_of(values["content"])
        result = services.save(MemoryDraft(**values))
        obj.pk, obj.name = reference_of(result.memory), result.memory.name
        request.duplicate = result.outcome is Outcome.DUPLICATE  # type: ignore[attr-defined]

    def message_user(
        self, request: HttpRequest, message: Any, level: Any = messages.INFO, *args: Any, **kwargs: Any
    ) -> None:
        """Says what really happened: nothing was changed, or the same memory was there already."""
        if getattr(request, "nothing_changed", False):
            level, message = messages.INFO, gettext("No change: nothing was written.")
        elif getattr(request, "duplicate", False):
            level, message = messages.WARNING, gettext("The same memory is there already; no second one was made.")
        super().message_user(request, message, level, *args, **kwargs)

    def _conflict_page(self, request: HttpRequest, current: MemoryEntry) -> HttpResponse:
        """The form once more, on the current version; what only one side changed is merged, the rest shown."""
        backend = search.backend_of(current.agent_name)
        row = as_row(backend, current)
        sent = MemoryForm(request.POST, instance=as_row(backend, current))
        sent.is_valid()
        form = MemoryForm(merged_data(request.POST, sent.changed_fields(), current), instance=row)
        fieldsets, readonly = self.get_fieldsets(request, row), self.get_readonly_fields(request, row)
        page = helpers.AdminForm(form, list(fieldsets), {}, readonly, model_admin=self)
        context = self.admin_site.each_context(request) | {
            "title": gettext("Somebody changed this memory before you saved"),
            "adminform": page,
            "object_id": row.pk,
            "original": row,
            "is_popup": False,
            "to_field": None,
            "media": self.media + page.media,
            "inline_admin_formsets": [],
            "errors": [],
            "conflicts": conflicts(request.POST, sent.changed_fields(), current),
        }
        response = self.render_change_form(request, context, add=False, change=True, obj=row)
        response.status_code = 409
        return response

    # deleting

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        return [str(item) for item in objs], {gettext("memories"): len(objs)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        services.delete(Scope.all_users(obj.agent_name), [obj.number])
