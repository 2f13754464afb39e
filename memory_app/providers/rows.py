"""What both backends share: the store contract on Django's ORM. Engines differ in how they find words."""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from django.db import DEFAULT_DB_ALIAS, Error, connections, transaction
from django.db.models import Count, F, Max, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _

from memory_app.analysis import Kind, Prefixes, Query, owner_prefixes, parse_query
from memory_app.contracts import (
    SHARED,
    UNSET,
    AgentStatistics,
    Change,
    Hit,
    MemoryChanges,
    MemoryDraft,
    MemoryEntry,
    Outcome,
    Page,
    PageQuery,
    SaveResult,
    Scope,
    SearchOptions,
)
from memory_app.exceptions import (
    Conflict,
    MemoryNotFound,
    NetaclawError,
    Refused,
    StoreUnavailable,
    conflict_sentence,
)
from memory_app.indexing import terms_of
from memory_app.models import MemoryRow
from memory_app.providers.base import MemoryProvider, SortKey
from memory_app.providers.operations import operation
from memory_app.ranking import Candidate, Scored, Statistics, rank

SMALL_OWNER = 300
MAX_CANDIDATES = 300
LENGTH_SAMPLE = 200
BLIND_ATTEMPTS = 20
TEXT = ("name", "content", "description")
IDENTITY = ("agent_name", "user_id", "type", *TEXT)
TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Edit:
    """What an update does, within which scope, and what may refuse it."""

    scope: Scope
    changes: MemoryChanges
    check: Callable[[MemoryEntry], None] | None

    def __post_init__(self) -> None:
        if self.changes.user_id is not UNSET and not self.scope.everyone:
            raise Refused(_("Only an operator may give a memory to another user."))


