"""Memory types in the console."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from memory_app import services
from memory_app.admin.base import ErrorsAsMessages
from memory_app.models import MemoryType


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
