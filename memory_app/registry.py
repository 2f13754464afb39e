"""Agent → store: which provider keeps an agent's memories, and which stores an installation has.

The setting is read anew for every operation, one indexed query in the main database, because another process may have
changed it; what costs time to open, the connections to files, is kept by providers/pool.py.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memory_app.contracts import Backend
from memory_app.exceptions import UnknownAgent
from memory_app.models import MemoryConfig
from memory_app.paths import DEFAULT_SQLITE_PATH, resolve
from memory_app.providers.base import MemoryProvider
from memory_app.providers.mysql import MysqlProvider
from memory_app.providers.sqlite import SqliteProvider


def config_for(agent_name: str) -> MemoryConfig:
    """The agent's memory settings; raises UnknownAgent when there is no such agent."""
    config = MemoryConfig.objects.select_related("agent").filter(agent__name=agent_name).first()
    if config is None:
        raise UnknownAgent(_('There is no agent "%(name)s"; create it in the console first.') % {"name": agent_name})
    return config


def provider_for(agent_name: str) -> MemoryProvider:
    """The store of an agent's memories; raises UnknownAgent, or StoreRejected for a file outside the data directory."""
    return provider_of(config_for(agent_name))


def provider_of(config: MemoryConfig) -> MemoryProvider:
    """The store that these settings name."""
    return _provider(config.backend, config.database, config.sqlite_path)


def stores_of(agent_names: Sequence[str]) -> Sequence[MemoryProvider]:
    """The stores of the named agents, each once; unknown names have none."""
    return _distinct(MemoryConfig.objects.filter(agent__name__in=agent_names))


def stores() -> Sequence[MemoryProvider]:
    """Every store that an agent uses, each once."""
    return _distinct(MemoryConfig.objects.all())


def _distinct(configs: QuerySet[MemoryConfig]) -> Sequence[MemoryProvider]:
    places = configs.values_list("backend", "database", "sqlite_path").order_by().distinct()
    found = {provider.label: provider for provider in (_provider(*place) for place in places)}
    return [found[label] for label in sorted(found)]


def _provider(backend: str, database: str, sqlite_path: str) -> MemoryProvider:
    if backend == Backend.MYSQL:
        return MysqlProvider(database or DEFAULT_DB_ALIAS)
    relative = sqlite_path or DEFAULT_SQLITE_PATH
    return SqliteProvider(resolve(settings.DATA_DIR, relative), relative)
