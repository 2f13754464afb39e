"""API tokens in the console."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from memory_app.admin.base import ErrorsAsMessages
from memory_app.models import ApiToken
from netaclaw import tokens

DEFAULT_LIFE = timedelta(days=90)


@admin.register(ApiToken)
class ApiTokenAdmin(ErrorsAsMessages):
    """Tokens for the API: made here and shown once, or made by signing in there; deleting one revokes it."""

    list_display = ("name", "user", "created", "expires", "last_used")
    list_select_related = ("user",)
    fields = ("name", "user", "expires")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"user": request.user.pk, "expires": timezone.now() + DEFAULT_LIFE}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        issued = tokens.issue(obj.user, obj.name, obj.expires - timezone.now())
        obj.pk = issued.row.pk
        messages.warning(request, gettext("The token, shown only now: %(token)s") % {"token": issued.token})
