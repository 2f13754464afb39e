"""Deleting one memory in the console: what was shown is what is deleted, or nothing."""

from typing import Any

from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from memory_app import search, services
from memory_app.admin.forms import version_of
from memory_app.admin.missing import MissingPages
from memory_app.contracts import Scope
from memory_app.exceptions import Conflict, MemoryNotFound, StoreUnavailable, conflict_sentence
from memory_app.merged import as_row


class MemoryDeleting(MissingPages):
    """The page that asks before a memory is deleted; it carries the version that it shows."""

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        reference = unquote(object_id)
        try:
            return super().delete_view(request, object_id, extra_context)
        except Conflict as conflict:
            return self._asked_again(request, as_row(search.backend_of(conflict.current.agent_name), conflict.current))
        except MemoryNotFound:
            return self.missing_page(request, reference)
        except StoreUnavailable as error:
            return self.closed_page(request, reference, error)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        return [str(item) for item in objs], {gettext("memories"): len(objs)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Raises Conflict, or MemoryNotFound, unless the memory is as the page showed it."""
        scope, version = Scope.all_users(obj.agent_name), version_of(request.POST)
        if version is None or not services.delete(scope, [obj.number], {obj.number: version}):
            raise Conflict(conflict_sentence(), search.one(obj.number, obj.agent_name)[1])

    def _asked_again(self, request: HttpRequest, row: Any) -> HttpResponse:
        context = self.admin_site.each_context(request) | {
            "title": gettext("The memory was changed meanwhile; nothing was deleted"),
            "object": row,
            "object_name": str(self.opts.verbose_name),
            "opts": self.opts,
            "app_label": self.opts.app_label,
            "preserved_filters": self.get_preserved_filters(request),
            "changed": True,
        }
        response = self.render_delete_form(request, context)
        response.status_code = 409
        return response
