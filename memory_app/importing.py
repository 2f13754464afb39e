"""Memories from JSON Lines: one object a line, in the names of the API or of the tables."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any

from dateutil import parser as dates
from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app import registry, search, services
from memory_app.contracts import MemoryDraft
from memory_app.exceptions import InvalidInput, NetaclawError, UnknownAgent
from memory_app.models import MemoryType
from memory_app.tools import title_of

NAMES = {
    "agentName": "agent_name",
    "agent": "agent_name",
    "userId": "user_id",
    "user": "user_id",
    "title": "name",
    "createdAt": "created_at",
}
KNOWN = ("user_id", "type", "name", "content", "description", "metadata", "created_at")
NOT_KEPT = ("agent_name", "id", "updatedAt", "updated_at", "_backend")
MAX_LINE = 1_000_000
FIRST_YEAR, LAST_YEAR = 1900, 2200
BATCH = 500
MAX_PROBLEMS = 1_000
CREATED, DUPLICATE, REFUSED, FAILED = "created", "duplicate", "refused", "failed"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an import: a draft, or why it isn't one."""

    number: int
    draft: MemoryDraft | None
    problem: str = ""


def read_lines(lines: Iterable[str], agent_name: str | None, user_id: str | None, type: str) -> Iterator[Line]:
    """Drafts for the lines that are memories, problems for the others; blank lines are passed over.

    All go to the agent, whatever a line says, or, when it is None, each to the one that it names. `user_id`, unless it
    is None, and `type` stand in where a line names none; without either user the memory is shared. A field that
    memories don't have is kept in the metadata.
    """
    types = MemoryType.available()
    agents: dict[str, str] = {}
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = _object(text)
            draft = _draft(line, _agent_of(line, agents) if agent_name is None else agent_name, user_id or "", type)
            services.check_type(types, draft.type)
            services.check_metadata(types, draft.type, draft.metadata)
            yield Line(number, draft)
        except InvalidInput as error:
            yield Line(number, None, error.message)


def _agent_of(line: Mapping[str, Any], agents: dict[str, str]) -> str:
    """The agent that a line names; `agents` remembers what is wrong with each name, "" for nothing."""
    name = line.get("agent_name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(_("The line names no agent; add agentName, or choose an agent for all lines."))
    if name not in agents:
        agents[name] = _problem_of_agent(name)
    if agents[name]:
        raise InvalidInput(agents[name])
    return name


def _problem_of_agent(name: str) -> str:
    try:
        registry.config_for(name.strip())
    except UnknownAgent as error:
        return error.message
    return ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a line, or would become of it: created, duplicate, refused or failed, and why the last two."""

    line: Line
    outcome: str
    reason: str = ""


Batch = Sequence[MemoryDraft]


def foreseen(lines: Iterable[Line]) -> Iterator[Imported]:
    """What `written` would do; nothing is written."""
    met: set[bytes] = set()

    def outcomes(drafts: Batch) -> list[str]:
        known = [twin is not None for twin in search.twins(drafts)]
        return [
            DUPLICATE if there | _is_met(draft, met) else CREATED for draft, there in zip(drafts, known, strict=True)
        ]

    return _each(lines, outcomes)


def _is_met(draft: MemoryDraft, met: set[bytes]) -> bool:
    """Whether the file had it before."""
    parts = (draft.agent_name, draft.user_id, draft.type, draft.name, draft.content, draft.description)
    mark = hashlib.sha256(json.dumps(parts).encode()).digest()
    known = mark in met
    met.add(mark)
    return known


def written(lines: Iterable[Line]) -> Iterator[Imported]:
    """Saves the lines in batches, one transaction an agent; those whose store fails are told as failed.

    What is there already is passed over, so the same lines can be written again.
    """
    return _each(lines, lambda drafts: [result.outcome.value for result in services.save_many(drafts)])


def _each(lines: Iterable[Line], outcomes: Callable[[Batch], list[str]]) -> Iterator[Imported]:
    """An agent whose store failed isn't asked again."""
    waiting = iter(lines)
    troubles: dict[str, str] = {}
    while batch := list(islice(waiting, BATCH)):
        yield from (Imported(line, REFUSED, line.problem) for line in batch if line.draft is None)
        for agent_name, group in groupby((line for line in batch if line.draft), key=_agent_name):
            yield from _together(list(group), agent_name, troubles, outcomes)


def _agent_name(line: Line) -> str:
    return line.draft.agent_name if line.draft else ""


def _together(
    lines: Collection[Line], agent_name: str, troubles: dict[str, str], outcomes: Callable[[Batch], list[str]]
) -> Iterator[Imported]:
    found: list[str] = []
    if agent_name not in troubles:
        try:
            found = outcomes([line.draft for line in lines if line.draft])
        except NetaclawError as error:
            troubles[agent_name] = error.message
    if agent_name in troubles:
        yield from (Imported(line, FAILED, troubles[agent_name]) for line in lines)
    else:
        yield from (Imported(line, outcome) for line, outcome in zip(lines, found, strict=True))


@dataclass(slots=True)
class Report:
    """An import in numbers: lines by outcome, memories created by agent, and the first problems by line."""

    created: int = 0
    duplicate: int = 0
    refused: int = 0
    failed: int = 0
    agents: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)

    def add(self, item: Imported) -> None:
        """One more line."""
        setattr(self, item.outcome, getattr(self, item.outcome) + 1)
        if item.outcome == CREATED:
            name = _agent_name(item.line)
            self.agents[name] = self.agents.get(name, 0) + 1
        if item.reason and len(self.problems) < MAX_PROBLEMS:
            self.problems.append((item.line.number, item.reason))


def _object(text: str) -> Mapping[str, Any]:
    if any("\udc80" <= character <= "\udcff" for character in text):
        raise InvalidInput(_("The line is no UTF-8 text."))
    if len(text) > MAX_LINE:
        raise InvalidInput(_("The line is over %(limit)d characters.") % {"limit": MAX_LINE})
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(
            _('The line is no JSON object such as {"user": "u1", "content": "Drinks green tea."}.')
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput(_('The line is no JSON object such as {"user": "u1", "content": "Drinks green tea."}.'))
    return {NAMES.get(str(name), str(name)): item for name, item in value.items()}


def _draft(line: Mapping[str, Any], agent_name: str, user_id: str, type: str) -> MemoryDraft:
    given = {name: line[name] for name in KNOWN if line.get(name) is not None}
    extra = {name: item for name, item in line.items() if name not in KNOWN and name not in NOT_KEPT}
    content = given.get("content", "")
    metadata = given.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InvalidInput(_('metadata must be a JSON object such as {"source": "chat"}.'))
    return MemoryDraft(
        agent_name=agent_name,
        user_id=given.get("user_id", user_id),
        type=given.get("type", type),
        name=given.get("name") or (title_of(content) if isinstance(content, str) else ""),
        content=content,
        description=given.get("description", ""),
        metadata=extra | metadata,
        created_at=_time(given.get("created_at")),
    )


def _time(value: Any) -> datetime | None:
    """ISO 8601 or a date as people write it ("1:56 pm on 8 May, 2023"); without a zone it is the installation's."""
    if value is None:
        return None
    try:
        parsed = dates.parse(value)
        known = parsed if parsed.tzinfo else timezone.make_aware(parsed, timezone.get_default_timezone())
        if FIRST_YEAR <= known.astimezone(UTC).year <= LAST_YEAR:
            return known
        raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(_("createdAt is no time; write it as 2026-05-06T09:30:00+08:00.")) from None
