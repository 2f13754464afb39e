"""Bulk actions on memories of all stores: confirmed with counts, run agent by agent, told row by row.

What is confirmed is what is done: the confirmation carries each row's reference and version, and rows that were changed
or deleted meanwhile are left alone and told.
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from io import StringIO
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext

from memory_app import services
from memory_app.contracts import MemoryChanges, Scope
from memory_app.exceptions import Conflict, NetaclawError
from memory_app.merged import MAX_SELECTED, MergedRows, chosen_rows
from memory_app.models import Memory, MemoryType

SHOWN = 10
Carried = Mapping[str, Mapping[int, datetime]]  # agent → id → version
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(slots=True)
class Outcome:
    """How many rows were done, and why the others were not."""

    done: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, sentence: str, name: str, problem: str) -> None:
        """One more that wasn't done."""
        self.problems.append(sentence % {"name": name, "problem": problem})


def delete_chosen(model_admin: Any, request: HttpRequest, queryset: Any) -> HttpResponse | None:
    """Deletes the chosen memories."""
    return _confirmed(model_admin, request, queryset, "delete_chosen", _delete, gettext("Delete memories"))


def retype_chosen(model_admin: Any, request: HttpRequest, queryset: Any) -> HttpResponse | None:
    """Gives the chosen memories another type."""
    return _confirmed(model_admin, request, queryset, "retype_chosen", _retype, gettext("Change the type"))


def export_json(model_admin: Any, request: HttpRequest, queryset: Any) -> StreamingHttpResponse | None:
    """The chosen memories as JSON Lines, as import_memories takes them."""
    if _too_many(request, queryset):
        return None
    lines = (json.dumps(_exported(row), ensure_ascii=False) + "\n" for row in chosen_rows(queryset))
    return _download(lines, "application/jsonl", "jsonl")


def export_csv(model_admin: Any, request: HttpRequest, queryset: Any) -> StreamingHttpResponse | None:
    """The chosen memories as CSV for spreadsheets, in which no text can be a formula."""
    if _too_many(request, queryset):
        return None
    return _download(_csv(chosen_rows(queryset)), "text/csv", "csv")


def _confirmed(
    model_admin: Any, request: HttpRequest, queryset: Any, action: str, work: Callable[..., None], title: str
) -> HttpResponse | None:
    """Asks with counts first; with the confirmation runs the work and says what was done and what wasn't."""
    if "confirmed" in request.POST:
        outcome = Outcome()
        work(outcome, _carried(request), request.POST.get("type", ""))
        _tell(request, outcome)
        return HttpResponseRedirect(request.get_full_path())
    rows: list[Any] = list(chosen_rows(queryset))
    context = admin.site.each_context(request) | {
        "title": title,
        "opts": Memory._meta,
        "action": action,
        "rows": rows[:SHOWN],
        "more": max(0, len(rows) - SHOWN),
        "total": len(rows),
        "over": MAX_SELECTED if len(rows) >= MAX_SELECTED else 0,
        "by_agent": Counter(row.agent_name for row in rows).most_common(),
        "by_type": Counter(row.type for row in rows).most_common(),
        "carried": _to_carry(rows),
        "types": MemoryType.available() if action == "retype_chosen" else (),
        "selected": request.POST.getlist("_selected_action"),
    }
    return TemplateResponse(request, "admin/memory_app/memory/bulk.html", context)


def _to_carry(rows: Iterable[Any]) -> str:
    """An agent's name once, however many of its rows there are: a form has its limit."""
    by_agent: dict[str, dict[int, str]] = defaultdict(dict)
    for row in rows:
        by_agent[row.agent_name][row.number] = row.updated_at.isoformat()
    return json.dumps(by_agent, ensure_ascii=False)


