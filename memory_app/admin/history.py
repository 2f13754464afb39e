"""A memory's history: its versions, any two of them compared, and any of them restored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import history, search
from memory_app.admin.base import ErrorsAsMessages
from memory_app.admin.differences import marked
from memory_app.admin.metadata import shown_metadata
from memory_app.contracts import MemoryEntry
from memory_app.exceptions import Conflict, InvalidInput, MemoryNotFound, NetaclawError, UnknownAgent
from memory_app.history import MemoryState, Version
from memory_app.models import Memory
from memory_app.restoring import restore

PER_PAGE = 50
LABELS: Mapping[str, Any] = {
    "type": _("type"),
    "name": _("title"),
    "content": _("content"),
    "description": _("description"),
    "metadata": _("metadata"),
    "user_id": _("user"),
}


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field of two states: what it was, what it is, and the second with what came and went."""

    label: str
    one: str
    two: str
    marked: SafeString


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose history is shown: a memory that is there, or was."""

    reference: str
    agent_name: str
    memory_id: int
    current: MemoryEntry | None

    @property
    def versions(self) -> list[Version]:
        """Its known states, the newest first."""
        return history.versions(self.agent_name, self.memory_id, self.current)

    def version(self, number: int) -> Version:
        """One state; raises Http404 for a number that it doesn't have."""
        found = next((version for version in self.versions if version.number == number), None)
        if found is None:
            raise Http404(gettext("This memory has no version %(number)d.") % {"number": number})
        return found


class MemoryHistory(ErrorsAsMessages):
    """The pages of a memory's history. Django's own log of changes isn't kept for memories: this is more."""

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.restore_view)
        name = "memory_app_memory_restore"
        return [path("<path:object_id>/history/<int:number>/restore/", view, name=name), *super().get_urls()]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        return self._told(request, self._history, object_id)

    def _history(self, request: HttpRequest, object_id: str) -> HttpResponse:
        subject = self._subject(request, object_id)
        versions = subject.versions
        if not versions:
            raise Http404(gettext("Nothing is known of this memory."))
        shown = Paginator(versions, PER_PAGE).get_page(request.GET.get("p"))
        context = self._context(request, subject, gettext("History")) | {
            "page": shown,
            "compared": _compared(subject, request.GET.get("a"), request.GET.get("b")),
            "a": request.GET.get("a") or (str(shown[1].number) if len(shown) > 1 else ""),
            "b": request.GET.get("b") or str(shown[0].number),
        }
        return TemplateResponse(request, "admin/memory_app/memory/history.html", context)

    def restore_view(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        """Asks with the difference first; restores on the version that was shown with the question."""
        return self._told(request, self._restore, object_id, number)

    def _restore(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        subject = self._subject(request, object_id)
        if not (self.has_change_permission(request) if subject.current else self.has_add_permission(request)):
            raise PermissionDenied
        version = subject.version(number)
        if version.undo is None or version.state is None:
            raise Http404(gettext("There is nothing to restore."))
        problem = ""
        if request.method == "POST":
            try:
                return self._restored(request, version)
            except Conflict:
                problem = gettext("Somebody changed the memory meanwhile; nothing was restored. Look again.")
            except NetaclawError as error:
                problem = error.message
            subject = self._subject(request, object_id)
        context = self._context(request, subject, gettext("Restore version %(number)d") % {"number": number}) | {
            "version": version,
            "differences": differences(MemoryState.of(subject.current) if subject.current else None, version.state),
            "problem": problem,
            "read": subject.current.updated_at.isoformat() if subject.current else "",
        }
        return TemplateResponse(
            request, "admin/memory_app/memory/restore.html", context, status=409 if problem else None
        )

    def _restored(self, request: HttpRequest, version: Version) -> HttpResponse:
        assert version.undo is not None
        memory = restore(version.undo, version.number, _read(request.POST.get("read")))
        text = gettext("Version %(number)d was restored, as a change of its own.") % {"number": version.number}
        messages.success(request, text)
        reference = quote(f"{memory.agent_name}:{memory.id}")
        return HttpResponseRedirect(reverse("admin:memory_app_memory_history", args=[reference]))

    def _subject(self, request: HttpRequest, object_id: str) -> Subject:
        if not self.has_view_permission(request):
            raise PermissionDenied
        reference = unquote(object_id)
        agent_name, _separator, number = reference.rpartition(":")
        digits = number.removeprefix("-")
        if not agent_name or not digits.isascii() or not digits.isdigit() or len(digits) > 18:
            raise Http404(gettext("A memory is addressed as agent:id."))
        return Subject(reference, agent_name, int(number), current_memory(agent_name, int(number)))

    def _context(self, request: HttpRequest, subject: Subject, title: str) -> dict[str, Any]:
        return self.admin_site.each_context(request) | {
            "title": title,
            "opts": Memory._meta,
            "subject": subject,
            "may_restore": self.has_change_permission(request) and self.has_add_permission(request),
        }

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return None

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        return None


def _read(text: str | None) -> datetime | None:
    """The version that the question showed; None where the memory was gone."""
    if text == "":
        return None
    try:
        return datetime.fromisoformat(text or "").astimezone(UTC)
    except ValueError:
        raise InvalidInput(gettext("The page lost its version; open the memory again.")) from None


def current_memory(agent_name: str, memory_id: int) -> MemoryEntry | None:
    """The memory as it is; None when it is gone."""
    try:
        return search.one(memory_id, agent_name)[1]
    except (MemoryNotFound, UnknownAgent):
        return None


def _compared(subject: Subject, a: str | None, b: str | None) -> list[FieldDifference] | None:
    """The differences of two versions; None when no two are named."""
    if not (a and b and a.isdigit() and b.isdigit()):
        return None
    return differences(subject.version(int(a)).state, subject.version(int(b)).state)


def differences(one: MemoryState | None, two: MemoryState | None) -> list[FieldDifference]:
    """The fields in which two states differ; a memory that isn't there has nothing in any."""
    found = []
    for name, label in LABELS.items():
        before, after = _text(one, name), _text(two, name)
        if before != after:
            found.append(FieldDifference(str(label), before, after, marked(before, after)))
    return found


def _text(state: MemoryState | None, name: str) -> str:
    if state is None:
        return ""
    if name == "metadata":
        return shown_metadata(dict(state.metadata))
    if name == "user_id":
        return state.user_id or gettext("all users (shared)")
    return str(getattr(state, name))


def who(change: Any) -> str:
    """Who made a change, and through which door."""
    return " · ".join(filter(None, [change.actor, change.door_label]))
