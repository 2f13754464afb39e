"""Whole operations of a store: run again while that may help, and failures told in the product's words."""

import logging
from collections.abc import Callable
from functools import wraps
from random import random
from time import sleep
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

from django.db import Error
from django.utils.translation import gettext as _

from memory_app.exceptions import StoreRejected, StoreUnavailable
from memory_app.providers import failures

PAUSE = 0.1
logger = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")


class Repeatable(Protocol):
    """What an operation asks of its store."""

    attempts: ClassVar[int]

    @property
    def key(self) -> str:
        """What identifies the store."""

    @property
    def label(self) -> str:
        """The store's name for operators."""

    def may_retry(self, error: Error) -> bool:
        """Whether the whole operation may succeed when it is run again."""


def operation(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A whole operation of a store: run again while that may help, and in the end told as StoreUnavailable."""

    @wraps(method)
    def run(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return operation_of(self, lambda: method(self, *args, **kwargs))

    return run


def operation_of(provider: Repeatable, work: Callable[[], R]) -> R:
    """Runs `work` as a whole operation of a store (see `operation`)."""
    for attempt in range(1, provider.attempts + 1):
        try:
            return work()
        except StoreRejected as error:
            failures.note(provider.key, error)
            raise _named(error, provider) from None
        except Error as error:
            if attempt == provider.attempts or not provider.may_retry(error):
                logger.exception("Store %s failed", provider.label)
                failures.note(provider.key, error)
                message = _("The memory store %(store)s can't be used at the moment; nothing was changed. Try again.")
                raise StoreUnavailable(message % {"store": provider.label}) from error
            sleep(random() * PAUSE * attempt)
    raise AssertionError("unreachable")


def _named(error: StoreRejected, provider: Repeatable) -> StoreRejected:
    """Which file it is, once."""
    text = error.message if error.message.startswith(provider.label) else f"{provider.label}: {error.message}"
    return StoreRejected(text)
