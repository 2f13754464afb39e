"""The memories of all stores in the console: one list, a form that loses no edit, recall preview."""

from typing import Any

from django.contrib import admin
from django.urls import path

from memory_app.admin.bulk_result import result_view
from memory_app.admin.editing import MemoryEditing
from memory_app.admin.forget import forget_view
from memory_app.admin.history import MemoryHistory
from memory_app.admin.importing_view import import_step_view, import_view
from memory_app.admin.listing import MemoryListing
from memory_app.admin.preview import preview_view
from memory_app.admin.status import status_view
from memory_app.models import Memory


@admin.register(Memory)
class MemoryAdmin(MemoryListing, MemoryHistory, MemoryEditing):
    """What agents remember, over all stores: searched by substrings, filtered, edited under a version."""

    def get_urls(self) -> list[Any]:
        pages = {
            "preview": preview_view,
            "forget": forget_view,
            "status": status_view,
            "import": import_view,
        }
        steps = {"bulk_result": ("bulk", result_view), "import_step": ("import", import_step_view)}
        view = self.admin_site.admin_view
        return [
            *(path(f"{name}/", view(page), name=f"memory_app_memory_{name}") for name, page in pages.items()),
            *(
                path(f"{place}/<str:token>/", view(page), name=f"memory_app_memory_{name}")
                for name, (place, page) in steps.items()
            ),
            *super().get_urls(),
        ]
