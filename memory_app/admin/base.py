"""What the console's pages share."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from memory_app import search
from memory_app.exceptions import Conflict, NetaclawError
from memory_app.models import MemoryConfig


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
            if request.method == "POST":
                search.forget_stats()
        except Conflict:
            raise  # has a page of its own
        except NetaclawError as error:
            messages.error(request, error.message)
            return HttpResponseRedirect(request.get_full_path() if request.method == "POST" else reverse("admin:index"))
        return response


def agent_choices() -> list[tuple[str, str]]:
    """The agents to choose from: name, and label with name."""
    agents = MemoryConfig.objects.order_by("agent__name").values_list("agent__name", "agent__label")
    return [(name, f"{label} ({name})" if label else name) for name, label in agents]


def shown_time(time: datetime, pattern: str) -> str:
    """A time in the installation's zone."""
    return date_format(timezone.localtime(time), pattern)
