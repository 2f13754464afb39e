"""Importing JSON Lines in the console: a dry run first, then the same content is written, once.

The content is kept on the server between the two pages (see kept.py), so what was checked is what is written.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memory_app import search
from memory_app.acting import Door, acting_as
from memory_app.admin.base import agent_choices
from memory_app.admin.kept import Kept, new_token
from memory_app.contracts import MAX_USER_ID, clean_key
from memory_app.exceptions import InvalidInput
from memory_app.importing import BATCH, Report, foreseen, read_lines, written
from memory_app.models import Memory, MemoryType

MAX_MEGABYTES = 20
MAX_PASTED = 500_000
SHOWN = 200
AS_IN_FILE = "-"


class ImportForm(forms.Form):
    """Where the lines come from and where they go."""

    required_css_class = "required"

    file = forms.FileField(
        label=_("file"), required=False, widget=forms.ClearableFileInput(attrs={"accept": ".jsonl,.ndjson,.json,.txt"})
    )
    text = forms.CharField(
        label=_("or text"),
        required=False,
        strip=False,
        max_length=MAX_PASTED,
        widget=forms.Textarea(attrs={"rows": 6, "class": "metadata", "spellcheck": "false"}),
        help_text=_('One JSON object a line, such as {"user": "u1", "content": "Drinks green tea."}.'),
    )
    agent = forms.ChoiceField(label=_("agent"))
    user = forms.CharField(
        label=_("user"),
        required=False,
        max_length=MAX_USER_ID,
        help_text=_("Of lines that name none. Empty: shared with all users of the agent."),
    )
    type = forms.ChoiceField(label=_("type"), help_text=_("Of lines that name none."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        agents = [("", "---------"), *agent_choices(), (AS_IN_FILE, _("agents as in the file"))]
        self._choose("agent", agents)
        self.fields["agent"].help_text = _("All lines go to this agent, whatever agent they name.")
        self._choose("type", [(info.key, f"{info.name} ({info.key})") for info in MemoryType.available()])
        text = gettext("JSON Lines in UTF-8, as an export writes them; at most %(limit)d MB.")
        self.fields["file"].help_text = text % {"limit": MAX_MEGABYTES}

    def _choose(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file and file.size > MAX_MEGABYTES * 1_000_000:
            text = gettext("The file is over %(limit)d MB; split it, or use the command import_memories.")
            raise forms.ValidationError(text % {"limit": MAX_MEGABYTES})
        return file

    def clean_user(self) -> str:
        try:
            return clean_key(self.cleaned_data["user"], "user", MAX_USER_ID, required=False)
        except InvalidInput as error:
            raise forms.ValidationError(error.message) from None

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and bool(data.get("file")) == bool((data.get("text") or "").strip()):
            raise forms.ValidationError(gettext("Choose a file or paste text, one of them."))
        return data

    def content(self) -> Iterable[bytes]:
        """What was sent."""
        file = self.cleaned_data["file"]
        return file.chunks() if file else [self.cleaned_data["text"].encode("utf-8", "replace")]

    def wanted(self) -> dict[str, Any]:
        """Where it goes, as JSON can keep it."""
        data = self.cleaned_data
        return {
            "agent": None if data["agent"] == AS_IN_FILE else data["agent"],
            "user": data["user"],
            "type": data["type"],
            "source": str(data["file"].name) if data["file"] else "",
        }


def import_view(request: HttpRequest) -> HttpResponse:
    """The form; what it sends is kept and run dry."""
    _check_permission(request)
    initial = {"agent": request.GET.get("agentName", ""), "type": "user"}
    form = ImportForm(request.POST or None, request.FILES or None, initial=initial)
    if form.is_bound and form.is_valid():
        kept = Kept(int(request.user.pk or 0), new_token())
        kept.write_file(form.content())
        wanted = form.wanted() | {"file": kept.token}
        report = Report()
        for item in foreseen(_lines(kept, wanted)):
            report.add(item)
        kept.write(wanted | {"report": asdict(report), "stage": "checked", "finished": True})
        return _led_to(kept)
    context = {"title": gettext("Import memories"), "form": form}
    return _page(request, "import.html", context)


def import_step_view(request: HttpRequest, token: str) -> HttpResponse:
    """The dry run's report, or the import's; POST writes what was checked, or what a dead store left unwritten."""
    _check_permission(request)
    kept = Kept(int(request.user.pk or 0), token)
    value = kept.read()
    if value is None or "stage" not in value:
        raise Http404(gettext("This import isn't kept any more; send the file again."))
    after = kept.next("import")
    if request.method == "POST" and _may_write(value):
        _write(request, after, value)
        return _led_to(after)
    return _page(request, "import_report.html", _report_context(value, after))


def _may_write(value: dict[str, Any]) -> bool:
    return bool(value["finished"] and (value["stage"] == "checked" or value["report"]["failed"]))


def _write(request: HttpRequest, after: Kept, value: dict[str, Any]) -> None:
    """Once, whoever asks and however often; the report is written after every batch."""
    state = value | {"report": asdict(Report()), "stage": "written", "finished": False}
    if not after.claim(state):
        return
    content = Kept(after.owner, value["file"])
    report = Report()
    with acting_as(Door.IMPORT, request.user.get_username()):
        for number, item in enumerate(written(_lines(content, value)), start=1):
            report.add(item)
            if number % BATCH == 0:
                after.write(state | {"report": asdict(report)})
    after.write(state | {"report": asdict(report), "finished": True})
    search.forget_stats()
    if not report.failed:
        content.remove_file()


def _lines(kept: Kept, wanted: dict[str, Any]) -> Iterator[Any]:
    with kept.file.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        yield from read_lines(file, wanted["agent"], wanted["user"], wanted["type"])


def _report_context(value: dict[str, Any], after: Kept) -> dict[str, Any]:
    report = value["report"]
    problems = sorted(report["problems"])
    checked = value["stage"] == "checked"
    done = after.read() is not None
    return {
        "title": gettext("Import: dry run") if checked else gettext("Import: result"),
        "value": value,
        "report": report,
        "checked": checked,
        "level": _level(value),
        "problems": problems[:SHOWN],
        "more": report["refused"] + report["failed"] - len(problems[:SHOWN]),
        "button": _button(value) if _may_write(value) and not done else "",
        "after": reverse("admin:memory_app_memory_import_step", args=[after.token]) if done else "",
    }


def _level(value: dict[str, Any]) -> str:
    """Green only for an import that is whole."""
    report = value["report"]
    if report["failed"] and not report["created"]:
        return "error"
    return "warning" if report["failed"] or report["refused"] or not value["finished"] else "success"


def _button(value: dict[str, Any]) -> str:
    created, failed = value["report"]["created"], value["report"]["failed"]
    if value["stage"] == "written":
        return ngettext("Retry %(count)d failed line", "Retry %(count)d failed lines", failed) % {"count": failed}
    if not created:
        return ""
    return ngettext("Import %(count)d memory", "Import %(count)d memories", created) % {"count": created}


def _check_permission(request: HttpRequest) -> None:
    if not request.user.has_perm("memory_app.add_memory"):
        raise PermissionDenied


def _led_to(kept: Kept) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("admin:memory_app_memory_import_step", args=[kept.token]))


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> TemplateResponse:
    shared = admin.site.each_context(request) | {"opts": Memory._meta}
    return TemplateResponse(request, f"admin/memory_app/memory/{template}", shared | context)
