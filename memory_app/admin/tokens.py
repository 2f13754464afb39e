"""API tokens in the console."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils import timezone

from memory_app.admin.once import Secret, ShownOnce, changelist_of
from memory_app.models import ApiToken
from netaclaw import tokens

DEFAULT_LIFE = timedelta(days=90)
_EXAMPLE = """curl -X POST {url} -H "Authorization: $TOKEN" -H 'Content-Type: application/json' -d '{{"size": 20}}'"""


@admin.register(ApiToken)
class ApiTokenAdmin(ShownOnce):
    """Tokens for the API: made here and shown once, or made by signing in there; deleting one revokes it."""

    list_display = ("name", "user", "created", "expires", "last_used")
    list_select_related = ("user",)
    fields = ("name", "user", "expires")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"user": request.user.pk, "expires": timezone.now() + DEFAULT_LIFE}

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Only a superuser makes tokens for others: a token can do whatever its operator may."""
        form = super().get_form(request, obj, change, **kwargs)
        if not request.user.is_superuser and "user" in form.base_fields:
            field: Any = form.base_fields["user"]
            field.queryset = get_user_model()._default_manager.filter(username=request.user.get_username())
        return form

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        issued = tokens.issue(obj.user, obj.name, obj.expires - timezone.now())
        obj.pk = issued.row.pk
        header = f"Authorization: {issued.token}"
        example = _EXAMPLE.format(url=request.build_absolute_uri("/admin/netaclaw/memory/page"))
        request.secret = Secret(issued.token, header, example, changelist_of(self))  # type: ignore[attr-defined]
