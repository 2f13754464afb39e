"""Open .db files: a bounded pool of Django connections, lent to one thread at a time under the file's alias.

Django keeps a connection for every alias and thread until the thread ends. With a file for each of many agents that
would hold thousands of file handles, so connections to stores are lent for the length of one operation and kept idle
for reuse, the least recently used closed first. `connections[alias]` exists only while a store is open in this thread.
"""

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import load_backend
from django.utils.translation import gettext as _

from memory_app.exceptions import StoreUnavailable
from memory_app.providers import sqlite_schema
from memory_app.providers.sqlite_schema import BUSY_SECONDS

IDLE_SECONDS = 300
NOTHING = Path(":memory:")
FileIdentity = tuple[int, int]


class _Threads(threading.local):
    """What is open in the current thread, outermost first."""

    def __init__(self) -> None:
        self.aliases: list[str] = []


class StorePool:
    """Connections to .db files; at most `limit` stay open, unless more are in use at one moment."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._preparing: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._idle: OrderedDict[BaseDatabaseWrapper, float] = OrderedDict()
        self._lent: set[BaseDatabaseWrapper] = set()
        self._ready: dict[str, FileIdentity] = {}
        self._full_text: dict[str, bool] = {}
        self._threads = _Threads()

    @contextmanager
    def opened(self, path: Path, *, create: bool, seconds: float | None = None) -> Iterator[str]:
        """Opens the store at `path` in this thread and yields its alias; a missing file reads as empty unless `create`.

        Raises StoreRejected when the file can't serve as a store; StoreUnavailable when it has to be upgraded and the
        caller has only `seconds`: the upgrade goes on without the caller. Reentrant within a thread.
        """
        if not create and not path.exists():
            path = NOTHING
        alias = f"store:{path}"
        if alias in self._threads.aliases:
            yield alias
            return
        connection = self._borrow(alias, path, seconds)
        connections[alias] = connection
        self._threads.aliases.append(alias)
        try:
            self._prepare(connection, path, seconds)
            yield alias
        finally:
            self._threads.aliases.remove(alias)
            del connections[alias]
            self._give_back(connection)

    def current_alias(self) -> str:
        """The alias of the store opened last in this thread; raises StoreUnavailable when none is."""
        if not self._threads.aliases:
            raise StoreUnavailable("No store is open here: memories are read and written through their provider.")
        return self._threads.aliases[-1]

    def discard(self, path: Path) -> None:
        """Closes the idle connections to a file and forgets it, for a file that an agent no longer uses."""
        alias = f"store:{path}"
        with self._lock:
            self._ready.pop(alias, None)
            self._close([connection for connection in self._idle if connection.alias == alias])

    def close_all(self) -> None:
        """Closes every idle connection."""
        with self._lock:
            self._ready.clear()
            self._close(list(self._idle))

    def open_count(self) -> int:
        """How many connections are open at this moment, lent or idle."""
        with self._lock:
            return len(self._idle) + len(self._lent)

    def _borrow(self, alias: str, path: Path, seconds: float | None) -> BaseDatabaseWrapper:
        self._forget_replaced(alias, path)
        with self._lock:
            connection = next((idle for idle in reversed(self._idle) if idle.alias == alias), None)
            if connection:
                del self._idle[connection]
            self._evict(room_for=0 if connection else 1)
            connection = connection or _new_connection(alias, path, BUSY_SECONDS if seconds is None else seconds)
            self._lent.add(connection)
        return connection

    def _prepare(self, connection: BaseDatabaseWrapper, path: Path, seconds: float | None) -> None:
        """Brings the file's schema up to date once per process; the empty store is made anew in every connection."""
        if path is NOTHING:
            if connection.connection is None:
                self._full_text[connection.alias] = sqlite_schema.bring_up_to_date(connection)
        elif connection.alias not in self._ready:
            if seconds is not None and not _is_current(connection, seconds):
                threading.Thread(target=self._upgrade, args=(path,), daemon=True).start()
                raise StoreUnavailable(_("The SQLite file is being upgraded; its memories are there in a while."))
            with self._preparing[connection.alias]:
                if connection.alias not in self._ready:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self._full_text[connection.alias] = sqlite_schema.bring_up_to_date(connection)
                    self._ready[connection.alias] = _identity(path)

    def _upgrade(self, path: Path) -> None:
        """Opens a file for the sake of its upgrade; what is wrong with it, its next reader is told."""
        with suppress(StoreUnavailable, Error), self.opened(path, create=True):
            pass

    def full_text(self, alias: str) -> bool:
        """Whether the opened store has its full-text indexes; without them search reads the owner's rows."""
        return self._full_text[alias]

    def _forget_replaced(self, alias: str, path: Path) -> None:
        """A file that was deleted or replaced under us must be opened anew, or writes would go to the old one."""
        known = self._ready.get(alias)
        if known and (not path.exists() or _identity(path) != known):
            self.discard(path)

    def _give_back(self, connection: BaseDatabaseWrapper) -> None:
        with self._lock:
            self._lent.discard(connection)
            healthy = connection.connection is not None and not connection.in_atomic_block
            if healthy and (connection.alias in self._ready or connection.alias == f"store:{NOTHING}"):
                self._idle[connection] = time.monotonic()
                self._evict(room_for=0)
            else:
                connection.close()

    def _evict(self, room_for: int) -> None:
        oldest_allowed = time.monotonic() - IDLE_SECONDS
        surplus = len(self._idle) + len(self._lent) + room_for - self.limit
        stale = [connection for connection, since in self._idle.items() if since < oldest_allowed]
        self._close(stale or list(self._idle)[: max(0, surplus)])

    def _close(self, idle: list[BaseDatabaseWrapper]) -> None:
        for connection in idle:
            self._idle.pop(connection)
            connection.close()


def _is_current(connection: BaseDatabaseWrapper, seconds: float) -> bool:
    """Asked with the caller's patience; a file that is locked for longer raises the database's error."""
    with sqlite_schema.damage_told(), connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout={max(1, int(seconds * 1000))}")
        try:
            return sqlite_schema.is_current(connection)
        finally:
            cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")


def _identity(path: Path) -> FileIdentity:
    status = path.stat()
    return status.st_dev, status.st_ino


def _new_connection(alias: str, path: Path, seconds: float) -> BaseDatabaseWrapper:
    """A connection with the main database's defaults for whatever a store doesn't set itself.

    `seconds` bounds the wait for a lock, and that begins with connecting: PRAGMA synchronous reads the file.
    """
    database: dict[str, Any] = {
        **connections.settings[DEFAULT_DB_ALIAS],
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "ATOMIC_REQUESTS": False,
        "AUTOCOMMIT": True,
        "TIME_ZONE": None,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": False,
        "OPTIONS": {
            "timeout": seconds,
            "transaction_mode": "IMMEDIATE",
            "init_command": f"PRAGMA busy_timeout={max(1, int(seconds * 1000))}; PRAGMA synchronous=NORMAL",
        },
    }
    connection: BaseDatabaseWrapper = load_backend(database["ENGINE"]).DatabaseWrapper(database, alias)
    connection.inc_thread_sharing()
    return connection


POOL = StorePool(settings.MAX_OPEN_STORES)


def current_alias() -> str:
    """The alias of the store that is open in this thread, for the database router."""
    return POOL.current_alias()
