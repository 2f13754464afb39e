"""Memories from JSON Lines: one object a line, in the names of the API or of the tables."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dateutil import parser as dates
from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app import services
from memory_app.contracts import MemoryDraft
from memory_app.exceptions import InvalidInput
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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an import: a draft, or why it isn't one."""

    number: int
    draft: MemoryDraft | None
    problem: str = ""


def read_lines(lines: Iterable[str], agent_name: str, user_id: str | None, type: str) -> Iterator[Line]:
    """Drafts for the lines that are memories, problems for the others; blank lines are passed over.

    `user_id`, unless it is None, and `type` stand in where a line names none; without either user the memory is shared.
    A field that memories don't have is kept in the metadata.
    """
    types = MemoryType.available()
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            draft = _draft(_object(text), agent_name, user_id or "", type)
            services.check_type(types, draft.type)
            services.check_metadata(types, draft.type, draft.metadata)
            yield Line(number, draft)
        except InvalidInput as error:
            yield Line(number, None, error.message)


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
