"""What was changed in memories, by whom."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from memory_app.acting import Door
from memory_app.contracts import MAX_AGENT_NAME, MAX_NAME, MAX_USER_ID

DOORS: Mapping[str, Any] = {
    Door.CONSOLE: _("console"),
    Door.API: _("API"),
    Door.TOOL: _("agent tool"),
    Door.MCP: _("MCP"),
    Door.CHAT: _("chat"),
    Door.COMMAND: _("command line"),
    Door.IMPORT: _("import"),
    Door.SYSTEM: _("system"),
}

NOTES = {
    "restored": gettext_noop("restored from version %(detail)s"),
    "moved-to": gettext_noop("moved to %(detail)s"),
    "moved-from": gettext_noop("moved from %(detail)s"),
    "forgot": gettext_noop("a user was forgotten: %(detail)s"),
}


class MemoryChange(models.Model):
    """One change of one memory, in the main database whichever store holds the memory.

    `before` is the state that the change replaced, as JSON text ("" for a memory that was new). The state after it is
    what the memory's next change has as `before`, or the memory itself: so no text is kept twice, and saving costs one
    short row. Ids of memories that are gone and can't be addressed any more are negative.
    """

    class Action(models.TextChoices):
        """What was done."""

        CREATED = "created", _("added")
        UPDATED = "updated", _("changed")
        DELETED = "deleted", _("deleted")
        FORGOTTEN = "forgotten", _("erased")

    agent_name = models.CharField(_("agent"), max_length=MAX_AGENT_NAME)
    user_id = models.CharField(_("user"), max_length=MAX_USER_ID, blank=True)
    memory_id = models.BigIntegerField(_("memory"))
    action = models.CharField(_("action"), max_length=10, choices=Action)
    name = models.CharField(_("title"), max_length=MAX_NAME, blank=True)
    fields = models.CharField(_("fields"), max_length=100, blank=True)
    door = models.CharField(_("door"), max_length=10)
    actor = models.CharField(_("who"), max_length=150, blank=True)
    at = models.DateTimeField(_("time"))
    note = models.CharField(_("note"), max_length=300, blank=True)
    before = models.TextField(blank=True)
    size = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "netaclaw_memory_change"
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        indexes = [
            models.Index(fields=["agent_name", "memory_id", "id"], name="idx_change_memory"),
            models.Index(fields=["agent_name", "user_id"], name="idx_change_owner"),
            models.Index(fields=["at"], name="idx_change_at"),
        ]

    def __str__(self) -> str:
        return self.name or self.get_action_display()

    @property
    def door_label(self) -> str:
        """The door in the reader's language."""
        return str(DOORS.get(self.door, self.door))

    @property
    def explained(self) -> str:
        """The note as a sentence in the reader's language; "" for a change that needs none."""
        kind, _separator, detail = self.note.partition(" ")
        text = NOTES.get(kind)
        return gettext(text) % {"detail": detail} if text else ""
