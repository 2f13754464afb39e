"""The operators' pages for memories and their types in Django's admin."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import services
from memory_app.exceptions import NetaclawError
from memory_app.filters import filtered
from memory_app.merged import ROWS, by_reference
from memory_app.models import ApiToken, Memory, MemoryConfig, MemoryType, available_backends
from memory_app.paths import Place
from memory_app.tools import title_of
from netaclaw import tokens

DEFAULT_LIFE = timedelta(days=90)


class ErrorsAsMessages(admin.ModelAdmin):
    """Pages on which a refusal, or a store that can't be used, is a sentence at the top and not a server error."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return self._told(request, super().changelist_view, extra_context)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._told(request, super().changeform_view, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._told(request, super().delete_view, *args, **kwargs)

    def _told(self, request: HttpRequest, view: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response: HttpResponse = view(request, *args, **kwargs)
        except NetaclawError as error:
            messages.error(request, error.message)
            return HttpResponseRedirect(request.get_full_path() if request.method == "POST" else reverse("admin:index"))
        return response


class AgentFilter(admin.SimpleListFilter):
    """Memories of one agent."""

    title = _("agent")
    parameter_name = "agentName"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        agents = MemoryConfig.objects.order_by("agent__name").values_list("agent__name", "agent__label")
        return [(name, f"{label} ({name})" if label else name) for name, label in agents]

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


def shown_time(time: datetime, pattern: str) -> str:
    """A time in the installation's zone."""
    return date_format(timezone.localtime(time), pattern)


class MemoryList(ChangeList):
    """Rows of all stores, each linked by {agent, id}."""

    def url_for_result(self, result: Any) -> str:
        return f"{quote(result.reference)}/change/"


@admin.register(Memory)
class MemoryAdmin(ErrorsAsMessages):
    """What agents remember, over all stores: searched by substrings, filtered by agent and type."""

    list_display = ("id", "title", "tag", "agent_name", "user", "store", "description", "updated")
    list_display_links = ("title",)
    list_filter = (AgentFilter, TypeFilter)
    list_per_page = ROWS
    search_fields = ("name", "content", "description")
    search_help_text = _("Title, content and description; several words must all occur.")
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ("-updated_at",)
    fields = (
        "reference",
        "agent_name",
        "user",
        "type",
        "name",
        "content",
        "description",
        "metadata",
        "created",
        "updated",
    )
    readonly_fields = ("reference", "user", "created", "updated")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        shown = getattr(response, "context_data", None) or {}
        for label in shown["cl"].queryset.unavailable if "cl" in shown else ():
            text = gettext("The memory store %(store)s can't be read; its memories are missing from this list.")
            messages.warning(request, text % {"store": label})
        return response

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return MemoryList

    def get_queryset(self, request: HttpRequest) -> Any:
        return filtered({name: request.GET.get(name) for name in ("agentName", "type")})

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return queryset.filter(keyword=search_term[:1_000]), False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Memory | None:
        return by_reference(object_id)

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

    @admin.display(description=_("reference"))
    def reference(self, row: Any) -> str:
        return row.reference

    @admin.display(description=_("created"))
    def created(self, row: Any) -> str:
        return shown_time(row.created_at, "Y-m-d H:i:s")

    @admin.display(description=_("updated"), ordering="updated_at")
    def updated(self, row: Any) -> str:
        return shown_time(row.updated_at, "Y-m-d H:i")


@admin.register(MemoryType)
class MemoryTypeAdmin(ErrorsAsMessages):
    """Memory types: a built-in one can't be deleted, a key never changes."""

    list_display = ("key", "name", "description", "built_in")
    fields = ("key", "name", "description", "icon", "color", "metadata_schema")
    search_fields = ("key", "name", "description")

    @admin.display(description=_("built in"))
    def built_in(self, item: MemoryType) -> str:
        return "🔒" if item.is_system else ""

    def get_readonly_fields(self, request: HttpRequest, obj: MemoryType | None = None) -> tuple[str, ...]:
        return ("key",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: MemoryType | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.is_system)

    def delete_model(self, request: HttpRequest, obj: MemoryType) -> None:
        self.delete_queryset(request, MemoryType.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[MemoryType]) -> None:
        services.delete_types(queryset)


@admin.register(ApiToken)
class ApiTokenAdmin(ErrorsAsMessages):
    """Tokens for the API: made here and shown once, or made by signing in there; deleting one revokes it."""

    list_display = ("name", "user", "created", "expires", "last_used")
    list_select_related = ("user",)
    fields = ("name", "user", "expires")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"user": request.user.pk, "expires": timezone.now() + DEFAULT_LIFE}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        issued = tokens.issue(obj.user, obj.name, obj.expires - timezone.now())
        obj.pk = issued.row.pk
        messages.warning(request, gettext("The token, shown only now: %(token)s") % {"token": issued.token})


class MemoryConfigForm(forms.ModelForm):
    """The memory section; it is saved with a new agent even when every field keeps its default."""

    class Meta:
        model = MemoryConfig
        fields = ("enabled", "backend", "prefetch_limit", "sqlite_path", "database")

    wanted_place: Place | None = None

    def has_changed(self) -> bool:
        return self.instance.pk is None or super().has_changed()

    def save(self, commit: bool = True) -> MemoryConfig:
        """Keeps the store as it is: for another one the memories move, which is confirmed on a page of its own."""
        stored = MemoryConfig.objects.filter(pk=self.instance.pk).first()
        if stored and stored.place.normal() != self.instance.place.normal():
            self.wanted_place = self.instance.place
            for name in ("backend", "database", "sqlite_path"):
                setattr(self.instance, name, getattr(stored, name))
        return super().save(commit)


class MemoryConfigInline(admin.StackedInline):
    """The memory section of an agent's form: switch, backend, memories per turn, and the file in its advanced part."""

    model = MemoryConfig
    form = MemoryConfigForm
    can_delete = False
    min_num = max_num = 1
    fieldsets = (
        (None, {"fields": ("enabled", "backend", "prefetch_limit")}),
        (_("Advanced"), {"classes": ("collapse",), "fields": ("sqlite_path", "database")}),
    )

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offers backend `mysql` only where there is a MySQL main database."""
        if db_field.name == "backend":
            kwargs["choices"] = [pair for pair in db_field.choices if pair[0] in available_backends()]
        return super().formfield_for_choice_field(db_field, request, **kwargs)
