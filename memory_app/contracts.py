"""The values that travel between doors, services and stores: frozen, cleaned and checked when they are made.

Text is kept as written, except that NUL is removed and lone surrogates are replaced. Agent names, user ids and type
keys are trimmed and compared byte for byte. A value out of bounds raises InvalidInput with its repair.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from django.utils.translation import gettext as _

from memory_app.exceptions import InvalidInput

MAX_AGENT_NAME = 100
MAX_USER_ID = 100
MAX_TYPE = 50
MAX_NAME = 255
MAX_DESCRIPTION = 500
MAX_CONTENT = 65_536
MAX_METADATA_BYTES = 65_536
MAX_METADATA_DEPTH = 32
MAX_PAGE_SIZE = 1_000
MAX_RECALL = 50
SHARED: Final = ""


class Backend(StrEnum):
    """Where an agent keeps its memories."""

    MYSQL = "mysql"
    SQLITE = "sqlite"


class Outcome(StrEnum):
    """What a save did."""

    CREATED = "created"
    UPDATED = "updated"
    DUPLICATE = "duplicate"


def clean_text(value: Any, label: str, limit: int, *, required: bool = False) -> str:
    """`value` without NUL and lone surrogates; raises InvalidInput when it is no text or over `limit` characters."""
    if not isinstance(value, str):
        raise InvalidInput(_("%(field)s must be text.") % {"field": label})
    text = value.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if required and not text.strip():
        raise InvalidInput(_("%(field)s must not be empty.") % {"field": label})
    if len(text) > limit:
        raise InvalidInput(
            _("%(field)s has %(size)d characters; shorten it to %(limit)d.")
            % {"field": label, "size": len(text), "limit": limit}
        )
    return text


def clean_key(value: Any, label: str, limit: int, *, required: bool = True) -> str:
    """A name, id or type key: cleaned, trimmed, and without control characters."""
    text = clean_text(value, label, limit=10**6, required=required).strip()
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise InvalidInput(_("%(field)s must not contain line breaks or control characters.") % {"field": label})
    return clean_text(text, label, limit, required=required)


def clean_metadata(value: Any) -> dict[str, Any]:
    """Metadata as a JSON object; None and {} both mean none. Raises InvalidInput for NaN, over 64 KB, or 32 levels."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(_('metadata must be a JSON object such as {"source": "chat"}.'))
    cleaned: dict[str, Any] = _clean_json(value, MAX_METADATA_DEPTH)
    if len(json.dumps(cleaned, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise InvalidInput(_("metadata is over %(limit)d bytes; shorten it.") % {"limit": MAX_METADATA_BYTES})
    return cleaned


def _clean_json(value: Any, depth: int) -> Any:
    if depth < 0:
        raise InvalidInput(_("metadata is nested over %(limit)d levels; flatten it.") % {"limit": MAX_METADATA_DEPTH})
    if isinstance(value, str):
        return clean_text(value, "metadata", limit=10**9)
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(_("metadata must not contain NaN or Infinity; use null or text."))
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {clean_text(key, "metadata", limit=10**9): _clean_json(item, depth - 1) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_clean_json(item, depth - 1) for item in value]
    raise InvalidInput(_("metadata may hold only JSON values: text, numbers, true, false, null, lists and objects."))


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memories an operation may touch: one agent, and one user of it or, for operator doors, all of them.

    A user's scope covers the user's own memories for writing, and those plus the shared ones for reading. The empty
    user id is the shared memories alone. All users must be asked for by name: `Scope.all_users(agent)`.
    """

    agent_name: str
    user_id: str
    everyone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent_name", clean_key(self.agent_name, "agentName", MAX_AGENT_NAME))
        object.__setattr__(self, "user_id", clean_key(self.user_id, "userId", MAX_USER_ID, required=False))

    @classmethod
    def all_users(cls, agent_name: str) -> "Scope":
        """The scope of an operator: every memory of the agent."""
        return cls(agent_name, SHARED, everyone=True)

    @property
    def owners(self) -> tuple[str, ...]:
        """The user ids whose memories this scope reads, its own first."""
        return (self.user_id,) if self.user_id == SHARED else (self.user_id, SHARED)


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory to be saved. `created_at` is given only by imports and moves; metadata {} means none."""

    agent_name: str
    user_id: str
    type: str
    name: str
    content: str
    description: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent_name", clean_key(self.agent_name, "agentName", MAX_AGENT_NAME))
        object.__setattr__(self, "user_id", clean_key(self.user_id, "userId", MAX_USER_ID, required=False))
        object.__setattr__(self, "type", clean_key(self.type, "type", MAX_TYPE))
        object.__setattr__(self, "content", clean_text(self.content, "content", MAX_CONTENT, required=True))
        object.__setattr__(self, "name", clean_text(self.name, "name", MAX_NAME, required=True))
        object.__setattr__(self, "description", clean_text(self.description, "description", MAX_DESCRIPTION))
        object.__setattr__(self, "metadata", clean_metadata(self.metadata))
        if self.created_at is not None and self.created_at.tzinfo is None:
            raise InvalidInput(_("createdAt must carry a time zone."))


class Unset(StrEnum):
    """The value of a field that a change leaves as it is."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class MemoryChanges:
    """A partial edit: a field left UNSET stays as it is; metadata None clears the metadata.

    Another user may be given only in a scope of all users.
    """

    name: str | Unset = UNSET
    content: str | Unset = UNSET
    description: str | Unset = UNSET
    type: str | Unset = UNSET
    metadata: Mapping[str, Any] | Unset | None = UNSET
    user_id: str | Unset = UNSET

    def __post_init__(self) -> None:
        checks = {
            "name": lambda value: clean_text(value, "name", MAX_NAME, required=True),
            "content": lambda value: clean_text(value, "content", MAX_CONTENT, required=True),
            "description": lambda value: clean_text(value, "description", MAX_DESCRIPTION),
            "type": lambda value: clean_key(value, "type", MAX_TYPE),
            "metadata": clean_metadata,
            "user_id": lambda value: clean_key(value, "userId", MAX_USER_ID, required=False),
        }
        for name, check in checks.items():
            value = getattr(self, name)
            if value is not UNSET:
                object.__setattr__(self, name, check(value))

    def values(self) -> dict[str, Any]:
        """The fields to be changed, by name."""
        pairs = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in pairs.items() if value is not UNSET}


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A stored memory (first document, section 3.1). Its identity is {agent_name, id}; `updated_at` is its version."""

    id: int
    agent_name: str
    user_id: str
    type: str
    name: str
    content: str
    description: str
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """A memory before and after a write; None where there was none, or is none any more."""

    before: MemoryEntry | None
    after: MemoryEntry | None

    @property
    def memory(self) -> MemoryEntry:
        """The memory as it is, or as it was last."""
        memory = self.after or self.before
        assert memory is not None
        return memory


@dataclass(frozen=True, slots=True)
class SaveResult:
    """The outcome of a save and the memory as it is stored now."""

    outcome: Outcome
    memory: MemoryEntry


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory, its score (comparable within one answer only) and the query words it holds."""

    memory: MemoryEntry
    score: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Whose memories to search, of which type ("" for any), how many, and for how many seconds at most (None: any)."""

    scope: Scope
    type: str = ""
    limit: int = 10
    seconds: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", clean_key(self.type, "type", MAX_TYPE, required=False))
        object.__setattr__(self, "limit", min(max(1, self.limit), MAX_RECALL))


SORT_FIELDS: Final = (
    "id",
    "agent_name",
    "user_id",
    "type",
    "name",
    "content",
    "description",
    "created_at",
    "updated_at",
)


@dataclass(frozen=True, slots=True)
class PageQuery:
    """An operator's list request: empty tuples mean no filter; every word of `keyword` must occur as a substring.

    `shared` leaves the shared memories alone, or everything but them. A time belongs to a range from its beginning on,
    and no longer at its end; None is an open end.
    """

    agent_names: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    without_agents: tuple[str, ...] = ()
    shared: bool | None = None
    updated_from: datetime | None = None
    updated_before: datetime | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    keyword: str = ""
    page: int = 1
    size: int = 20
    order: str = "updated_at"
    descending: bool = True

    def __post_init__(self) -> None:
        if self.order not in SORT_FIELDS:
            raise InvalidInput(_("Sort by one of: %(fields)s.") % {"fields": ", ".join(SORT_FIELDS)})
        object.__setattr__(self, "page", max(1, self.page))
        object.__setattr__(self, "size", min(max(1, self.size), MAX_PAGE_SIZE))
        object.__setattr__(self, "keyword", clean_text(self.keyword, "keyWord", limit=1_000))

    @property
    def start(self) -> int:
        """The number of rows before this page."""
        return (self.page - 1) * self.size


@dataclass(frozen=True, slots=True)
class AgentStatistics:
    """What one agent keeps in one store; the counts are None when the store can't be read."""

    agent_name: str
    backend: str
    count: int | None
    by_type: Mapping[str, int]
    users: int | None
    last_updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Count:
    """How many memories the stores that answered have; `unavailable` names the others."""

    total: int
    unavailable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """One page of memories over one or more stores; `unavailable` names the stores that could not be read.

    `stores` is how many were asked. `unindexed` holds, for each backend that was searched, the words for which every
    row had to be read.
    """

    rows: tuple[tuple[str, MemoryEntry], ...]
    page: int
    size: int
    total: int
    unavailable: tuple[str, ...] = ()
    stores: int = 1
    unindexed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def unreadable(self) -> bool:
        """Whether no store at all could be read."""
        return bool(self.unavailable) and len(self.unavailable) == self.stores
