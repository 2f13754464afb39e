"""Agent → store: which provider keeps an agent's memories, and which stores an installation has.

The setting is read anew for every operation, one indexed query in the main database, because another process may have
changed it; what costs time to open, the connections to files, is kept by providers/pool.py.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memory_app.contracts import Backend
from memory_app.exceptions import StoreMoved, StoreUnavailable, UnknownAgent
from memory_app.models import MemoryConfig
from memory_app.paths import Place, resolve
from memory_app.providers.mysql import MysqlProvider
from memory_app.providers.rows import RowProvider
from memory_app.providers.sqlite import SqliteProvider

COPY, REMOVE = "copy", "remove"


def config_for(agent_name: str) -> MemoryConfig:
    """The agent's memory settings; raises UnknownAgent when there is no such agent."""
    config = MemoryConfig.objects.select_related("agent").filter(agent__name=agent_name).first()
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


def stores_of(agent_names: Sequence[str]) -> Sequence[RowProvider]:
    """The stores of the named agents, each once; unknown names have none."""
    return _distinct(MemoryConfig.objects.filter(agent__name__in=agent_names))


def stores() -> Sequence[RowProvider]:
    """Every store that an agent uses, each once."""
    return _distinct(MemoryConfig.objects.all())


def moving() -> Mapping[str, str]:
    """The agents whose memories are on their way, and the label of the store that counts for them meanwhile."""
    configs = MemoryConfig.objects.filter(move__isnull=False).select_related("agent")
    return {config.agent.name: store_at(config.place).label for config in configs}


def store_at(place: Place) -> RowProvider:
    """The store of a place, without a fence: for readers of many agents, and for moving."""
    place = place.normal()
    if place.backend == Backend.MYSQL:
        return MysqlProvider(place.database or DEFAULT_DB_ALIAS)
    return SqliteProvider(resolve(settings.DATA_DIR, place.sqlite_path), place.sqlite_path)


def _distinct(configs: QuerySet[MemoryConfig]) -> Sequence[RowProvider]:
    places = configs.values_list("backend", "database", "sqlite_path").order_by().distinct()
    found = {Place(*place).normal() for place in places}
    return [store_at(place) for place in sorted(found)]


def _check_place(config_id: int, place: Place) -> None:
    """The fence of a write, asked inside its transaction."""
    current = MemoryConfig.objects.filter(pk=config_id).first()
    if current is None or current.place.normal() != place.normal():
        raise StoreMoved(_("The agent's memories are in another store now; try again."))
    if current.move is not None and current.move["phase"] == COPY:
        raise StoreUnavailable(_("The agent's memories are being moved to another store; try again in a moment."))
