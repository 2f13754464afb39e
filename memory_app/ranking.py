"""Candidates to hits: Okapi BM25 (Robertson & Zaragoza 2009) over one owner's memories, the same for every store.

Pure functions over the `terms` column. They run in the application so that all engines rank alike and no other owner's
memories weigh in.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from memory_app.analysis import PREFIX_LENGTH, Kind, Prefixes, Query, QueryTerm, scoped

K1: Final = 2.5  # how much a repeated term still adds
B: Final = 0.2  # how much a long text is held back
FLOOR: Final = (
    0.5  # added to a term's rarity: among few memories a name that half of them hold still tells people apart
)
# A pair of characters is nearly a word; a single one is only a hint.
WEIGHTS: Final[Mapping[Kind, float]] = {Kind.WORD: 1.0, Kind.GRAM: 1.0, Kind.CHAR: 0.4}
MAX_POSTINGS: Final = 20_000  # of an index, for one query
MIN_PREFIX_LETTERS: Final = 4  # shorter words begin too many others to be widened


class Candidate(NamedTuple):
    """A memory as far as ranking needs it; `updated_at` is anything that can be compared."""

    id: int
    terms: str
    updated_at: Any


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of all memories an owner sees: how many, mean length of `terms` in characters, how many hold each query term."""

    rows: int
    average_length: float
    frequency: Mapping[QueryTerm, int]


@dataclass(frozen=True, slots=True)
class Scored:
    """A hit. Scores order the hits of one query and mean nothing beside those of another."""

    id: int
    score: float
    matched: tuple[QueryTerm, ...]


_Texts = Mapping[Prefixes, Mapping[int, str]]  # by owner, then by id; a space before and after each term
_Postings = Mapping[QueryTerm, Mapping[int, int]]  # how often each row holds each term


def _texts(prefixes: Iterable[Prefixes], candidates: Iterable[Candidate]) -> _Texts:
    """The candidates that belong to the owners; those of others are left out."""
    owners = {prefix: owner for owner in prefixes for prefix in owner}
    texts: defaultdict[Prefixes, dict[int, str]] = defaultdict(dict)
    for candidate in candidates:
        owner = owners.get(candidate.terms[:PREFIX_LENGTH])
        if owner is not None:
            texts[owner][candidate.id] = f" {candidate.terms} "
    return texts


def _occurrences(term: QueryTerm, texts: _Texts, widen: bool) -> dict[int, int]:
    """Substring search is several times as fast here as splitting the rows into terms."""
    found: dict[int, int] = {}
    for owner, rows in texts.items():
        spelling = scoped(term, owner)
        if widen or term.kind is Kind.CHAR:
            needle = counted = f" {spelling}"
        else:  # neighbours share the space between them, which count() would give to the first one only
            needle, counted = f" {spelling} ", f"{spelling} "
        found |= {row: text.count(counted) for row, text in rows.items() if needle in text}
    return found


def _weight(term: QueryTerm, frequency: int, rows: int) -> float:
    """BM25's ln(1 + (N - df + 0.5) / (df + 0.5)), shortened, over the floor; times the weight of the kind."""
    return WEIGHTS[term.kind] * (FLOOR + math.log((rows + 1) / (min(frequency, rows) + 0.5)))


def _scores(postings: _Postings, statistics: Statistics, lengths: Mapping[int, int]) -> dict[int, float]:
    scores: defaultdict[int, float] = defaultdict(float)
    flat, slope = K1 * (1 - B), K1 * B / max(statistics.average_length, 1)
    for term, rows in postings.items():
        weight = (K1 + 1) * _weight(term, statistics.frequency.get(term, len(rows)), statistics.rows)
        for row, count in rows.items():
            scores[row] += weight * count / (count + flat + slope * lengths[row])
    return scores


def _hits(
    postings: _Postings, scores: Mapping[int, float], candidates: Mapping[int, Candidate], limit: int | None
) -> list[Scored]:
    """Best first, ties to the newer."""
    order = sorted(scores, key=lambda row: (scores[row], candidates[row].updated_at, row), reverse=True)
    return [
        Scored(row, scores[row], tuple(term for term, rows in postings.items() if row in rows)) for row in order[:limit]
    ]


def _below(hits: Sequence[Scored], floor: float) -> list[Scored]:
    """The hits with scores scaled to stay under `floor`."""
    scale = floor / (2 * hits[0].score) if hits else 1.0
    return [Scored(hit.id, hit.score * min(scale, 1.0), hit.matched) for hit in hits]


def rank(
    query: Query,
    prefixes: Sequence[Prefixes],
    candidates: Sequence[Candidate],
    statistics: Statistics | None = None,
    limit: int | None = None,
) -> list[Scored]:
    """The candidates that hold a term of the query, best first; ties go to the newer one, then to the higher id.

    Without `statistics` the candidates are taken for all memories that the owners (`prefixes`) have. When they yield
    fewer hits than `limit`, words of four letters and more are searched again as beginnings of words, for hits that
    come after the others.
    """
    texts = _texts(prefixes, candidates)
    by_id = {candidate.id: candidate for candidate in candidates}
    lengths = {row: len(text) - 2 for rows in texts.values() for row, text in rows.items()}
    known = statistics or Statistics(len(lengths), sum(lengths.values()) / max(len(lengths), 1), {})

    def search(terms: Iterable[QueryTerm], within: _Texts, known: Statistics, widen: bool = False) -> list[Scored]:
        postings = {term: _occurrences(term, within, widen) for term in terms}
        return _hits(postings, _scores(postings, known, lengths), by_id, limit)

    hits = search(query.terms, texts, known)
    if limit is None or len(hits) >= limit:
        return hits
    hit_ids = {hit.id for hit in hits}
    rest = {owner: {row: text for row, text in rows.items() if row not in hit_ids} for owner, rows in texts.items()}
    more = search(filter(can_widen, query.terms), rest, replace(known, frequency={}), widen=True)
    return (hits + _below(more, hits[-1].score if hits else math.inf))[:limit]


def can_widen(term: QueryTerm) -> bool:
    """Whether a term may be searched as the beginning of a word."""
    return term.kind is Kind.WORD and min(len(term.surface), len(term.spelling)) >= MIN_PREFIX_LETTERS


def posting_terms(query: Query, statistics: Statistics, *, widened: bool) -> list[tuple[QueryTerm, float, bool]]:
    """The terms whose rows an index gathers, each with its weight and whether it is a prefix.

    The rarest come first, and the list ends when there are rows enough to choose from.
    """
    chosen: list[tuple[QueryTerm, float, bool]] = []
    postings = 0
    for term in sorted(query.terms, key=lambda term: statistics.frequency[term]):
        prefix = term.kind is Kind.CHAR or (
            widened and term.kind is Kind.WORD and len(term.spelling) >= MIN_PREFIX_LETTERS
        )
        if (term.kind is Kind.CHAR and not widened) or not (prefix or statistics.frequency[term]):
            continue
        chosen.append((term, math.log(1 + statistics.rows / (1 + statistics.frequency[term])), prefix))
        postings += statistics.frequency[term]
        if postings > MAX_POSTINGS:
            break
    return chosen
