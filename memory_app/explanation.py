"""Why an agent did, or did not, know something: what a turn takes of its memories, what just missed, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory_app import registry, search
from memory_app.analysis import QueryTerm, parse_query
from memory_app.contracts import MAX_RECALL, Hit, MemoryEntry, Scope
from memory_app.exceptions import NetaclawError
from memory_app.highlighting import held_terms, matched_terms
from memory_app.prompt import fitting, is_whole
from memory_app.search import MAX_MESSAGE, Turn

MISSED = 10


class Fate(StrEnum):
    """What became of a memory in a turn."""

    INJECTED = "injected"
    SHORTENED = "shortened"
    OVER_BUDGET = "over_budget"
    BEYOND_LIMIT = "beyond_limit"
    MEMORY_OFF = "memory_off"
    BEYOND_SEARCH = "beyond_search"  # shares words, but is none of the best MAX_RECALL
    NO_COMMON_WORD = "no_common_word"
    NO_WORDS_ASKED = "no_words_asked"
    OTHER_USER = "other_user"
    OTHER_AGENT = "other_agent"
    MISSING = "missing"


INJECTED = (Fate.INJECTED, Fate.SHORTENED)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that holds words of the message: its rank, and what became of it."""

    rank: int
    hit: Hit
    fate: Fate

    @property
    def injected(self) -> bool:
        """Whether the model is shown the memory."""
        return self.fate in INJECTED


@dataclass(frozen=True, slots=True)
class Explanation:
    """A turn: the block as sent, the candidates best first, how long recall took (ms), and why it failed."""

    turn: Turn
    block: str = ""
    candidates: Sequence[Candidate] = ()
    milliseconds: float = 0
    failure: str = ""


def explain(scope: Scope, message: str, turn: Turn) -> Explanation:
    """The turn as search.prefetch answers it, to the letter, and the memories that came after the last one it took."""
    found = search.prefetch(scope, message, turn)
    if found.failure:
        return Explanation(turn, milliseconds=found.milliseconds, failure=found.failure)
    try:
        hits = [*found.hits, *_after(found.hits, scope, message, turn)]
    except NetaclawError as error:
        return Explanation(turn, milliseconds=found.milliseconds, failure=error.message)
    fitted = fitting(found.hits, turn.characters)[1]
    candidates = [
        Candidate(rank, hit, _fate(rank, turn, fitted, is_whole(hit, found.block))) for rank, hit in enumerate(hits, 1)
    ]
    return Explanation(turn, found.block, candidates, found.milliseconds)


def _after(hits: Sequence[Hit], scope: Scope, message: str, turn: Turn) -> list[Hit]:
    """Asked for on their own: a search for more is a wider one, whose first hits may be others."""
    known = {hit.memory.id for hit in hits}
    more = search.recall(scope, message, limit=min(turn.limit + MISSED, MAX_RECALL))
    return [hit for hit in more if hit.memory.id not in known]


def _fate(rank: int, turn: Turn, fitted: int, whole: bool) -> Fate:
    if not turn.enabled:
        return Fate.MEMORY_OFF
    if rank > turn.limit:
        return Fate.BEYOND_LIMIT
    if rank > fitted:
        return Fate.OVER_BUDGET
    return Fate.INJECTED if whole else Fate.SHORTENED


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one memory in a turn: the terms that were asked for, and those of them that it holds.

    `rank`, `score` and `needed` (the score of the last memory that the turn takes) are 0 where it wasn't found.
    """

    fate: Fate
    memory: MemoryEntry | None = None
    asked: Sequence[QueryTerm] = ()
    shared: Sequence[QueryTerm] = ()
    rank: int = 0
    score: float = 0
    needed: float = 0


def explain_one(explained: Explanation, scope: Scope, message: str, agent_name: str, memory_id: int) -> Verdict:
    """Why the memory {agent_name, memory_id} is, or isn't, in a turn; raises UnknownAgent or StoreUnavailable."""
    memory = registry.provider_for(agent_name).get(Scope.all_users(agent_name), memory_id)
    if memory is None:
        return Verdict(Fate.MISSING)
    if agent_name != scope.agent_name:
        return Verdict(Fate.OTHER_AGENT, memory)
    if memory.user_id not in scope.owners:
        return Verdict(Fate.OTHER_USER, memory)
    asked = parse_query(message[:MAX_MESSAGE]).terms
    if not asked:
        return Verdict(Fate.NO_WORDS_ASKED, memory)
    candidate = _candidate(explained, scope, message, memory_id)
    if candidate is None:
        shared = held_terms(texts_of(memory), asked)
        return Verdict(Fate.BEYOND_SEARCH if shared else Fate.NO_COMMON_WORD, memory, asked, shared)
    shared = matched_terms(asked, candidate.hit.matched)
    needed = next((one.hit.score for one in explained.candidates if one.rank == explained.turn.limit), 0)
    return Verdict(candidate.fate, memory, asked, shared, candidate.rank, candidate.hit.score, needed)


def _candidate(explained: Explanation, scope: Scope, message: str, memory_id: int) -> Candidate | None:
    """The memory among the turn's candidates, or else among all that a search can give."""
    for candidate in explained.candidates:
        if candidate.hit.memory.id == memory_id:
            return candidate
    for rank, hit in enumerate(search.recall(scope, message, limit=MAX_RECALL), 1):
        if hit.memory.id == memory_id:
            return Candidate(rank, hit, _fate(rank, explained.turn, 0, whole=False))
    return None


def texts_of(memory: MemoryEntry) -> tuple[str, str, str]:
    """The texts that a memory is found by."""
    return memory.name, memory.content, memory.description
