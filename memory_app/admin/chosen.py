"""The memories that an action is about: ticked ones by their references, or all that match the list."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from memory_app import search
from memory_app.contracts import MAX_PAGE_SIZE, MemoryEntry, PageQuery
from memory_app.exceptions import NetaclawError, StoreUnavailable
from memory_app.merged import MAX_SELECTED, MergedRows, Selection, reference_of


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the action can't be about: a memory's reference or a store, and why."""

    name: str
    reason: str
    unavailable: bool = False
    is_store: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The memories as they are now, what is left out, and how many the list counts."""

    entries: Sequence[MemoryEntry]
    left_out: Sequence[LeftOut]
    total: int


def chosen_of(rows: MergedRows | Selection) -> Chosen:
    """What was chosen on the list; of all that match, no more than MAX_SELECTED."""
    if isinstance(rows, Selection):
        return read_chosen(rows.references)
    reason = _("The store can't be read; how many of its memories match isn't known.")
    left_out = [LeftOut(label, reason, unavailable=True, is_store=True) for label in rows.unavailable]
    return Chosen(list(matching(rows.wanted, without=rows.unavailable)), left_out, rows.count())


def matching(wanted: PageQuery, without: Collection[str] = ()) -> Iterator[MemoryEntry]:
    """All that match, up to MAX_SELECTED; raises StoreUnavailable for a store that fails, but for those `without`."""
    for number in range(1, MAX_SELECTED // MAX_PAGE_SIZE + 1):
        page = search.page(replace(wanted, page=number, size=MAX_PAGE_SIZE))
        if missing := set(page.unavailable) - set(without):
            message = _("The memory store %(store)s can't be read; its memories are missing from here on.")
            raise StoreUnavailable(message % {"store": ", ".join(sorted(missing))})
        yield from (entry for _backend, entry in page.rows)
        if len(page.rows) < MAX_PAGE_SIZE:
            return


def read_chosen(references: Sequence[str]) -> Chosen:
    """The memories of these references, read agent by agent; an agent whose store fails is asked once."""
    by_agent: dict[str, list[int]] = defaultdict(list)
    for agent_name, number in _parsed(references):
        by_agent[agent_name].append(number)
    found: dict[str, MemoryEntry] = {}
    left_out: list[LeftOut] = []
    for agent_name, numbers in by_agent.items():
        try:
            entries = search.entries(agent_name, numbers)
        except NetaclawError as error:
            down = isinstance(error, StoreUnavailable)
            left_out += [LeftOut(f"{agent_name}:{number}", error.message, unavailable=down) for number in numbers]
            continue
        found |= {reference_of(entry): entry for entry in entries.values()}
        gone = [f"{agent_name}:{number}" for number in numbers if number not in entries]
        left_out += [LeftOut(reference, _("It was deleted meanwhile.")) for reference in gone]
    ordered = [found[reference] for reference in dict.fromkeys(references) if reference in found]
    return Chosen(ordered, left_out, len(ordered))


def _parsed(references: Iterable[str]) -> Iterator[tuple[str, int]]:
    """What is no reference names no memory."""
    for reference in list(dict.fromkeys(references))[:MAX_SELECTED]:
        agent_name, _colon, number = reference.rpartition(":")
        if agent_name and number.isascii() and number.isdigit() and len(number) <= 18:
            yield agent_name, int(number)
