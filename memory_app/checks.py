"""System checks: what would fail later is said at start, with its repair."""

from collections.abc import Sequence
from sqlite3 import sqlite_version
from typing import Any

from django.core.checks import CheckMessage, Info, Tags, Warning, register
from django.db import connections
from django.utils.translation import gettext as _

from memory_app.providers import mysql_schema, sqlite_schema


@register(Tags.database)
def ngram_parser(app_configs: Any, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Says where keyword search reads rows, because the server has no ngram parser (MariaDB)."""
    found: list[CheckMessage] = []
    for alias in databases or ():
        if connections[alias].vendor == "mysql" and not mysql_schema.has_ngram(connections[alias]):
            message = _("The server of database %(alias)s has no ngram parser.") % {"alias": alias}
            hint = _("The operators' keyword search reads the rows instead; it finds the same, more slowly.")
            found.append(Info(message, hint=hint, id="memory_app.I001"))
    return found


@register()
def full_text_search(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warns when this Python's SQLite lacks FTS5 with the trigram tokenizer (SQLite 3.34)."""
    problem = sqlite_schema.full_text_problem()
    if not problem:
        return []
    message = _("This SQLite (%(version)s) has no FTS5 trigram index: %(problem)s.")
    hint = _("Memories are searched row by row. Use a Python with SQLite 3.34 or later.")
    return [Warning(message % {"version": sqlite_version, "problem": problem}, hint=hint, id="memory_app.W001")]
