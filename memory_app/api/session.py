"""`/admin/base/open/`: operators sign in with user name and password and get the contract's tokens."""

from typing import Any

from django.contrib.auth import authenticate
from django.utils.translation import gettext as _
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle

from memory_app.exceptions import InvalidInput, Refused
from netaclaw import tokens
from netaclaw.cool import CoolView, ok


class SignInRate(AnonRateThrottle):
    """Ten attempts a minute from one address."""

    rate = "10/min"
    scope = "sign-in"


class Login(CoolView):
    """User name and password for a token; the same answer for an unknown user and a wrong password."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = [SignInRate]

    def post(self, request: Request) -> Response:
        body = self.body()
        user = authenticate(request._request, **_credentials(body))
        if user is None:
            raise Refused(_("User name or password is wrong."))
        return ok(tokens.issue(user))


class RefreshToken(CoolView):
    """A new pair of tokens for a refresh token."""

    authentication_classes = []
    permission_classes = []

    def get(self, request: Request) -> Response:
        try:
            return ok(tokens.issue(tokens.user_of(request.query_params.get("refreshToken", ""), refresh=True)))
        except tokens.BadToken:
            raise AuthenticationFailed from None


def _credentials(body: dict[str, Any]) -> dict[str, str]:
    credentials = {name: body.get(name) for name in ("username", "password")}
    if not all(isinstance(value, str) and value for value in credentials.values()):
        raise InvalidInput(_("username and password are missing."))
    return {name: str(value).replace("\0", "") for name, value in credentials.items()}
