"""The page on which an operator confirms that an agent's memories move to another store, and watches them move."""

import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_app.models import Agent
from memory_app import moving, registry
from memory_app.exceptions import NetaclawError
from memory_app.paths import Place

SILENCE = timedelta(seconds=20)


def address(agent: Agent, to: Place, **more: str) -> str:
    """The page's URL for a move of the agent to a place."""
    return f"{reverse('admin:agents_app_agent_move', args=[agent.pk])}?{urlencode(asdict(to) | more)}"


def move_view(request: HttpRequest, agent_id: int, model_admin: Any) -> HttpResponse:
    """Confirms (GET), starts or goes on with (POST), and follows a move; the place is in the URL."""
    agent = get_object_or_404(Agent.objects.select_related("memory"), pk=agent_id)
    if not model_admin.has_change_permission(request, agent):
        raise PermissionDenied
    config = agent.memory
    to = Place(*(request.GET.get(name, "") for name in ("backend", "database", "sqlite_path"))).normal()
    try:
        moving.check_place(config, to)
    except NetaclawError as error:
        messages.error(request, error.message)
        return HttpResponseRedirect(reverse("admin:agents_app_agent_change", args=[agent.pk]))
    if "cancel" in request.POST:
        return _given_up(request, agent)
    if request.method == "POST":
        _start(agent, to)
        return HttpResponseRedirect(address(agent, to, started=timezone.now().isoformat()))
    if config.move is None and config.place.normal() == to:
        return _finished(request, agent)
    return TemplateResponse(request, "admin/agents_app/agent/move.html", _context(request, model_admin, agent, to))


def _start(agent: Agent, to: Place) -> None:
    """A process of its own, which outlives this worker; what it says is kept for the page."""
    command = [sys.executable, "manage.py", "move_memories", "--to", to.backend]
    command += ["--database", to.database] if to.database else []
    command += ["--sqlite-path", to.sqlite_path] if to.sqlite_path else []
    command += ["--", agent.name]
    with _log(agent).open("w") as log:
        subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=log, stderr=log, start_new_session=True)


def _log(agent: Agent) -> Any:
    return settings.DATA_DIR / f"move-{agent.pk}.log"


def _given_up(request: HttpRequest, agent: Agent) -> HttpResponse:
    try:
        moving.cancel(agent.name)
        messages.success(request, _("The move was given up; the memories are where they were."))
    except NetaclawError as error:
        messages.error(request, error.message)
    return HttpResponseRedirect(reverse("admin:agents_app_agent_change", args=[agent.pk]))


def _finished(request: HttpRequest, agent: Agent) -> HttpResponse:
    number = moving.waiting(agent.name)
    text = ngettext("%(count)d memory is in the new store now.", "%(count)d memories are in the new store now.", number)
    messages.success(request, text % {"count": number})
    return HttpResponseRedirect(reverse("admin:agents_app_agent_change", args=[agent.pk]))


def _context(request: HttpRequest, model_admin: Any, agent: Agent, to: Place) -> dict[str, Any]:
    config = agent.memory
    heard = (config.move or {}).get("at") or request.GET.get("started", "")
    alive = bool(heard) and timezone.now() - _time(heard) < SILENCE
    failed = bool(request.GET.get("started")) and not alive and config.move is None
    said = _log(agent).read_text(encoding="utf-8").strip().splitlines() if failed and _log(agent).exists() else []
    source = Place(**config.move["from"]) if config.move else config.place
    return model_admin.admin_site.each_context(request) | {
        "title": _("Move memories"),
        "opts": Agent._meta,
        "agent": agent,
        "move": config.move,
        "source": registry.store_at(source).label,
        "target": registry.store_at(to).label,
        "waiting": moving.waiting(agent.name),
        "refresh": alive,
        "problem": said[-1] if said else "",
    }


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
