"""Operators' API tokens: the JWTs of the Cool Admin contract (HS256; access two hours, refresh fifteen days).

A token of ours is good while its row in ApiToken exists, its user is active, and the user's password is the one it was
issued under (the claim `passwordVersion` is taken from the session hash that Django derives from the password).

With NETACLAW_COOL_JWT_SECRET, access tokens that an existing Cool Admin backend signed with that secret are good too,
for operators of the same user name.
"""

import hashlib
import hmac
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import jwt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from memory_app.models import ApiToken

ACCESS = timedelta(hours=2)
REFRESH = timedelta(days=15)
USED_EVERY = timedelta(minutes=1)
ALGORITHM = "HS256"


class BadToken(Exception):
    """A token that is missing, malformed, expired, revoked, of the wrong kind, or of a user who may not sign in."""


def sign_in(user: AbstractBaseUser, name: str) -> dict[str, Any]:
    """The answer of the contract's login: both tokens and their lives in seconds, under one row that revokes both."""
    ApiToken.objects.filter(expires__lt=timezone.now()).delete()
    row = _row(user, name, REFRESH)
    return _pair(user, row)


def renew(refresh_token: str) -> dict[str, Any]:
    """A new pair for a refresh token, which is used up by that; raises BadToken."""
    user, row = _ours(refresh_token, refresh=True)
    if row is None or not ApiToken.objects.filter(pk=row.pk).delete()[0]:
        raise BadToken("used already")
    return _pair(user, _row(user, row.name, REFRESH))


class Issued(NamedTuple):
    """A token, which is shown once and not kept, and the row that revokes it."""

    token: str
    row: ApiToken


def issue(user: AbstractBaseUser, name: str, life: timedelta) -> Issued:
    """An access token of a given life, for programs."""
    row = _row(user, name, life)
    return Issued(_encode(user, row, life, refresh=False), row)


def user_of(token: str) -> AbstractBaseUser:
    """The active user of an access token, ours or of the Cool Admin backend that shares its secret; raises BadToken."""
    try:
        user, row = _ours(token, refresh=False)
    except BadToken:
        if not settings.COOL_JWT_SECRET:
            raise
        return _theirs(token)
    if row.last_used is None or timezone.now() - row.last_used > USED_EVERY:
        ApiToken.objects.filter(pk=row.pk).update(last_used=timezone.now())
    return user


def revoke(token: str) -> None:
    """Ends a token of ours, and the one it came with."""
    _user, row = _ours(token, refresh=False)
    ApiToken.objects.filter(pk=row.pk).delete()


def _ours(token: str, *, refresh: bool) -> tuple[AbstractBaseUser, ApiToken]:
    claims = _claims(token, _secret(), ["exp", "iat", "jti", "userId"])
    row = ApiToken.objects.filter(jti=str(claims["jti"])).select_related("user").first()
    if claims.get("isRefresh") is not refresh or row is None:
        raise BadToken("of the other kind, or revoked")
    user = row.user
    if not user.is_active or claims["userId"] != user.pk or claims.get("passwordVersion") != _password_version(user):
        raise BadToken("the user is gone or has a new password")
    return user, row


def _theirs(token: str) -> AbstractBaseUser:
    claims = _claims(token, settings.COOL_JWT_SECRET, ["exp", "username"])
    users = get_user_model()._default_manager
    user = users.filter(username=str(claims["username"]), is_active=True).first()
    if claims.get("isRefresh") is not False or user is None or user.get_username() != claims["username"]:
        raise BadToken("of the other kind, or of nobody here")
    return user


def _claims(token: str, secret: str, required: list[str]) -> dict[str, Any]:
    try:
        return jwt.decode(token, secret, algorithms=[ALGORITHM], options={"require": required})
    except (jwt.InvalidTokenError, ValueError) as error:
        raise BadToken(str(error)) from None


def _row(user: AbstractBaseUser, name: str, life: timedelta) -> ApiToken:
    return ApiToken.objects.create(
        user_id=user.pk, name=name[:100], jti=secrets.token_hex(16), expires=timezone.now() + life
    )


def _pair(user: AbstractBaseUser, row: ApiToken) -> dict[str, Any]:
    return {
        "expire": int(ACCESS.total_seconds()),
        "token": _encode(user, row, ACCESS, refresh=False),
        "refreshExpire": int(REFRESH.total_seconds()),
        "refreshToken": _encode(user, row, REFRESH, refresh=True),
    }


def _encode(user: AbstractBaseUser, row: ApiToken, life: timedelta, *, refresh: bool) -> str:
    now = datetime.now(UTC)
    claims = {
        "isRefresh": refresh,
        "roleIds": [],
        "username": user.get_username(),
        "userId": user.pk,
        "passwordVersion": _password_version(user),
        "jti": row.jti,
        "iat": now,
        "exp": now + life,
    }
    return jwt.encode(claims, _secret(), algorithm=ALGORITHM)


def _password_version(user: AbstractBaseUser) -> str:
    return user.get_session_auth_hash()[:16]


def _secret() -> str:
    """A key of its own, so that nothing else that is signed with SECRET_KEY can pass as a token."""
    return hmac.new(settings.SECRET_KEY.encode(), b"netaclaw.tokens", hashlib.sha256).hexdigest()
