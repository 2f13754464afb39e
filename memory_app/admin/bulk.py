"""Bulk actions on memories of all stores: asked with counts, then run and told row by row (see bulk_result.py).

What is confirmed is what is done: the confirmation carries each row's reference and version, and rows that were changed
or deleted meanwhile are left alone and told. When all that match were chosen, it also carries their number, and asks
again once the list matches another.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy

from memory_app.admin.bulk_forms import QUESTIONS, Question
from memory_app.admin.bulk_result import Run, start
from memory_app.admin.chosen import Chosen, LeftOut, chosen_of, read_chosen
from memory_app.admin.exporting import export_csv, export_json
from memory_app.admin.kept import TOKEN, new_token
from memory_app.admin.type_tags import looks, stylesheet_url, tag
from memory_app.bulk import Versions
from memory_app.contracts import MemoryEntry
from memory_app.merged import MAX_SELECTED, MergedRows, reference_of
from memory_app.models import Memory

SHOWN = 10


def delete_chosen(model_admin: Any, request: HttpRequest, queryset: Any) -> HttpResponse:
    """Deletes the chosen memories."""
    return _asked("delete", request, queryset)


def retype_chosen(model_admin: Any, request: HttpRequest, queryset: Any) -> HttpResponse:
    """Gives the chosen memories another type."""
    return _asked("retype", request, queryset)


def move_chosen(model_admin: Any, request: HttpRequest, queryset: Any) -> HttpResponse:
    """Gives the chosen memories another user, another agent, or both."""
    return _asked("move", request, queryset)


def _asked(kind: str, request: HttpRequest, rows: Any) -> HttpResponse:
    """The question, and once more when it isn't answered; with the answer, the work."""
    if "confirmed" not in request.POST:
        chosen = chosen_of(rows)
        across = isinstance(rows, MergedRows)
        notice = _moved(request.POST.get("shown_count"), chosen.total) if across else ""
        return _question(kind, request, chosen, across=across, notice=notice)
    carried = _carried(request)
    if not carried:
        messages.error(request, gettext("Nothing was done: the confirmation names no memory. Choose them again."))
        return HttpResponseRedirect(request.get_full_path())
    across = request.POST.get("across") == "1"
    form = QUESTIONS[kind](request.POST, total=sum(map(len, carried.values())))
    notice = _moved(request.POST.get("shown_count"), rows.count()) if across else ""
    if notice or not form.is_valid():
        chosen = chosen_of(rows) if across else read_chosen(list(_references(carried)))
        return _question(kind, request, chosen, across=across, notice=notice)
    run = Run(form.plan(), carried, _left_out(request), back=request.get_full_path())
    token = request.POST.get("token", "")
    return start(request, token if TOKEN.fullmatch(token) else new_token(), run)


def _moved(shown: str | None, now: int) -> str:
    """What to say when the list counts another number than the operator saw."""
    if shown is None or not shown.isascii() or not shown.isdigit() or int(shown) == now:
        return ""
    text = gettext("When you chose, the list matched %(before)d memories; the list now matches %(now)d. Look again.")
    return text % {"before": int(shown), "now": now}


def _question(kind: str, request: HttpRequest, chosen: Chosen, *, across: bool, notice: str) -> HttpResponse:
    entries, types = chosen.entries, looks()
    by_type = Counter(entry.type for entry in entries)
    context = admin.site.each_context(request) | {
        "title": {
            "delete": gettext("Delete memories"),
            "retype": gettext("Change the type"),
            "move": gettext("Move memories"),
        }[kind],
        "opts": Memory._meta,
        "kind": kind,
        "action": f"{kind}_chosen",
        "form": _form(kind, request, len(entries), again=bool(notice)),
        "rows": [(reference_of(entry), entry) for entry in entries[:SHOWN]],
        "more": max(0, len(entries) - SHOWN),
        "total": len(entries),
        "over": MAX_SELECTED if chosen.total > len(entries) >= MAX_SELECTED else 0,
        "by_agent": Counter(entry.agent_name for entry in entries).most_common(),
        "by_type": [(tag(key, types.get(key)), number) for key, number in by_type.most_common()],
        "stylesheet": stylesheet_url(types),
        "left_out": chosen.left_out,
        "at_least": any(item.is_store for item in chosen.left_out),
        "notice": notice,
        "across": across,
        "shown_count": chosen.total,
        "carried": _to_carry(entries),
        "carried_left_out": json.dumps([[item.name, item.reason, item.is_store] for item in chosen.left_out]),
        "token": new_token(),
    }
    return TemplateResponse(request, "admin/memory_app/memory/bulk.html", context)


def _form(kind: str, request: HttpRequest, total: int, *, again: bool) -> Question:
    """With what was answered already; a number that was typed for another number isn't."""
    if "confirmed" in request.POST and not again:
        return QUESTIONS[kind](request.POST, total=total)
    return QUESTIONS[kind](initial={name: request.POST[name] for name in request.POST if name != "typed"}, total=total)


def _to_carry(entries: Iterable[MemoryEntry]) -> str:
    """An agent's name once, however many of its rows there are: a form has its limit."""
    by_agent: dict[str, dict[int, str]] = defaultdict(dict)
    for entry in entries:
        by_agent[entry.agent_name][entry.id] = entry.updated_at.isoformat()
    return json.dumps(by_agent, ensure_ascii=False)


def _carried(request: HttpRequest) -> Versions:
    """The rows that were confirmed, with their versions; anything else in the form is nothing."""
    try:
        rows = json.loads(request.POST.get("carried", "{}"))
        return {
            agent: {int(number): datetime.fromisoformat(version) for number, version in versions.items()}
            for agent, versions in rows.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _references(carried: Versions) -> Iterable[str]:
    return (f"{agent}:{number}" for agent, versions in carried.items() for number in versions)


def _left_out(request: HttpRequest) -> Sequence[LeftOut]:
    """What the question left out, to be told with the result; anything else in the form is nothing."""
    try:
        items = json.loads(request.POST.get("carried_left_out", "[]"))
        return [LeftOut(str(name), str(reason), is_store=bool(is_store)) for name, reason, is_store in items]
    except (ValueError, TypeError, RecursionError):
        return []


retype_chosen.short_description = gettext_lazy("Change the type")  # type: ignore[attr-defined]
retype_chosen.allowed_permissions = ("change",)  # type: ignore[attr-defined]
move_chosen.short_description = gettext_lazy("Move to a user or agent")  # type: ignore[attr-defined]
move_chosen.allowed_permissions = ("change",)  # type: ignore[attr-defined]
delete_chosen.short_description = gettext_lazy("Delete")  # type: ignore[attr-defined]
delete_chosen.allowed_permissions = ("delete",)  # type: ignore[attr-defined]

ACTIONS = (retype_chosen, move_chosen, export_json, export_csv, delete_chosen)
