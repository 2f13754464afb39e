"""What a bulk action did: run once under its confirmation's token, kept for a day, shown as often as wanted.

The result is written after every batch, so that a run that was cut off still says how far it came.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from memory_app import bulk, registry, search
from memory_app.admin.bulk_forms import QUESTIONS, Plan, work_of
from memory_app.admin.chosen import LeftOut
from memory_app.admin.kept import Kept
from memory_app.bulk import Fate, Told, Versions
from memory_app.exceptions import NetaclawError
from memory_app.models import Memory

SHOWN = 200


@dataclass(frozen=True, slots=True)
class Run:
    """What was confirmed: the work, the rows with their versions, what was left out, and where to return to."""

    plan: Plan
    rows: Versions
    left_out: Sequence[LeftOut]
    back: str


def start(request: HttpRequest, token: str, run: Run) -> HttpResponseRedirect:
    """Runs what was confirmed, unless it ran already under this token, and leads to the result."""
    _check_permission(request, run.plan)
    kept = Kept(int(request.user.pk or 0), token)
    result = _empty(run)
    if kept.claim(result):
        for told in bulk.run(work_of(run.plan), run.rows):
            _add(result, told)
            kept.write(result)
        kept.write(result | {"finished": True})
        search.forget_stats()
    return HttpResponseRedirect(reverse("admin:memory_app_memory_bulk_result", args=[token]))


def result_view(request: HttpRequest, token: str) -> HttpResponse:
    """The result; POST tries the failed rows again, once."""
    kept = Kept(int(request.user.pk or 0), token)
    result = kept.read()
    if result is None:
        raise Http404(gettext("This result isn't kept any more; the memories are in the list."))
    _check_permission(request, result["plan"])
    again = kept.next("retry")
    if request.method == "POST" and result["finished"] and result["failed"]:
        return start(request, again.token, Run(result["plan"], _versions(result["failed"]), (), result["back"]))
    retried = reverse("admin:memory_app_memory_bulk_result", args=[again.token]) if again.read() is not None else ""
    return TemplateResponse(request, "admin/memory_app/memory/bulk_result.html", _context(request, result, retried))


def _check_permission(request: HttpRequest, plan: Plan) -> None:
    if not request.user.has_perm(f"memory_app.{QUESTIONS[plan['kind']].permission}_memory"):
        raise PermissionDenied


def _empty(run: Run) -> dict[str, Any]:
    return {
        "plan": run.plan,
        "total": sum(map(len, run.rows.values())),
        "agents": {agent: {"store": _store_of(agent)} | {fate.value: 0 for fate in Fate} for agent in run.rows},
        "not_done": [],
        "moved": [],
        "failed": {},
        "versions": _texts(run.rows),
        "left_out": [[item.name, item.reason, item.is_store] for item in run.left_out],
        "back": run.back,
        "finished": False,
    }


def _store_of(agent_name: str) -> str:
    try:
        return registry.provider_for(agent_name).label
    except NetaclawError:
        return ""


def _add(result: dict[str, Any], told: Iterable[Told]) -> None:
    for item in told:
        result["agents"][item.agent_name][item.fate.value] += 1
        reference = f"{item.agent_name}:{item.id}"
        version = result["versions"][item.agent_name].pop(str(item.id))
        if item.fate is Fate.FAILED:
            result["failed"].setdefault(item.agent_name, {})[str(item.id)] = version
        if item.fate is not Fate.DONE:
            result["not_done"].append([reference, item.fate.value, item.reason])
        elif item.now:
            result["moved"].append([reference, f"{item.now[0]}:{item.now[1]}"])


def _texts(rows: Versions) -> dict[str, dict[str, str]]:
    return {
        agent: {str(number): version.isoformat() for number, version in versions.items()}
        for agent, versions in rows.items()
    }


def _versions(texts: Mapping[str, Mapping[str, str]]) -> Versions:
    return {
        agent: {int(number): datetime.fromisoformat(version) for number, version in versions.items()}
        for agent, versions in texts.items()
    }


def _context(request: HttpRequest, result: Mapping[str, Any], retried: str) -> dict[str, Any]:
    failed = sum(map(len, result["failed"].values()))
    totals = Counter({fate.value: sum(row[fate.value] for row in result["agents"].values()) for fate in Fate})
    retry = ngettext("Retry %(count)d failed memory", "Retry %(count)d failed memories", failed)
    return admin.site.each_context(request) | {
        "title": gettext("Result"),
        "opts": Memory._meta,
        "result": result,
        "level": _level(result, totals),
        "summary": _summary(result["plan"], totals["done"]),
        "totals": totals,
        "unread_stores": [name for name, _reason, is_store in result["left_out"] if is_store],
        "left_out": result["left_out"],
        "not_done": result["not_done"][:SHOWN],
        "more": max(0, len(result["not_done"]) - SHOWN),
        "fates": {"skipped": gettext("Skipped"), "conflict": gettext("Conflict"), "failed": gettext("Failed")},
        "moved": result["moved"][:SHOWN],
        "more_moved": max(0, len(result["moved"]) - SHOWN),
        "waiting": sum(map(len, result["versions"].values())),
        "retry": retry % {"count": failed} if failed and result["finished"] and not retried else "",
        "retried": retried,
    }


def _level(result: Mapping[str, Any], totals: Mapping[str, int]) -> str:
    """Green only when everything that was chosen is done."""
    if totals["failed"] and not totals["done"]:
        return "error"
    whole = result["finished"] and not result["left_out"] and totals["done"] == result["total"]
    return "success" if whole else "warning"


def _summary(plan: Plan, done: int) -> str:
    text = {
        "delete": ngettext("%(count)d memory deleted.", "%(count)d memories deleted.", done),
        "retype": ngettext("%(count)d memory given another type.", "%(count)d memories given another type.", done),
        "move": ngettext("%(count)d memory moved.", "%(count)d memories moved.", done),
    }[plan["kind"]]
    return text % {"count": done}
