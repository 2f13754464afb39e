"""What was added and taken away between two texts, as HTML."""

import difflib
from collections.abc import Iterator, Sequence

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

MAX_COMPARED = 250_000  # pairs of pieces; more would take seconds
READABLE = 0.5  # of two lines that have less in common than this, single letters that are the same say nothing


def marked(before: str, after: str) -> SafeString:
    """`after` with what was added in <ins> and what was taken away in <del>: by line, and by character in a line."""
    parts = _by_line(before, after) if "\n" in before + after else _by_character(before, after)
    return format_html_join("", "<{}>{}</{}>", ((tag, text, tag) for tag, text in parts if text))


def _by_line(before: str, after: str) -> Iterator[tuple[str, str]]:
    steps = list(_steps(before.splitlines(keepends=True), after.splitlines(keepends=True), MAX_COMPARED))
    share = MAX_COMPARED // max(1, sum(not same for same, _old, _new in steps))
    for same, old, new in steps:
        if same:
            yield "span", "".join(new)
        else:
            yield from _by_character("".join(old), "".join(new), share)


def _by_character(before: str, after: str, limit: int = MAX_COMPARED) -> Iterator[tuple[str, str]]:
    """What both begin and end with is the same without a search: texts of one letter would take for ever."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    one, two = before[head : len(before) - tail], after[head : len(after) - tail]
    yield "span", before[:head]
    steps = list(_steps(one, two, limit))
    shared = sum(len(new) for same, _old, new in steps if same)
    if 2 * shared < READABLE * (len(one) + len(two)):
        steps = [(False, one, two)]
    for same, old, new in steps:
        if same:
            yield "span", "".join(new)
        else:
            yield "del", "".join(old)
            yield "ins", "".join(new)
    yield "span", before[len(before) - tail :]


def _steps(one: Sequence[str], two: Sequence[str], limit: int) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    """The pieces of both that are the same, and those that took each other's place."""
    if len(one) * len(two) > limit:
        yield False, one, two
        return
    for kind, a, b, c, d in difflib.SequenceMatcher(a=one, b=two, autojunk=False).get_opcodes():
        yield kind == "equal", one[a:b], two[c:d]


def _common(one: str, two: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, two, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
