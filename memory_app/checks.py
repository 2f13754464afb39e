"""System checks: what would fail later is said at start, with its repair."""

from sqlite3 import sqlite_version
from typing import Any

from django.core.checks import CheckMessage, Warning, register
from django.utils.translation import gettext as _

from memory_app.providers import sqlite_schema


@register()
def full_text_search(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warns when this Python's SQLite lacks FTS5 with the trigram tokenizer (SQLite 3.34)."""
    problem = sqlite_schema.full_text_problem()
    if not problem:
        return []
    message = _("This SQLite (%(version)s) has no FTS5 trigram index: %(problem)s.")
    hint = _("Memories are searched row by row. Use a Python with SQLite 3.34 or later.")
    return [Warning(message % {"version": sqlite_version, "problem": problem}, hint=hint, id="memory_app.W001")]
