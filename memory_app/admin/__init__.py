"""The operators' pages in Django's admin: memories of all stores, types, API tokens, an agent's memory section."""

from memory_app.admin import audit, memories, tokens, types
from memory_app.admin.base import ErrorsAsMessages
from memory_app.admin.config import MemoryConfigInline

__all__ = ["ErrorsAsMessages", "MemoryConfigInline", "audit", "memories", "tokens", "types"]
