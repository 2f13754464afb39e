"""Agents: who remembers. What an agent remembers belongs to memory_app."""

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from memory_app.contracts import MAX_AGENT_NAME, MAX_USER_ID, clean_key
from memory_app.exceptions import InvalidInput

MAX_SESSION_ID = 100


def validate_agent_name(value: str) -> None:
    """Refuses names that other doors would have to trim or could not address."""
    try:
        cleaned = clean_key(value, "name", MAX_AGENT_NAME)
    except InvalidInput as error:
        raise ValidationError(error.message) from None
    if cleaned != value:
        raise ValidationError(_("Remove the spaces around the name."))


class Agent(models.Model):
    """An LLM agent (first document, section 8). Its name identifies it everywhere and never changes."""

    name = models.CharField(_("name"), max_length=MAX_AGENT_NAME, unique=True, validators=[validate_agent_name])
    label = models.CharField(_("label"), max_length=100, blank=True, help_text=_("How the agent is called in lists."))
    description = models.CharField(_("description"), max_length=500, blank=True)
    system_prompt = models.TextField(_("system prompt"), blank=True)
    provider = models.CharField(_("model provider"), max_length=50, blank=True)
    model = models.CharField(_("model"), max_length=100, blank=True)
    base_url = models.CharField(
        _("base URL"),
        max_length=200,
        blank=True,
        validators=[RegexValidator(r"^https?://\S+\Z", _("Write an address such as http://models.internal:8000/v1."))],
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    config = models.JSONField(_("configuration"), default=dict, blank=True)
    create_time = models.DateTimeField(_("created"), auto_now_add=True)
    update_time = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        db_table = "netaclaw_agent"
        verbose_name = _("agent")
        verbose_name_plural = _("agents")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.label or self.name


class Message(models.Model):
    """What was said in a session: by the user, or by the agent in one step of a turn. Never the memory context.

    A tool's result stays with its call, [{"id", "name", "arguments", "result"}], so that neither is ever without the
    other. Tokens are those of the whole turn, on its last message; `error` is the code of what ended it early.
    """

    class Role(models.TextChoices):
        """Who said it."""

        USER = "user", _("user")
        ASSISTANT = "assistant", _("agent")

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="messages", verbose_name=_("agent"))
    user_id = models.CharField(_("user"), max_length=MAX_USER_ID, blank=True)
    session_id = models.CharField(_("session"), max_length=MAX_SESSION_ID)
    role = models.CharField(_("role"), max_length=10, choices=Role)
    content = models.TextField(_("content"), blank=True)
    tool_calls = models.JSONField(_("tool calls"), default=list, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(_("input tokens"), default=0)
    output_tokens = models.PositiveIntegerField(_("output tokens"), default=0)
    error = models.CharField(_("error"), max_length=50, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        db_table = "netaclaw_message"
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        indexes = [models.Index(fields=["agent", "user_id", "session_id", "id"], name="idx_message_session")]

    def __str__(self) -> str:
        return f"{self.role}: {self.content[:50]}"
