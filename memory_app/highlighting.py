"""Where the words of a query stand in a text, however the text spells them. Pure functions."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from memory_app.analysis import Kind, LocatedTerm, QueryTerm, located_terms
from memory_app.ranking import can_widen


class Piece(NamedTuple):
    """A part of a text, and whether it matched."""

    text: str
    matched: bool


def matched_terms(terms: Iterable[QueryTerm], surfaces: Collection[str]) -> list[QueryTerm]:
    """The query's terms behind the words that a hit says it matched."""
    return [term for term in terms if term.surface in surfaces]


def held_terms(texts: Iterable[str], terms: Iterable[QueryTerm]) -> list[QueryTerm]:
    """The query's terms that one of the texts holds, or begins a word of."""
    held = _held(list(located_terms(text)) for text in texts)
    words = [spelling for kind, spelling in held if kind is Kind.WORD]
    return [
        term
        for term in terms
        if (term.kind, term.spelling) in held
        or (can_widen(term) and any(word.startswith(term.spelling) for word in words))
    ]


def words_of(texts: Iterable[str]) -> list[str]:
    """The words, and the pairs of characters, that the texts are found by, each once, as they are written."""
    found = (
        text[term.start : term.end] for text in texts for term in located_terms(text) if term.kind is not Kind.CHAR
    )
    return list(dict.fromkeys(found))


def _held(located: Iterable[Sequence[LocatedTerm]]) -> set[tuple[Kind, str]]:
    return {(term.kind, term.spelling) for found in located for term in found}


def pieces(texts: Sequence[str], terms: Sequence[QueryTerm]) -> list[list[Piece]]:
    """The texts of one memory cut at what matched: `rewritten` for the query `rewrites`, and `ＴＥＡ` for `tea`.

    A word that none of the texts holds matched as the beginning of another one.
    """
    located = [list(located_terms(text)) for text in texts]
    held = _held(located)
    whole = {(term.kind, term.spelling) for term in terms} & held
    beginnings = tuple(term.spelling for term in terms if can_widen(term) and (term.kind, term.spelling) not in held)
    return [list(_cut(text, _spans(found, whole, beginnings))) for text, found in zip(texts, located, strict=True)]


def _spans(
    found: Iterable[LocatedTerm], whole: Collection[tuple[Kind, str]], beginnings: tuple[str, ...]
) -> Iterator[tuple[int, int]]:
    for term in found:
        begun = term.kind is Kind.WORD and term.spelling.startswith(beginnings)
        if begun or (term.kind, term.spelling) in whole:
            yield term.start, term.end


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[Piece]:
    """Neighbouring and overlapping spans are one piece."""
    position = 0
    for start, end in _joined(spans):
        if position < start:
            yield Piece(text[position:start], matched=False)
        yield Piece(text[start:end], matched=True)
        position = end
    if position < len(text):
        yield Piece(text[position:], matched=False)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
