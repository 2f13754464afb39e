"""The chosen memories as a file: JSON Lines that an import reads back equal, or CSV for spreadsheets.

A file is whole or says that it isn't: a store that can't be read beforehand refuses it, one that fails underway ends
it with a line that says so.
"""

import csv
import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import get_valid_filename
from django.utils.translation import gettext, gettext_lazy

from memory_app.admin.chosen import matching, read_chosen
from memory_app.contracts import MemoryEntry
from memory_app.exceptions import NetaclawError
from memory_app.merged import MAX_SELECTED, MergedRows, Selection

FORMULA = tuple("=+-@\t\r\n＝＋－＠")
logger = logging.getLogger(__name__)


def export_json(model_admin: Any, request: HttpRequest, queryset: Any) -> StreamingHttpResponse | None:
    """The chosen memories as JSON Lines, as an import takes them."""
    return _file(request, queryset, "jsonl")


def export_csv(model_admin: Any, request: HttpRequest, queryset: Any) -> StreamingHttpResponse | None:
    """The chosen memories as CSV for spreadsheets, in which no text can be a formula."""
    return _file(request, queryset, "csv")


def _file(request: HttpRequest, chosen: MergedRows | Selection, ending: str) -> StreamingHttpResponse | None:
    if isinstance(chosen, MergedRows):
        problem, agents = _problem_of(chosen), set(chosen.wanted.agent_names)
        # The oldest first: what is written meanwhile moves none of them to another page.
        entries = matching(replace(chosen.wanted, order="created_at", descending=False))
    else:
        read = read_chosen(chosen.references)
        problem = next((item.reason for item in read.left_out if item.unavailable), "")
        agents = {entry.agent_name for entry in read.entries}
        entries = iter(read.entries)
    if problem:
        messages.error(request, problem)
        return None
    written, kind = (_lines(entries), "application/jsonl") if ending == "jsonl" else (_csv(entries), "text/csv")
    header = content_disposition_header(True, _name(agents, ending)) or ""
    return StreamingHttpResponse(
        written, content_type=f"{kind}; charset=utf-8", headers={"Content-Disposition": header}
    )


def _name(agents: set[str], ending: str) -> str:
    """With the agent's name, where it is of one agent, and the day."""
    agent = f"-{get_valid_filename(next(iter(agents)))}" if len(agents) == 1 and next(iter(agents)).strip(".") else ""
    return f"memories{agent}-{timezone.localdate().isoformat()}.{ending}"


def _problem_of(chosen: MergedRows) -> str:
    """Why these can't be exported as a whole."""
    if chosen.unavailable:
        text = gettext(
            "Nothing is exported while the memory store %(store)s can't be read: its memories would be missing."
        )
        return text % {"store": ", ".join(chosen.unavailable)}
    if (total := chosen.count()) > MAX_SELECTED:
        text = gettext("%(total)d memories match; at most %(limit)d are exported at once. Narrow the list by a filter.")
        return text % {"total": total, "limit": MAX_SELECTED}
    return ""


def _exported(row: MemoryEntry) -> dict[str, Any]:
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
        "id": row.id,
    }


def _lines(entries: Iterable[MemoryEntry]) -> Iterator[str]:
    """An error line is no memory: an import refuses it with its number."""
    try:
        for entry in entries:
            yield json.dumps(_exported(entry), ensure_ascii=False) + "\n"
    except NetaclawError as error:
        logger.warning("An export ended early: %s", error.message)
        yield json.dumps({"error": error.message}, ensure_ascii=False) + "\n"


def _csv(entries: Iterable[MemoryEntry]) -> Iterator[str]:
    """UTF-8 with the mark by which spreadsheets know it."""
    yield "\ufeff"
    header = True
    try:
        for entry in entries:
            values = _exported(entry)
            yield (_row(values) if header else "") + _row(_cell(value) for value in values.values())
            header = False
    except NetaclawError as error:
        logger.warning("An export ended early: %s", error.message)
        yield _row([gettext("ERROR"), error.message])


def _row(cells: Iterable[str]) -> str:
    buffer = StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    """Text that a spreadsheet would calculate begins with an apostrophe."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


export_json.short_description = gettext_lazy("Export as JSON Lines")  # type: ignore[attr-defined]
export_csv.short_description = gettext_lazy("Export as CSV")  # type: ignore[attr-defined]
