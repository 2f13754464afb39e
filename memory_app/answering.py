"""Which stores answer a list: one that is locked or unreachable must hold up neither this list nor the next."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from memory_app.exceptions import StoreUnavailable
from memory_app.providers.rows import RowProvider

ANSWER_SECONDS = 1.0
READ_SECONDS = 10.0
SILENT_SECONDS = 10.0
_silent_until: dict[str, float] = {}


@contextmanager
def answering(provider: RowProvider) -> Iterator[Collection[str]]:
    """Yields the agents that have memories in the store, which must tell them within ANSWER_SECONDS.

    What is read inside may take READ_SECONDS a query: sorting and searching a large store is slow, and no failure. A
    store that didn't answer in time is not asked again for SILENT_SECONDS: it raises StoreUnavailable at once.
    """
    if time.monotonic() < _silent_until.get(provider.key, 0):
        raise StoreUnavailable(_("The memory store %(store)s didn't answer in time.") % {"store": provider.label})
    begun = time.monotonic()
    try:
        provider.patience = ANSWER_SECONDS
        names = provider.agent_names()
    except StoreUnavailable:
        if time.monotonic() - begun >= ANSWER_SECONDS * 0.9:
            _silent_until[provider.key] = time.monotonic() + SILENT_SECONDS
        raise
    provider.patience = READ_SECONDS
    yield names
