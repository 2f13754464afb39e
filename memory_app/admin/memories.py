"""The memories of all stores in the console: one list, a form that loses no edit, recall preview."""

from typing import Any

from django.contrib import admin
from django.urls import path

from memory_app.admin.editing import MemoryEditing
from memory_app.admin.forget import forget_view
from memory_app.admin.history import MemoryHistory
from memory_app.admin.listing import MemoryListing
from memory_app.admin.preview import preview_view
from memory_app.admin.status import status_view
from memory_app.models import Memory


@admin.register(Memory)
class MemoryAdmin(MemoryListing, MemoryHistory, MemoryEditing):
    """What agents remember, over all stores: searched by substrings, filtered, edited under a version."""

    def get_urls(self) -> list[Any]:
        pages = {"preview": preview_view, "forget": forget_view, "status": status_view}
        ours = [
            path(f"{name}/", self.admin_site.admin_view(view), name=f"memory_app_memory_{name}")
            for name, view in pages.items()
        ]
        return [*ours, *super().get_urls()]
