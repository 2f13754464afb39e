"""The memories of all stores in the console: one list, a form that loses no edit, recall preview."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http.response import HttpResponseBase
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
        pages: dict[str, tuple[str, Callable[..., HttpResponseBase]]] = {
            "preview/": ("preview", preview_view),
            "forget/": ("forget", forget_view),
            "status/": ("status", status_view),
            "bulk/<str:token>/": ("bulk_result", result_view),
            "import/": ("import", import_view),
            "import/<str:token>/": ("import_step", import_step_view),
        }
        ours = [
            path(route, self.admin_site.admin_view(view), name=f"memory_app_memory_{name}")
            for route, (name, view) in pages.items()
        ]
        return [*ours, *super().get_urls()]
