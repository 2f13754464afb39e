"""Memory types in the console."""

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import search, services
from memory_app.admin.base import ErrorsAsMessages
from memory_app.admin.icons import icon, swatch
from memory_app.admin.type_form import MemoryTypeForm
from memory_app.admin.type_panel import panel_of
from memory_app.exceptions import NetaclawError, Refused
from memory_app.models import MemoryType

UNREAD = "—"


@admin.register(MemoryType)
class MemoryTypeAdmin(ErrorsAsMessages):
    """Memory types: a built-in one can't be deleted, a key never changes."""

    form = MemoryTypeForm
    list_display = ("key", "name", "icon_shown", "color_shown", "memories", "description", "built_in")
    list_display_links = ("key", "name")
    list_filter = ("is_system",)
    search_fields = ("key", "name", "description")
    search_help_text = _("Key, name and description.")
    fields = ("key", "name", "description", "icon", "color", "metadata_schema")

    # the list

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        changelist.title = str(capfirst(self.opts.verbose_name_plural))
        uses = _uses()
        for item in changelist.result_list:
            item.uses = None if uses is None else uses[item.key]
            item.may_open = request.user.has_perm("memory_app.view_memory")
        return changelist

    @admin.display(description=_("icon"), ordering="icon")
    def icon_shown(self, item: MemoryType) -> str:
        return format_html("{} {}", icon(item.icon), item.icon)

    @admin.display(description=_("colour"), ordering="color")
    def color_shown(self, item: MemoryType) -> str:
        return format_html("{} {}", swatch(item.color), item.color)

    @admin.display(description=_("number of memories"))
    def memories(self, item: Any) -> str:
        if item.uses is None:
            return format_html('<span title="{}">{}</span>', gettext("A store can't be read."), UNREAD)
        if not item.may_open:
            return str(item.uses)
        return format_html('<a href="{}">{}</a>', memories_of(item.key), item.uses)

    @admin.display(description=_("built in"), ordering="is_system")
    def built_in(self, item: MemoryType) -> str:
        if not item.is_system:
            return ""
        text = gettext("Built in: it can't be deleted.")
        return format_html(
            '<span title="{}">{}<span class="visually-hidden">{}</span></span>', text, icon("lock"), text
        )

    # the form

    def get_readonly_fields(self, request: HttpRequest, obj: MemoryType | None = None) -> tuple[str, ...]:
        return ("key",) if obj else ()

    def save_model(self, request: HttpRequest, obj: MemoryType, form: Any, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in form.cleaned_data if name in form.Meta.fields}
        if change:
            services.update_type(obj, given)
        else:
            obj.pk = services.add_types([given])[0].pk

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        item, form = kwargs.get("obj"), context["adminform"].form
        may = self.has_change_permission(request, item) if item else self.has_add_permission(request)
        panel = panel_of(form, item) if may else None
        return super().render_change_form(request, context | {"panel": panel}, *args, **kwargs)

    # deleting

    def has_delete_permission(self, request: HttpRequest, obj: MemoryType | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.is_system)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """The types, or why one of them can't be deleted, with a link to the memories that need it."""
        refusals = [refusal for item in objs if (refusal := _refusal(item))]
        names = [f"{item.name} ({item.key})" for item in objs]
        return names, {str(self.opts.verbose_name_plural): len(names)}, set(), refusals

    def delete_model(self, request: HttpRequest, obj: MemoryType) -> None:
        self.delete_queryset(request, MemoryType.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[MemoryType]) -> None:
        services.delete_types(queryset)


def memories_of(key: str) -> str:
    """The list of a type's memories."""
    return f"{reverse('admin:memory_app_memory_changelist')}?{urlencode({'type': key})}"


def _uses() -> Counter[str] | None:
    """How many memories each type has; None while a store can't be read."""
    uses: Counter[str] = Counter()
    for row in search.cached_stats()[0]:
        if row.count is None:
            return None
        uses.update(row.by_type)
    return uses


def _refusal(item: MemoryType) -> str:
    try:
        services.check_unneeded(item)
    except NetaclawError as error:
        if not isinstance(error, Refused) or item.is_system:
            return error.message
        link = gettext("Show these memories, to give them another type")
        return format_html('{} <a href="{}">{}</a>', error.message, memories_of(item.key), link)
    return ""
