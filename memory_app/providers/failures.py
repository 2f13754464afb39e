"""What went wrong last in each store: noted by whichever process met it, told on the page of the system's status."""

import re
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

from django.core.cache import cache
from django.db import Error
from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app.exceptions import NetaclawError

KEPT_SECONDS = 7 * 24 * 3600
DAMAGED = re.compile("not a database|malformed")


class Failure(NamedTuple):
    """A server's error code, or SQLite's words, or our own sentence about a file; and when."""

    at: datetime
    code: int | None
    text: str
    sentence: str = ""


def note(key: str, error: Exception) -> None:
    """Remembers the failure of the store of this key for a week; a cache that fails too is no further failure."""
    with suppress(OSError):
        cache.set(_name(key), failure_of(error), KEPT_SECONDS)


def last(key: str) -> Failure | None:
    """The store's last failure, whether or not it answers by now."""
    found: Failure | None = cache.get(_name(key))
    return found


def failure_of(error: BaseException) -> Failure:
    """The failure that an error tells of, or the one that caused it."""
    origin = error.__cause__ if isinstance(error.__cause__, Error) else error
    code = origin.args[0] if isinstance(origin, Error) and origin.args else None
    if isinstance(code, int):
        return Failure(timezone.now(), code, "")
    sentence = error.message if isinstance(error, NetaclawError) else ""
    return Failure(timezone.now(), None, str(origin) if isinstance(origin, Error) else "", sentence)


def told(failure: Failure) -> str:
    """The failure in a few words that name no path, host or account."""
    if failure.code is not None:
        return _code(failure.code)
    if DAMAGED.search(failure.text):
        return _("The file is no readable SQLite database; restore it from a backup.")
    if "interrupted" in failure.text:
        return _("The answer takes too long.")
    if failure.text and "/" not in failure.text and len(failure.text) < 100:
        return _("SQLite says: %(text)s.") % {"text": failure.text}
    return failure.sentence or _("The store failed; the server's log says why.")


def _code(code: int) -> str:
    return {
        1045: _("The server refuses the account or its password."),
        1049: _("The server has no such database."),
        1146: _("The table of memories is missing; run migrate."),
        1205: _("The server waits for a lock too long."),
        1969: _("The answer takes too long."),
        2002: _("The server can't be reached."),
        2003: _("The server can't be reached."),
        2005: _("The server's name is unknown."),
        2006: _("The connection to the server is lost."),
        2013: _("The connection to the server is lost."),
        3024: _("The answer takes too long."),
    }.get(code, _("The server answers with error %(code)d.") % {"code": code})


def _name(key: str) -> str:
    return f"store-failure:{blake2b(key.encode(), digest_size=16).hexdigest()}"
