"""The columns of the list of memories; some of them are also what is fixed on a memory's page."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin import helpers
from django.contrib.admin.utils import quote
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app.admin.base import shown_time
from memory_app.admin.type_tags import tag
from memory_app.contracts import Backend
from memory_app.models import Memory

BEGINNING = 160
AROUND = 8
FULL_TEXT = 1_000
MESSAGE = 500
BACKENDS = {Backend.SQLITE: "SQLite", Backend.MYSQL: "MySQL"}
MENU = '<details class="row-menu menu" name="row-menu"><summary aria-label="{}">⋯</summary><ul>{}</ul></details>'
CHECKBOX = '<input type="checkbox" name="{}" value="{}" class="action-select" aria-label="{}">'
DAY = timedelta(days=1)
CONTROL = {code: chr(0x2400 + code) for code in range(32)} | {127: "\u2421"}


class MemoryColumns:
    """What the list shows of a memory; `MemoryList` gives each row its looks and the words that were searched."""

    @admin.display(description=_("ID"), ordering="id")
    def number(self, row: Any) -> int:
        return row.number

    @admin.display(description=_("title"), ordering="name")
    def title(self, row: Any) -> SafeString:
        words = row.searched
        html = '<strong><bdi>{}</bdi></strong> <span class="beginning" dir="auto" title="{}">{}</span>'
        full = row.content if len(row.content) <= FULL_TEXT else row.content[:FULL_TEXT] + "…"
        beginning = excerpt(row.content, words) if words else marked(_after_title(row)[:BEGINNING], ())
        return format_html(html, marked(row.name, words), full.translate(CONTROL), beginning)

    @admin.display(description=_("type"), ordering="type")
    def tag(self, row: Any) -> SafeString:
        return tag(row.type, row.look)

    @admin.display(description=_("user"), ordering="user_id")
    def user(self, row: Any) -> SafeString:
        if row.user_id:
            return format_html('<bdi title="{}">{}</bdi>', row.user_id, row.user_id)
        return format_html('<span class="quiet" title="{}">{}</span>', gettext("all users (shared)"), gettext("shared"))

    @admin.display(description=_("agent"), ordering="agent_name")
    def agent(self, row: Any) -> SafeString:
        return format_html('<bdi title="{}">{}</bdi>', row.agent_name, row.agent_name)

    @admin.display(description=_("store"))
    def store(self, row: Any) -> SafeString:
        return backend_tag(row.backend)

    @admin.display(description=_("description"), ordering="description")
    def summary(self, row: Any) -> SafeString:
        return format_html('<bdi title="{}">{}</bdi>', row.description, marked(row.description, row.searched))

    @admin.display(description=_("created"), ordering="created_at")
    def created(self, row: Any) -> str:
        return shown_time(row.created_at, "Y-m-d H:i:s T")

    @admin.display(description=_("updated"), ordering="updated_at")
    def updated(self, row: Any) -> str:
        return shown_time(row.updated_at, "Y-m-d H:i:s T")

    @admin.display(description=_("updated"), ordering="updated_at")
    def updated_ago(self, row: Any) -> SafeString:
        html = '<time datetime="{}" title="{}">{}</time>'
        return format_html(html, row.updated_at.isoformat(), self.updated(row), _ago(row.updated_at))

    @admin.display(description=_("Actions"))
    def menu(self, row: Any) -> SafeString:
        """What one may do with the row. Not a template: fifty of them would cost as much as the rest of the page."""
        links, copies = _links(row), [(row.pk, gettext("Copy reference")), (row.content, gettext("Copy text"))]
        items = [format_html('<li><a href="{}">{}</a></li>', *link) for link in links]
        buttons = [format_html('<li><button type="button" data-copy="{}">{}</button></li>', *copy) for copy in copies]
        label = gettext("Actions for %(name)s") % {"name": row.name}
        return format_html(MENU, label, format_html_join("", "{}", ((one,) for one in (*items, *buttons))))

    def action_checkbox(self, obj: Any) -> SafeString:
        """As Django's, without a form field and its template for each row."""
        label = gettext("Select this object for an action - {}").format(obj)
        return format_html(CHECKBOX, helpers.ACTION_CHECKBOX_NAME, obj.pk, label)


def _after_title(row: Memory) -> str:
    """The text's beginning in one line, without what a title that was taken from it says already."""
    said = row.name.removesuffix("…")
    rest = row.content.removeprefix(said) if row.content.startswith(said) else row.content
    return " ".join(rest[: 4 * BEGINNING].split())


def _ago(time: datetime) -> str:
    """How long ago, in one unit: a list is glanced at, and the full time is there for those who point at it."""
    if timezone.now() - time < DAY:
        return str(naturaltime(time))
    return gettext("%(time)s ago") % {"time": timesince(time, depth=1)}


def _links(row: Memory) -> list[tuple[str, str]]:
    address = reverse("admin:memory_app_memory_change", args=(quote(row.pk),))
    asked = urlencode({"agent": row.agent_name, "user": row.user_id, "message": row.content[:MESSAGE]})
    return [
        (address, gettext("Edit")),
        (reverse("admin:memory_app_memory_history", args=(quote(row.pk),)), gettext("History")),
        (f"{reverse('admin:memory_app_memory_preview')}?{asked}", gettext("Preview recall with it")),
    ]


def backend_tag(backend: str) -> SafeString:
    """Where a memory is kept, as a small tag."""
    return format_html('<span class="backend-tag" data-backend="{}">{}</span>', backend, BACKENDS[Backend(backend)])


def excerpt(content: str, words: Sequence[str]) -> SafeString:
    """The surroundings of the first match in one line, with the matches marked."""
    found = _pattern(words).search(content)
    start = max(0, found.start() - AROUND) if found else 0
    line = " ".join(content[start : start + 2 * BEGINNING].split())[:BEGINNING]
    return marked(f"…{line}" if start else line, words)


def marked(text: str, words: Sequence[str]) -> SafeString:
    """The text, escaped, with control characters as symbols, and every occurrence of the words in <mark>."""
    pieces = _pattern(words).split(text) if words else [text]
    html = ("<mark>{}</mark>" if number % 2 else "{}" for number in range(len(pieces)))
    shown = (format_html(form, piece.translate(CONTROL)) for form, piece in zip(html, pieces, strict=True))
    return format_html_join("", "{}", ((piece,) for piece in shown))


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(f"({'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})", re.IGNORECASE)
