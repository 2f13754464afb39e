"""The product's errors: one tree, stable codes, sentences for people that say the repair. Doors translate them once."""

from typing import Any

from django.utils.translation import gettext as _


class NetaclawError(Exception):
    """Base of every error a door may show; `code` is stable for programs, `message` is for people."""

    code = "error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidInput(NetaclawError):
    """A value that can't be accepted; nothing was written."""

    code = "invalid"


class UnknownType(InvalidInput):
    """A memory type that doesn't exist."""

    code = "unknown_type"


class UnknownTool(InvalidInput):
    """A tool that doesn't exist."""

    code = "unknown_tool"


class UnknownAgent(NetaclawError):
    """No agent of that name exists."""

    code = "unknown_agent"


class MemoryNotFound(NetaclawError):
    """No such memory within the caller's scope."""

    code = "not_found"


class Refused(NetaclawError):
    """A well-formed request that a rule of the product forbids."""

    code = "refused"


class Conflict(NetaclawError):
    """The memory changed after the caller read it; `current` is the MemoryEntry that is there now."""

    code = "conflict"

    def __init__(self, message: str, current: Any) -> None:
        super().__init__(message)
        self.current = current


def conflict_sentence() -> str:
    """What people are told of a Conflict, whoever notices it."""
    return _("Somebody changed this memory after you opened it. Look at the current text and apply your change again.")


class StoreUnavailable(NetaclawError):
    """A store that can't be read or written at the moment; its memories are not lost."""

    code = "store_unavailable"


class StoreMoved(StoreUnavailable):
    """The agent's memories were moved to another store between finding the old one and writing to it."""

    code = "store_moved"


class StoreRejected(StoreUnavailable):
    """A file that can't serve as a store (not ours, newer, damaged, in the wrong place); it is left as it was."""

    code = "store_rejected"
