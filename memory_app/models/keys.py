"""Which programs may act for an agent."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory_app.contracts import MAX_USER_ID, clean_key
from memory_app.exceptions import InvalidInput
from memory_app.models.tokens import validate_future


def validate_user_id(value: str) -> None:
    """Refuses user ids that other doors would have to trim or could not address."""
    try:
        cleaned = clean_key(value, "userId", MAX_USER_ID, required=False)
    except InvalidInput as error:
        raise ValidationError(error.message) from None
    if cleaned != value:
        raise ValidationError(_("Remove the spaces around the user."))


class AgentKeyQuerySet(models.QuerySet["AgentKey"]):
    """Keys by their state."""

    def good(self) -> "AgentKeyQuerySet":
        """Those that are neither revoked nor expired."""
        return self.filter(Q(expires=None) | Q(expires__gt=timezone.now()), revoked=None)


class AgentKey(models.Model):
    """A program's access to one agent's memories, perhaps to one user's alone; keys.py makes and tests them.

    Of the key itself only the digest is kept. A revoked key keeps its row, for the record.
    """

    agent = models.ForeignKey(
        "agents_app.Agent", on_delete=models.CASCADE, related_name="keys", verbose_name=_("agent")
    )
    name = models.CharField(_("name"), max_length=100, help_text=_("What the key is for."))
    prefix = models.CharField(_("begins with"), max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    user_id = models.CharField(
        _("user"),
        max_length=MAX_USER_ID,
        blank=True,
        validators=[validate_user_id],
        help_text=_("The only user the key acts for; empty: the program names the user with each call."),
    )
    read_only = models.BooleanField(
        _("read-only"), default=False, help_text=_("The key recalls, and saves, changes and deletes nothing.")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    created_by = models.CharField(_("created by"), max_length=150, blank=True, editable=False)
    expires = models.DateTimeField(
        _("expires"), null=True, blank=True, validators=[validate_future], help_text=_("Empty: never.")
    )
    last_used = models.DateTimeField(_("last used"), null=True, editable=False)
    revoked = models.DateTimeField(_("revoked"), null=True, editable=False)

    objects = AgentKeyQuerySet.as_manager()

    class Meta:
        db_table = "netaclaw_agent_key"
        verbose_name = _("agent key")
        verbose_name_plural = _("agent keys")
        ordering = ["-created", "-id"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuses the name of another good key of the agent: nobody could tell which of them to revoke."""
        others = AgentKey.objects.good().filter(agent_id=self.agent_id, name=self.name).exclude(pk=self.pk)
        if self.agent_id and others.exists():
            text = _("The agent has a key of this name already; choose another name, or revoke that key.")
            raise ValidationError({"name": text})

    @property
    def is_good(self) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or self.expires > timezone.now())
