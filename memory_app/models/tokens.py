"""Who may call the API."""

from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


def validate_future(value: datetime) -> None:
    """Refuses a time that is over."""
    if value <= timezone.now():
        raise ValidationError(_("Choose a time in the future."))


class ApiToken(models.Model):
    """An operator's access to the API, made by signing in there or in the console; deleting it revokes it.

    The token itself is a signed JWT that carries `jti`, and is not kept.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens", verbose_name=_("operator")
    )
    name = models.CharField(_("name"), max_length=100, help_text=_("What the token is for."))
    jti = models.CharField(max_length=32, unique=True, editable=False)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    expires = models.DateTimeField(_("expires"), validators=[validate_future])
    last_used = models.DateTimeField(_("last used"), null=True, editable=False)

    class Meta:
        db_table = "netaclaw_api_token"
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["-created"]

    def __str__(self) -> str:
        return self.name
