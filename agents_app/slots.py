"""How many chats this process answers at once: each holds a thread of the server, and the console needs some too."""

import threading

from django.conf import settings
from django.utils.translation import gettext as _

from agents_app.exceptions import TooManyChats

_LOCK = threading.Lock()
_taken = 0


class Slot:
    """One of NETACLAW_CHATS places, to be given back once."""

    def __init__(self) -> None:
        """Takes a place; raises TooManyChats where there is none."""
        global _taken
        with _LOCK:
            if _taken >= settings.CHATS:
                raise TooManyChats(_("All places for chats are taken; try again in a few seconds."))
            _taken += 1
        self._held = True

    def give_back(self) -> None:
        """Frees the place; the second time does nothing."""
        global _taken
        with _LOCK:
            _taken -= self._held
            self._held = False


def taken() -> int:
    """How many places are taken at the moment."""
    return _taken
