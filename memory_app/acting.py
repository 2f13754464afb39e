"""Who acts, and through which door: set by the door for the length of a request or a call, read by the history."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class Door(StrEnum):
    """The ways into the product; SYSTEM is code that runs outside of every door."""

    CONSOLE = "console"
    API = "api"
    TOOL = "tool"
    MCP = "mcp"
    CHAT = "chat"
    COMMAND = "command"
    IMPORT = "import"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: an operator's, an agent's or a key's name, or the account of a command; "" where nobody is known."""

    door: Door
    name: str


_NOBODY = Actor(Door.SYSTEM, "")
_ACTOR: ContextVar[Actor] = ContextVar("netaclaw_actor", default=_NOBODY)


def actor() -> Actor:
    """Who acts at the moment."""
    return _ACTOR.get()


@contextmanager
def acting_as(door: Door, name: str) -> Iterator[None]:
    """What is written inside is theirs."""
    token = _ACTOR.set(Actor(door, name))
    try:
        yield
    finally:
        _ACTOR.reset(token)


def become(door: Door, name: str) -> None:
    """For a door that learns who calls only inside a block of `acting_as`, whose end undoes this too."""
    _ACTOR.set(Actor(door, name))
