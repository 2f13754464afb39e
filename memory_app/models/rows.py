"""The memories of both backends on one base."""

import json
import math
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from memory_app.contracts import MAX_AGENT_NAME, MAX_DESCRIPTION, MAX_NAME, MAX_TYPE, MAX_USER_ID, MemoryEntry


class MetadataEncoder(json.JSONEncoder):
    """JSON as people read it: Chinese and emoji as themselves, not as escapes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"ensure_ascii": False})


def _shown(metadata: Any) -> dict[str, Any]:
    """Metadata as an object that JSON can carry, whatever the older system or another program stored."""
    found = {} if metadata is None else metadata if isinstance(metadata, dict) else {"value": metadata}
    cleaned: dict[str, Any] = _finite(found)
    return cleaned


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class MemoryRow(models.Model):
    """The columns of a memory, whichever store holds it. `terms` is derived from the text (analysis.index_terms)."""

    agent_name = models.CharField(_("agent"), max_length=MAX_AGENT_NAME)
    user_id = models.CharField(_("user"), max_length=MAX_USER_ID, blank=True)
    type = models.CharField(_("type"), max_length=MAX_TYPE)
    name = models.CharField(_("title"), max_length=MAX_NAME)
    content = models.TextField(_("content"))
    description = models.CharField(_("description"), max_length=MAX_DESCRIPTION, blank=True, default="")
    metadata = models.JSONField(_("metadata"), null=True, blank=True, encoder=MetadataEncoder)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    terms = models.TextField(default="", editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def entry(self) -> MemoryEntry:
        """The row as a frozen value."""
        return MemoryEntry(
            id=self.pk,
            agent_name=self.agent_name,
            user_id=self.user_id,
            type=self.type,
            name=self.name,
            content=self.content,
            description=self.description,
            metadata=_shown(self.metadata),
            created_at=self.created_at,
            updated_at=self.updated_at,
        )


class Memory(MemoryRow):
    """Memories in a MySQL database: backend `mysql`. providers/mysql_schema.py owns the table."""

    class Meta(MemoryRow.Meta):
        abstract = False
        managed = False
        db_table = "netaclaw_memory"
        verbose_name = _("memory")
        verbose_name_plural = _("memories")


class SqliteMemory(MemoryRow):
    """Memories in a .db file: backend `sqlite`. providers/sqlite_schema.py owns the table; no migration touches it."""

    class Meta(MemoryRow.Meta):
        abstract = False
        managed = False
        db_table = "memory"
        verbose_name = _("memory")
        verbose_name_plural = _("memories")