def _carried(request: HttpRequest) -> Carried:
    """The rows that were confirmed, with their versions; anything else in the form is nothing."""
    try:
        rows = json.loads(request.POST.get("carried", "{}"))
        return {
            agent: {int(number): datetime.fromisoformat(version) for number, version in versions.items()}
            for agent, versions in rows.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


def _delete(outcome: Outcome, rows: Carried, type_key: str) -> None:
    for agent, versions in rows.items():
        try:
            deleted = services.delete(Scope.all_users(agent), list(versions), versions)
        except NetaclawError as error:
            outcome.add(gettext("Agent %(name)s: %(problem)s"), agent, error.message)
            continue
        outcome.done += deleted
        if left := len(versions) - deleted:
            text = ngettext(
                "%(count)d was changed or deleted meanwhile and left alone",
                "%(count)d were changed or deleted meanwhile and left alone",
                left,
            )
            outcome.add(gettext("Agent %(name)s: %(problem)s"), agent, text % {"count": left})


def _retype(outcome: Outcome, rows: Carried, type_key: str) -> None:
    for agent, number, version in ((agent, *pair) for agent, versions in rows.items() for pair in versions.items()):
        try:
            services.update(Scope.all_users(agent), number, MemoryChanges(type=type_key), version)
            outcome.done += 1
        except Conflict:
            outcome.add(gettext("Memory %(name)s: %(problem)s"), f"{agent}:{number}", gettext("changed meanwhile"))
        except NetaclawError as error:
            outcome.add(gettext("Memory %(name)s: %(problem)s"), f"{agent}:{number}", error.message)


def _tell(request: HttpRequest, outcome: Outcome) -> None:
    """Partial success is a warning; of many problems the first are named."""
    done = ngettext("%(count)d memory done.", "%(count)d memories done.", outcome.done) % {"count": outcome.done}
    messages.add_message(request, messages.WARNING if outcome.problems else messages.SUCCESS, done)
    for problem in outcome.problems[:SHOWN]:
        messages.warning(request, problem)
    if (more := len(outcome.problems) - SHOWN) > 0:
        messages.warning(request, gettext("… and %(count)d more were not done.") % {"count": more})


def _too_many(request: HttpRequest, chosen: Any) -> bool:
    """An export is whole or not at all: a file that was cut would pass for everything."""
    total = chosen.count() if isinstance(chosen, MergedRows) else 0
    if total > MAX_SELECTED:
        text = gettext("%(total)d memories match; at most %(limit)d are exported at once. Narrow the list by a filter.")
        messages.error(request, text % {"total": total, "limit": MAX_SELECTED})
    return total > MAX_SELECTED


def _exported(row: Any) -> dict[str, Any]:
    return {
        "agentName": row.agent_name,
        "userId": row.user_id,
        "type": row.type,
        "name": row.name,
        "content": row.content,
        "description": row.description,
        "metadata": dict(row.metadata),
        "createdAt": row.created_at.isoformat(),
        "updatedAt": row.updated_at.isoformat(),
        "id": row.number,
    }


def _csv(rows: Iterable[Any]) -> Iterator[str]:
    buffer = StringIO()
    writer = csv.writer(buffer)
    buffer.write("\ufeff")
    for number, row in enumerate(rows):
        values = _exported(row)
        if number == 0:
            writer.writerow(values)
        texts = [
            json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
            for value in values.values()
        ]
        writer.writerow([f"'{text}" if text.startswith(FORMULA) else text for text in texts])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _download(lines: Iterable[str], kind: str, ending: str) -> StreamingHttpResponse:
    name = f"memories-{timezone.localdate().isoformat()}.{ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=f"{kind}; charset=utf-8", headers=headers)


delete_chosen.short_description = gettext_lazy("Delete")  # type: ignore[attr-defined]
delete_chosen.allowed_permissions = ("delete",)  # type: ignore[attr-defined]
retype_chosen.short_description = gettext_lazy("Change the type")  # type: ignore[attr-defined]
retype_chosen.allowed_permissions = ("change",)  # type: ignore[attr-defined]
export_json.short_description = gettext_lazy("Export as JSON Lines")  # type: ignore[attr-defined]
export_csv.short_description = gettext_lazy("Export as CSV")  # type: ignore[attr-defined]
