"""The pages of a memory that can't be shown: it is gone, or its store can't be read."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from memory_app.exceptions import NetaclawError


class MissingPages(admin.ModelAdmin):
    """What stands in for a memory's page."""

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        """Django would lead to the console's first page; this says what is missing, and where to look."""
        return self.missing_page(request, unquote(object_id))

    def missing_page(self, request: HttpRequest, reference: str) -> HttpResponse:
        """404, or 410 for what was there when the page was opened."""
        status = 410 if request.method == "POST" else 404
        text = gettext("There is no memory %(reference)s; it may have been deleted.") % {"reference": reference}
        return self._message_page(request, reference, gettext("No such memory"), text, status)

    def closed_page(self, request: HttpRequest, reference: str, error: NetaclawError) -> HttpResponse:
        """503: the store can't be read."""
        response = self._message_page(request, reference, gettext("Store unavailable"), error.message, 503)
        response.headers["Retry-After"] = "10"
        return response

    def _message_page(self, request: HttpRequest, reference: str, title: str, text: str, status: int) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        context = self.admin_site.each_context(request) | {
            "title": title,
            "text": text,
            "reference": reference,
            "unavailable": status == 503,
            "opts": self.opts,
            "preserved_filters": self.get_preserved_filters(request),
        }
        return TemplateResponse(request, "admin/memory_app/memory/missing.html", context, status=status)
