"""The store contract (first document, section 4.1; second document, section 3.3): what every backend does alike.

One provider serves one store, which holds many agents; every call names the agent and user it is for by its Scope.
All methods raise StoreUnavailable when the store can't be reached, and write nothing in that case.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from memory_app.contracts import (
    AgentStatistics,
    Hit,
    MemoryChanges,
    MemoryDraft,
    MemoryEntry,
    Page,
    PageQuery,
    SaveResult,
    Scope,
    SearchOptions,
)
from memory_app.exceptions import NetaclawError


class SortKey(NamedTuple):
    """A row's place in a list over several stores: the sort field's value, then the id."""

    value: Any
    id: int


class MemoryProvider(ABC):
    """A store of memories."""

    backend: ClassVar[str]

    @property
    @abstractmethod
    def key(self) -> str:
        """What identifies the store, however settings spell it; not for people."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The store's name for operators; no absolute path."""

    @abstractmethod
    def save(self, draft: MemoryDraft) -> SaveResult:
        """Stores a memory; the same owner, type and text again is a duplicate and returns the memory that is there."""

    @abstractmethod
    def save_many(self, drafts: Sequence[MemoryDraft]) -> Sequence[SaveResult]:
        """`save` for each draft, all of them or, when the store fails, none."""

    @abstractmethod
    def find_twin(self, draft: MemoryDraft) -> MemoryEntry | None:
        """The memory that makes this one a duplicate."""

    @abstractmethod
    def update(
        self,
        scope: Scope,
        memory_id: int,
        changes: MemoryChanges,
        expected: datetime | None = None,
        check: Callable[[MemoryEntry], None] | None = None,
    ) -> MemoryEntry:
        """Edits one memory; `expected` is the `updated_at` the caller read, None for an edit of whatever is there.

        Raises MemoryNotFound outside the scope, Refused for a shared memory in a user's scope, and Conflict, with the
        current memory, when it is no longer the expected one. The new `updated_at` is strictly later than the old.
        `check` is shown the memory that would be changed, and refuses by what it raises. Another user may be given only
        in a scope of all users.
        """

    @abstractmethod
    def update_many(
        self,
        scope: Scope,
        changes: MemoryChanges,
        expected: Mapping[int, datetime],
        check: Callable[[MemoryEntry], None] | None = None,
    ) -> Mapping[int, MemoryEntry | NetaclawError]:
        """The same `update` of each memory, in one transaction: for each id the memory, or what `update` would raise.

        One that is refused holds up no other.
        """

    @abstractmethod
    def delete(self, scope: Scope, memory_ids: Collection[int], expected: Mapping[int, datetime] | None = None) -> int:
        """Deletes the scope's own memories of these ids and returns how many there were.

        With `expected`, the `updated_at` that the caller read of each id, those that are no longer the same stay.
        """

    @abstractmethod
    def search(self, query: str, options: SearchOptions) -> Sequence[Hit]:
        """The memories that hold any term of a raw message, best first; none for a message without terms."""

    @abstractmethod
    def list(self, scope: Scope, type: str = "", limit: int = 10) -> Sequence[MemoryEntry]:
        """The scope's latest memories, newest first."""

    @abstractmethod
    def get(self, scope: Scope, memory_id: int) -> MemoryEntry | None:
        """The memory of this id, or None outside the scope."""

    @abstractmethod
    def page(self, query: PageQuery) -> Page:
        """One page of the store's memories for operators; beyond the end it is empty, with the true total."""

    @abstractmethod
    def count(self, query: PageQuery) -> int:
        """How many memories the filters of `query` leave."""

    @abstractmethod
    def keys(self, query: PageQuery, limit: int) -> Sequence[SortKey]:
        """The sort keys of the first `limit` memories, for merging several stores."""

    @abstractmethod
    def unindexed(self, keyword: str) -> Sequence[str]:
        """The words of an operator's search for which every row is read, because no index can tell who holds them."""

    @abstractmethod
    def entries(self, memory_ids: Collection[int]) -> Mapping[int, MemoryEntry]:
        """The memories of these ids, whoever owns them; for ids that came out of `keys`."""

    @abstractmethod
    def stats(self, agent_names: Collection[str] = ()) -> Sequence[AgentStatistics]:
        """A row for each agent that has memories here; all agents when none is named."""

    @abstractmethod
    def agent_names(self) -> Collection[str]:
        """Every agent that has memories here."""

    @abstractmethod
    def count_by_type(self, scope: Scope) -> Mapping[str, int]:
        """How many memories of each type the scope reads; types without any are left out."""

    @abstractmethod
    def close(self) -> None:
        """Closes what the store keeps open."""