class RowProvider(MemoryProvider):
    """The contract over a model; a subclass opens its store and asks its engine's full-text index."""

    model: type[MemoryRow]
    twin_query: ClassVar[str]
    attempts: ClassVar[int] = 1
    names_query: ClassVar[str] = ""

    def __init__(self) -> None:
        self.fence: Callable[[], None] = _let_pass
        self.journal: Callable[[Sequence[Change]], None] | None = None
        self.patience: float | None = None

    @abstractmethod
    def _opened(self, *, write: bool, seconds: float | None = None) -> AbstractContextManager[str]:
        """Opens the store in this thread and yields its database alias; `seconds` bounds what a query may take."""

    @abstractmethod
    def _is_indexed(self, word: str, alias: str) -> bool:
        """Whether an index of the open store tells which rows hold the word."""

    @abstractmethod
    def _contains(self, word: str) -> Q:
        """The condition that a word occurs as a substring of title, content or description."""

    def _narrowed(self, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """The same rows, found by an index where one can tell which hold the word."""
        return rows

    @abstractmethod
    def _statistics(self, query: Query, owners: Sequence[Prefixes], rows: QuerySet[Any]) -> Statistics | None:
        """A large owner's statistics by the full-text index; None when there is no index to ask."""

    @abstractmethod
    def _best_rows(
        self, query: Query, owners: Sequence[Prefixes], statistics: Statistics, rows: QuerySet[Any], *, widened: bool
    ) -> QuerySet[Any]:
        """The owner's rows that the index finds best; `widened` also by prefixes and single characters."""

    @contextmanager
    def reading(self, seconds: float | None = None) -> Iterator[QuerySet[Any]]:
        """The store's rows, for reading; `seconds`, or the provider's patience, bounds what a query may take."""
        with self._opened(write=False, seconds=seconds or self.patience) as alias:
            yield self.model._default_manager.using(alias)

    @contextmanager
    def writing(self) -> Iterator[QuerySet[Any]]:
        """The store's rows in a transaction; the fence is asked when other writers and a mover can no longer pass."""
        with self._opened(write=True) as alias, transaction.atomic(using=alias):
            self._enter(alias)
            self.fence()
            yield self.model._default_manager.using(alias)

    @abstractmethod
    def wait_for_writers(self) -> None:
        """Returns when every write that was under way has ended; those that begin later meet their fence."""

    def _enter(self, alias: str) -> None:
        """Makes `wait_for_writers` wait for this transaction, where its beginning alone doesn't."""

    def _tell(self, alias: str, changes: Sequence[Change]) -> None:
        """Told in the transaction itself where the journal is in the same database, else when it is committed.

        Waiting for the main database's lock while holding the store's could wait for ever.
        """
        if self.journal is None or not changes:
            return
        if alias == DEFAULT_DB_ALIAS:
            self.journal(changes)
        else:
            transaction.on_commit(partial(self.journal, changes), using=alias, robust=True)

    def may_retry(self, error: Error) -> bool:
        """Whether the whole operation may succeed when it is run again."""
        return False

    def _sort_key(self, query: PageQuery) -> Any:
        return F(query.order)

    def _order(self, query: PageQuery) -> tuple[Any, str]:
        key = self._sort_key(query)
        return (key.desc(), "-id") if query.descending else (key.asc(), "id")

    def save(self, draft: MemoryDraft) -> SaveResult:
        return self.save_many([draft])[0]

    @operation
    def save_many(self, drafts: Sequence[MemoryDraft]) -> Sequence[SaveResult]:
        with self.writing() as rows:
            saved = [self._twin(rows, draft) or self._row(draft) for draft in drafts]
            first: dict[tuple[str, ...], MemoryRow] = {}
            for row in saved:
                first.setdefault(_identity(row), row)
            new = [row for row in first.values() if row.pk is None]
            self._insert(rows, new)
            self._tell(rows.db, [Change(None, row.entry()) for row in new])
            created = {id(row) for row in new}
            outcomes = [Outcome.CREATED if id(row) in created else Outcome.DUPLICATE for row in saved]
            return [
                SaveResult(outcome, first[_identity(row)].entry()) for outcome, row in zip(outcomes, saved, strict=True)
            ]

    def _twin(self, rows: QuerySet[Any], draft: MemoryDraft) -> MemoryRow | None:
        """The oldest memory with the same owner, type and text; found by an index over the text's beginning."""
        with connections[rows.db].cursor() as cursor:
            cursor.execute(self.twin_query, [*_identity(draft), draft.content])
            found = cursor.fetchone()
        return rows.get(pk=found[0]) if found else None

    @operation
    def find_twin(self, draft: MemoryDraft) -> MemoryEntry | None:
        with self.reading() as rows:
            row = self._twin(rows, draft)
            return row.entry() if row else None

    def _row(self, draft: MemoryDraft) -> MemoryRow:
        created = draft.created_at or timezone.now()
        values = dict(zip(IDENTITY, _identity(draft), strict=True))
        row = self.model(**values, metadata=draft.metadata or None, created_at=created, updated_at=created)
        row.terms = terms_of_row(row)
        return row

    def _insert(self, rows: QuerySet[Any], new: Sequence[MemoryRow]) -> None:
        """In one statement where the engine tells the new ids, else one by one."""
        if connections[rows.db].features.can_return_rows_from_bulk_insert:
            rows.bulk_create(new)
        else:
            for row in new:
                row.save(using=rows.db, force_insert=True)

    @operation
    def update(
        self,
        scope: Scope,
        memory_id: int,
        changes: MemoryChanges,
        expected: datetime | None = None,
        check: Callable[[MemoryEntry], None] | None = None,
    ) -> MemoryEntry:
        edit = _Edit(scope, changes, check)
        with self.writing() as rows:
            change = self._edited(rows, edit, memory_id, expected)
            self._tell(rows.db, [change])
            return change.memory

    @operation
    def update_many(
        self,
        scope: Scope,
        changes: MemoryChanges,
        expected: Mapping[int, datetime],
        check: Callable[[MemoryEntry], None] | None = None,
    ) -> Mapping[int, MemoryEntry | NetaclawError]:
        edit = _Edit(scope, changes, check)
        told: dict[int, MemoryEntry | NetaclawError] = {}
        done: list[Change] = []
        with self.writing() as rows:
            for memory_id, version in expected.items():
                try:
                    done.append(self._edited(rows, edit, memory_id, version))
                    told[memory_id] = done[-1].memory
                except StoreUnavailable:
                    raise
                except NetaclawError as error:  # raised before anything is written
                    told[memory_id] = error
            self._tell(rows.db, done)
        return told

    def _edited(self, rows: QuerySet[Any], edit: "_Edit", memory_id: int, expected: datetime | None) -> Change:
        for _attempt in range(BLIND_ATTEMPTS):
            row = self._writable(rows, edit.scope, memory_id)
            if expected is not None and row.updated_at != expected:
                raise _conflict(row)
            before = row.entry()
            if edit.check:
                edit.check(before)
            if self._write(rows, row, edit.changes):
                return Change(before, row.entry())
        raise _conflict(self._writable(rows, edit.scope, memory_id))

    def _write(self, rows: QuerySet[Any], row: Any, changes: MemoryChanges) -> bool:
        """One conditional UPDATE; False when somebody else wrote the row since it was read."""
        read_at = row.updated_at
        changed = changes.values()
        for name, value in changed.items():
            setattr(row, name, value or None if name == "metadata" else value)
        row.updated_at = max(timezone.now(), read_at + TICK)
        row.terms = terms_of_row(row)
        values = {name: getattr(row, name) for name in (*changed, "terms", "updated_at")}
        return bool(rows.filter(pk=row.pk, updated_at=read_at).update(**values))

    def _writable(self, rows: QuerySet[Any], scope: Scope, memory_id: int) -> Any:
        row = _within(rows, scope).filter(pk=memory_id).first()
        if row is None:
            raise MemoryNotFound(
                _("Agent %(agent)s has no memory %(id)s here; it may have been deleted.")
                % {"agent": scope.agent_name, "id": memory_id}
            )
        if not scope.everyone and row.user_id != scope.user_id:
            raise Refused(
                _("Memory %(id)s is shared by all users; only an operator may change it.") % {"id": memory_id}
            )
        return row

    @operation
    def delete(self, scope: Scope, memory_ids: Collection[int], expected: Mapping[int, datetime] | None = None) -> int:
        with self.writing() as rows:
            owned = rows.filter(agent_name=scope.agent_name, pk__in=list(memory_ids))
            if not scope.everyone:
                owned = owned.filter(user_id=scope.user_id)
            found = [row.entry() for row in owned.select_for_update().defer("terms")]
            doomed = [memory for memory in found if expected is None or expected.get(memory.id) == memory.updated_at]
            self._tell(rows.db, [Change(memory, None) for memory in doomed])
            return rows.filter(pk__in=[memory.id for memory in doomed]).delete()[0] if doomed else 0

    @operation
    def list(self, scope: Scope, type: str = "", limit: int = 10) -> Sequence[MemoryEntry]:
        with self.reading() as rows:
            found = _of_type(_within(rows, scope), type).order_by("-updated_at", "-id")
            return [row.entry() for row in found.defer("terms")[: max(0, limit)]]

    @operation
    def get(self, scope: Scope, memory_id: int) -> MemoryEntry | None:
        with self.reading() as rows:
            row = _within(rows, scope).defer("terms").filter(pk=memory_id).first()
            return row.entry() if row else None

    @operation
    def search(self, query: str, options: SearchOptions) -> Sequence[Hit]:
        parsed = parse_query(query)
        if not parsed:
            return []
        with self.reading(options.seconds) as rows:
            find = self._find_for_everyone if options.scope.everyone else self._find
            scored = find(parsed, options, rows)
            found = rows.defer("terms").in_bulk([item.id for item in scored])
            return [_hit(found[item.id], item) for item in scored if item.id in found]

    def _find(self, query: Query, options: SearchOptions, rows: QuerySet[Any]) -> Sequence[Scored]:
        """A small owner's rows are all read and scored; of a large owner's, the index finds the best few hundred."""
        owned = _of_type(_within(rows, options.scope), options.type)
        owners = [owner_prefixes(options.scope.agent_name, user) for user in options.scope.owners]
        if owned.order_by()[: SMALL_OWNER + 1].count() <= SMALL_OWNER:
            return rank(query, owners, _candidates(owned), limit=options.limit)
        statistics = self._statistics(query, owners, owned)
        if statistics is None:
            return rank(query, owners, _candidates(owned), limit=options.limit)
        for widened in (False, True):
            best = _candidates(self._best_rows(query, owners, statistics, owned, widened=widened))
            scored = rank(query, owners, best, statistics, limit=options.limit)
            if len(scored) >= options.limit:
                break
        return scored

    def _find_for_everyone(self, query: Query, options: SearchOptions, rows: QuerySet[Any]) -> Sequence[Scored]:
        """Operators may search all users of an agent: rows found by substring are scored as if one owner had them."""
        any_word = Q()
        for term in query.terms:
            any_word |= self._contains(term.surface)
        neutral = owner_prefixes(options.scope.agent_name, "")
        found = _of_type(rows.filter(any_word, agent_name=options.scope.agent_name), options.type)
        newest = found.order_by("-updated_at", "-id")[:SMALL_OWNER]
        rescoped = [Candidate(row.pk, terms_of_row(row, as_user=""), row.updated_at) for row in newest]
        return rank(query, [neutral], rescoped, limit=options.limit)

    @operation
    def page(self, query: PageQuery) -> Page:
        with self.reading() as rows:
            found = self._filtered(rows, query)
            total = found.count()
            shown = found.order_by(*self._order(query)).defer("terms")[query.start : query.start + query.size]
            entries = tuple((self.backend, row.entry()) for row in shown) if query.start < total else ()
            return Page(entries, query.page, query.size, total)

    @operation
    def count(self, query: PageQuery) -> int:
        with self.reading() as rows:
            return self._filtered(rows, query).count()

    @operation
    def keys(self, query: PageQuery, limit: int) -> Sequence[SortKey]:
        with self.reading() as rows:
            found = self._filtered(rows, query).order_by(*self._order(query))
            return [SortKey(*pair) for pair in found.values_list(query.order, "id")[:limit]]

    @operation
    def unindexed(self, keyword: str) -> Sequence[str]:
        with self.reading() as rows:
            return [word for word in keyword.split() if not self._is_indexed(word, rows.db)]

    @operation
    def entries(self, memory_ids: Collection[int]) -> Mapping[int, MemoryEntry]:
        with self.reading() as rows:
            return {key: row.entry() for key, row in rows.defer("terms").in_bulk(list(memory_ids)).items()}

    @operation
    def stats(self, agent_names: Collection[str] = ()) -> Sequence[AgentStatistics]:
        with self.reading() as rows:
            counted = rows.filter(agent_name__in=list(agent_names)) if agent_names else rows.all()
            by_agent = counted.order_by().values("agent_name")
            users = dict(by_agent.values_list("agent_name").annotate(Count("user_id", distinct=True)))
            latest = self._latest(counted, users)
            types: dict[str, dict[str, int]] = defaultdict(dict)
            for name, key, number in by_agent.values_list("agent_name", "type").annotate(Count("id")):
                types[name][key] = number
        return [
            AgentStatistics(
                agent_name=name,
                backend=self.backend,
                count=sum(types[name].values()),
                by_type=types[name],
                users=users.get(name, 0),
                last_updated_at=latest.get(name),
            )
            for name in sorted(types)
        ]

    def _latest(self, rows: QuerySet[Any], agent_names: Collection[str]) -> Mapping[str, datetime]:
        """When each agent's memories were last written."""
        return dict(rows.order_by().values_list("agent_name").annotate(Max("updated_at")))

    @operation
    def agent_names(self) -> Collection[str]:
        """Jumps from name to name in the index, so that the number of rows doesn't count."""
        table = self.model._meta.db_table
        sql = (
            f"WITH RECURSIVE found(name) AS (SELECT MIN(agent_name) FROM {table} UNION ALL"
            f" SELECT (SELECT MIN(agent_name) FROM {table} WHERE agent_name > found.name) FROM found"
            " WHERE found.name IS NOT NULL) SELECT name FROM found WHERE name IS NOT NULL"
        )
        with self.reading() as rows, connections[rows.db].cursor() as cursor:
            cursor.execute(self.names_query or sql)
            return [name for (name,) in cursor.fetchall()]

    @operation
    def count_by_type(self, scope: Scope) -> Mapping[str, int]:
        with self.reading() as rows:
            return dict(_within(rows, scope).order_by("type").values_list("type").annotate(Count("id")))

    def _filtered(self, rows: QuerySet[Any], query: PageQuery) -> QuerySet[Any]:
        wanted = {"agent_name": query.agent_names, "user_id": query.user_ids, "type": query.types}
        found = rows.filter(**{f"{name}__in": values for name, values in wanted.items() if values})
        if query.without_agents:
            found = found.exclude(agent_name__in=query.without_agents)
        if query.shared is not None:
            found = found.filter(user_id=SHARED) if query.shared else found.exclude(user_id=SHARED)
        bounds = {
            "updated_at__gte": query.updated_from,
            "updated_at__lt": query.updated_before,
            "created_at__gte": query.created_from,
            "created_at__lt": query.created_before,
        }
        found = found.filter(**{bound: time for bound, time in bounds.items() if time is not None})
        for word in query.keyword.split():
            found = self._narrowed(found.filter(self._contains(word)), word)
        return found


def _let_pass() -> None:
    """The fence of a store whose agents stay where they are."""


def _identity(memory: MemoryDraft | MemoryRow) -> tuple[str, ...]:
    """What makes two memories the same: owner, type and text."""
    return tuple(getattr(memory, name) for name in IDENTITY)


def _within(rows: QuerySet[Any], scope: Scope) -> QuerySet[Any]:
    """The one place where a scope becomes a condition."""
    rows = rows.filter(agent_name=scope.agent_name)
    return rows if scope.everyone else rows.filter(user_id__in=scope.owners)


def _of_type(rows: QuerySet[Any], type: str) -> QuerySet[Any]:
    return rows.filter(type=type) if type else rows


def _candidates(rows: QuerySet[Any]) -> list[Candidate]:
    """Times come as text: parsing them would cost more than reading the rows, and they only break ties."""
    version = Cast("updated_at", TextField())
    return [Candidate(*row) for row in rows.annotate(version=version).values_list("id", "terms", "version")]


def _hit(row: MemoryRow, scored: Scored) -> Hit:
    """Single characters are shown as matched only where no longer match covers them."""
    words = tuple(term.surface for term in scored.matched if term.kind is not Kind.CHAR)
    characters = tuple(term.surface for term in scored.matched if term.kind is Kind.CHAR)
    return Hit(row.entry(), scored.score, words + tuple(one for one in characters if one not in "".join(words)))


def terms_of_row(row: MemoryRow, as_user: str | None = None) -> str:
    """What recall finds a row by."""
    user = row.user_id if as_user is None else as_user
    return terms_of(row.agent_name, user, row.name, row.content, row.description, row.created_at)


def _conflict(row: MemoryRow) -> Conflict:
    return Conflict(conflict_sentence(), row.entry())
