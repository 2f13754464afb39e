"""The tables of the memory: types, each agent's memory settings and keys, API tokens, memories and their changes."""

from memory_app.models.config import (
    MemoryConfig,
    available_backends,
    default_backend,
    mysql_is_main,
    named_databases,
    validate_sqlite_path,
)
from memory_app.models.history import MemoryChange
from memory_app.models.keys import AgentKey, validate_user_id
from memory_app.models.rows import Memory, MemoryRow, MetadataEncoder, SqliteMemory
from memory_app.models.tokens import ApiToken, validate_future
from memory_app.models.types import (
    BUILTIN_TYPES,
    MemoryType,
    TypeInfo,
    validate_metadata_schema,
    validate_type_key,
    validated,
)

__all__ = [
    "BUILTIN_TYPES",
    "AgentKey",
    "ApiToken",
    "Memory",
    "MemoryChange",
    "MemoryConfig",
    "MemoryRow",
    "MemoryType",
    "MetadataEncoder",
    "SqliteMemory",
    "TypeInfo",
    "available_backends",
    "default_backend",
    "mysql_is_main",
    "named_databases",
    "validate_future",
    "validate_metadata_schema",
    "validate_sqlite_path",
    "validate_type_key",
    "validate_user_id",
    "validated",
]
