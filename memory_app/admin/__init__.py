"""The operators' pages in Django's admin: memories of all stores, types, tokens and keys, an agent's memory section."""

from memory_app.admin import audit, keys, memories, tokens, types
from memory_app.admin.base import ErrorsAsMessages
from memory_app.admin.config import Kept, MemoryConfigInline, kept_by
from memory_app.admin.keys import keys_section, shown_agent

__all__ = [
    "ErrorsAsMessages",
    "Kept",
    "MemoryConfigInline",
    "audit",
    "kept_by",
    "keys",
    "keys_section",
    "memories",
    "shown_agent",
    "tokens",
    "types",
]
