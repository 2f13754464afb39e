"""Which database a model's rows live in: store rows in the opened store, everything else in the main database."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model

from memory_app.models import SqliteMemory
from memory_app.providers import pool


class StoreRouter:
    """Sends SqliteMemory to the store that is open in this thread, and keeps migrations out of .db files."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str | None:
        return self._database(model)

    def db_for_write(self, model: type[Model], **hints: Any) -> str | None:
        return self._database(model)

    def _database(self, model: type[Model]) -> str | None:
        return pool.current_alias() if issubclass(model, SqliteMemory) else None

    def allow_relation(self, first: Model, second: Model, **hints: Any) -> bool | None:
        """Memory rows hold plain names and ids: no relation crosses databases."""
        return None

    def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **hints: Any) -> bool | None:
        """Everything goes to the main database; a named one holds the table of memories only, a replica makes none."""
        if db == DEFAULT_DB_ALIAS:
            return None
        return app_label == "memory_app" and bool(hints.get("store")) and "-replica-" not in db
