"""Agent → store: which provider keeps an agent's memories, and which stores an installation has.

The setting is read anew for every operation, one indexed query in the main database, because another process may have
changed it; what costs time to open, the connections to files, is kept by providers/pool.py.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError
from django.utils.translation import gettext as _

from memory_app.contracts import Backend
from memory_app.exceptions import StoreMoved, StoreUnavailable, UnknownAgent
from memory_app.models import MemoryConfig
from memory_app.paths import Place, resolve
from memory_app.providers.mysql import MysqlProvider
from memory_app.providers.rows import RowProvider
from memory_app.providers.sqlite import SqliteProvider

COPY, REMOVE = "copy", "remove"
logger = logging.getLogger(__name__)


def config_for(agent_name: str) -> MemoryConfig:
    """The agent's memory settings; raises UnknownAgent when there is no such agent."""
    try:
        config = MemoryConfig.objects.select_related("agent").filter(agent__name=agent_name).first()
    except DatabaseError as error:
        logger.exception("The main database failed")
        raise StoreUnavailable(
            _("The database can't be used at the moment; nothing was changed. Try again.")
        ) from error
    if config is None:
        raise UnknownAgent(_('There is no agent "%(name)s"; create it in the console first.') % {"name": agent_name})
    return config


def provider_for(agent_name: str) -> RowProvider:
    """The store of an agent's memories; raises UnknownAgent, or StoreRejected for a file outside the data directory."""
    return provider_of(config_for(agent_name))


def provider_of(config: MemoryConfig) -> RowProvider:
    """The store that these settings name; a write to it is refused once the settings say otherwise."""
    provider = store_at(config.place)
    provider.fence = partial(_check_place, config.pk, config.place)
    return provider


@dataclass(frozen=True, slots=True)
class Home:
    """A store, and the agents whose memories are there: what it holds of other agents is not to be seen."""

    provider: RowProvider
    agents: frozenset[str]


def homes(agent_names: Collection[str] = ()) -> Sequence[Home]:
    """Every store that an agent uses, each once, with its agents; with names, the stores of these agents alone."""
    configs = MemoryConfig.objects.filter(agent__name__in=agent_names) if agent_names else MemoryConfig.objects.all()
    agents: dict[Place, set[str]] = defaultdict(set)
    for name, backend, database, path in configs.values_list("agent__name", "backend", "database", "sqlite_path"):
        agents[Place(backend, database, path).normal()].add(name)
    found: dict[str, Home] = {}
    for place in sorted(agents):
        provider = store_at(place)
        known = found.get(provider.key)
        names = agents[place] | (known.agents if known else set())
        found[provider.key] = Home(known.provider if known else provider, frozenset(names))
    return list(found.values())


def stores() -> Sequence[RowProvider]:
    """Every store that an agent uses, each once."""
    return [home.provider for home in homes()]


def store_at(place: Place) -> RowProvider:
    """The store of a place, without a fence: for readers of many agents, and for moving."""
    place = place.normal()
    if place.backend == Backend.MYSQL:
        return MysqlProvider(place.database or DEFAULT_DB_ALIAS)
    return SqliteProvider(resolve(settings.DATA_DIR, place.sqlite_path), place.sqlite_path)


def _check_place(config_id: int, place: Place) -> None:
    """The fence of a write, asked inside its transaction."""
    current = MemoryConfig.objects.filter(pk=config_id).first()
    if current is None or current.place.normal() != place.normal():
        raise StoreMoved(_("The agent's memories are in another store now; try again."))
    if current.move is not None and current.move["phase"] == COPY:
        raise StoreUnavailable(_("The agent's memories are being moved to another store; try again in a moment."))
