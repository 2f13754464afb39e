"""Operators' API tokens: the JWTs of the Cool Admin contract (HS256; access two hours, refresh fifteen days).

A token dies with its user's password, and with the user: the claim `passwordVersion` is taken from the session hash
that Django derives from the password.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

ACCESS = timedelta(hours=2)
REFRESH = timedelta(days=15)
ALGORITHM = "HS256"
AUDIENCE_SALT = "netaclaw.cool."


class BadToken(Exception):
    """A token that is missing, malformed, expired, of the wrong kind, or of a user who may no longer sign in."""


def issue(user: AbstractBaseUser) -> dict[str, Any]:
    """The answer of the contract's login: both tokens and their lives in seconds."""
    return {
        "expire": int(ACCESS.total_seconds()),
        "token": _encode(user, ACCESS, refresh=False),
        "refreshExpire": int(REFRESH.total_seconds()),
        "refreshToken": _encode(user, REFRESH, refresh=True),
    }


def user_of(token: str, *, refresh: bool = False) -> AbstractBaseUser:
    """The active user a token was issued to; raises BadToken."""
    try:
        claims = jwt.decode(token, _secret(), algorithms=[ALGORITHM], options={"require": ["exp", "iat", "userId"]})
    except jwt.InvalidTokenError as error:
        raise BadToken(str(error)) from None
    if claims.get("isRefresh") is not refresh:
        raise BadToken("a token of the other kind")
    user = get_user_model()._default_manager.filter(pk=claims["userId"], is_active=True).first()
    if user is None or claims.get("passwordVersion") != _password_version(user):
        raise BadToken("the user is gone or has a new password")
    return user


def _encode(user: AbstractBaseUser, life: timedelta, *, refresh: bool) -> str:
    now = datetime.now(UTC)
    claims = {
        "isRefresh": refresh,
        "roleIds": [],
        "username": user.get_username(),
        "userId": user.pk,
        "passwordVersion": _password_version(user),
        "iat": now,
        "exp": now + life,
    }
    return jwt.encode(claims, _secret(), algorithm=ALGORITHM)


def _password_version(user: AbstractBaseUser) -> str:
    return user.get_session_auth_hash()[:16]


def _secret() -> str:
    """A key of its own, so that no other value signed with SECRET_KEY can pass as a token."""
    return AUDIENCE_SALT + settings.SECRET_KEY
