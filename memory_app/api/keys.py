"""Agents' keys at the HTTP door: `Authorization: Bearer nck_…`."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from memory_app import keys
from memory_app.models import AgentKey


class FailedKeys(SimpleRateThrottle):
    """Thirty bad keys a minute from one address; who has a good one is never held up by others' bad ones."""

    rate = "30/min"
    scope = "agent-key"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


class AgentKeyAuthentication(BaseAuthentication):
    """The key as `request.auth`; no cookie and no operator's token counts here."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, AgentKey] | None:
        scheme, _space, text = request.headers.get("Authorization", "").strip().partition(" ")
        if not scheme:
            return None
        text = text.strip() if scheme.lower() == "bearer" else ""
        key = keys.authenticate(text)
        if key is None:
            _count_failure(request)
            raise exceptions.AuthenticationFailed(keys.refusal(text))
        return AnonymousUser(), key

    def authenticate_header(self, request: Request) -> str:
        """Makes DRF answer 401."""
        return "Bearer"


def _count_failure(request: Request) -> None:
    failed = FailedKeys()
    if not failed.allow_request(request, None):  # type: ignore[arg-type]
        raise exceptions.Throttled(failed.wait())


class HasKey(BasePermission):
    """Whoever has a good key may call; what it may do is the tools' business."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.auth is None:
            raise exceptions.NotAuthenticated(_("Send an agent's key, as in Authorization: Bearer nck_…."))
        return True


class AgentKeyScheme(OpenApiAuthenticationExtension):
    """The key in the OpenAPI document."""

    target_class = AgentKeyAuthentication
    name = "agentKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        description = "An agent's key (nck_…), made in the console under API keys."
        return {"type": "http", "scheme": "bearer", "description": description}
