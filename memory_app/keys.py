"""Agents' keys: made, revoked, and tested when a program calls.

A key is 256 random bits, so its digest needs neither salt nor a slow hash: those protect what people can guess, and a
slow hash would be paid on every call.
"""

import hashlib
import re
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app.contracts import MAX_USER_ID, Scope, clean_key, clean_text
from memory_app.exceptions import InvalidInput, Refused
from memory_app.models import AgentKey, validated

SIGN = "nck_"
FORM = re.compile(r"nck_[A-Za-z0-9_-]{43}")
SHOWN = 10
USER_HEADER = "X-Netaclaw-User"
USED_EVERY = timedelta(minutes=1)


class IssuedKey(NamedTuple):
    """A key's row, and the key itself, which is shown once and not kept."""

    row: AgentKey
    text: str


def issue(agent_id: int, created_by: str, fields: Mapping[str, Any]) -> IssuedKey:
    """Makes a key for an agent; `fields` are name and, where wanted, user_id, read_only and expires.

    Raises InvalidInput for a bad value, or for the name of another good key of the agent.
    """
    text = SIGN + secrets.token_urlsafe(32)
    row = AgentKey(
        agent_id=agent_id,
        name=clean_text(fields.get("name", ""), "name", 100, required=True).strip(),
        user_id=clean_key(fields.get("user_id", ""), "userId", MAX_USER_ID, required=False),
        read_only=fields.get("read_only", False),
        expires=fields.get("expires"),
        created_by=created_by[:150],
        prefix=text[:SHOWN],
        digest=_digest(text),
    )
    validated(row)
    row.save()
    return IssuedKey(row, text)


def revoke(key: AgentKey) -> bool:
    """Ends a key for good; False when it was revoked before, whose time then stands."""
    revoked = AgentKey.objects.filter(pk=key.pk, revoked=None).update(revoked=timezone.now())
    key.refresh_from_db(fields=["revoked"])
    return bool(revoked)


def authenticate(text: str) -> AgentKey | None:
    """The good key of an enabled agent that this text is, or None; notes its use, at most once a minute.

    It is looked up by its digest: how long that takes tells nothing about the keys there are.
    """
    if not FORM.fullmatch(text):
        return None
    key = AgentKey.objects.good().select_related("agent").filter(digest=_digest(text), agent__enabled=True).first()
    if key is not None:
        _note_use(key)
    return key


def refusal(text: str) -> str:
    """Why `authenticate` knows nothing of a text: whoever holds a key may know that it has ended."""
    rows = AgentKey.objects.select_related("agent")
    key = rows.filter(digest=_digest(text)).first() if FORM.fullmatch(text) else None
    if key is None:
        return _("This is no key of this installation; send one as Authorization: Bearer nck_….")
    if key.revoked:
        return _("This key was revoked; ask an operator for another.")
    if not key.is_good:
        return _("This key has expired; ask an operator for another.")
    return _("The agent of this key is switched off.")


def scope_of(key: AgentKey, header: str) -> Scope:
    """Whose memories a call with this key is about; `header` is the value of USER_HEADER, "" where there is none.

    It is UTF-8, as it is or URL-encoded (a percent sign is always %25). Raises InvalidInput where nobody is named, and
    Refused where a key of one user names another.
    """
    user = _named_user(header)
    if key.user_id:
        if user not in ("", key.user_id):
            raise Refused(_("This key acts for one user only, and %(header)s names another.") % {"header": USER_HEADER})
        return Scope(key.agent.name, key.user_id)
    if not user:
        message = _("Name the user in the header %(header)s, as in %(header)s: ann.")
        raise InvalidInput(message % {"header": USER_HEADER})
    return Scope(key.agent.name, user)


def _named_user(header: str) -> str:
    """A server hands a header over with a character for each byte."""
    try:
        name = unquote_to_bytes(header.strip().encode("latin-1")).decode()
    except UnicodeError:
        message = _("%(header)s must be UTF-8, URL-encoded where it is not ASCII, as in %(header)s: %%E5%%B0%%8F.")
        raise InvalidInput(message % {"header": USER_HEADER}) from None
    return clean_key(name, USER_HEADER, MAX_USER_ID, required=False)


def _note_use(key: AgentKey) -> None:
    now = timezone.now()
    if key.last_used is None or now - key.last_used >= USED_EVERY:
        unused = Q(last_used=None) | Q(last_used__lte=now - USED_EVERY)
        AgentKey.objects.filter(unused, pk=key.pk).update(last_used=now)
        key.last_used = now


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
