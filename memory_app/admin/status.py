"""System status: how each store, prefetch and the main database do, and which versions are at work."""

import platform
from typing import Any

import django
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from memory_app.figures import reports
from memory_app.missed import missed
from memory_app.models import Memory


def status_address() -> str:
    """The page's address."""
    return reverse("admin:memory_app_memory_status")


def status_view(request: HttpRequest) -> HttpResponse:
    """The page, for whoever may see memories."""
    if not request.user.has_perm("memory_app.view_memory"):
        raise PermissionDenied(_("It takes the permission to view memories."))
    context = admin.site.each_context(request) | {
        "title": _("System status"),
        "opts": Memory._meta,
        "reports": reports(),
        "missed": missed(),
        "database": _database(),
        "versions": _versions(),
    }
    return TemplateResponse(request, "admin/memory_app/memory/status.html", context)


def _database() -> dict[str, Any]:
    """The main database; it answers, or this page would not."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    version = ".".join(map(str, connection.get_database_version()))
    return {
        "name": f"{connection.display_name} {version}",
        "pending": [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan],
    }


def _versions() -> list[tuple[str, str]]:
    return [
        (_("NetaClaw Memory"), str(settings.SPECTACULAR_SETTINGS["VERSION"])),
        ("Django", django.get_version()),
        ("Python", platform.python_version()),
    ]
