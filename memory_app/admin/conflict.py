"""What a page shows when somebody else changed a memory while it was being edited, and what it merges by itself."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from memory_app.admin.differences import marked
from memory_app.admin.forms import TEXT, MemoryForm
from memory_app.admin.metadata import read_metadata, shown_metadata
from memory_app.contracts import MemoryEntry


@dataclass(frozen=True, slots=True)
class PathChange:
    """A key path of metadata as it was, as they have it and as the operator has it; "" for absent."""

    path: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A field with its three texts, and what saving makes of it.

    `with_mine` is merged with the operator's word where both sides changed the same, `with_theirs` with the other's;
    `both` says that there is such a place.
    """

    name: str
    label: str
    was: str
    theirs: str
    mine: str
    with_theirs: str
    with_mine: str
    both: bool
    paths: tuple[PathChange, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anybody changed the field."""
        return self.was != self.theirs or self.was != self.mine

    @property
    def theirs_marked(self) -> SafeString:
        """Their text against the one that was opened."""
        return marked(self.was, self.theirs)

    @property
    def mine_marked(self) -> SafeString:
        """The operator's text against the one that was opened."""
        return marked(self.was, self.mine)


def compared(form: MemoryForm, current: MemoryEntry) -> list[Difference]:
    """Every field of a valid form that was opened on an older version, against the current one."""
    mine = form.changed_fields()
    return [_metadata(form, current) if name == "metadata" else _field(form, current, name, mine) for name in TEXT]


def _field(form: MemoryForm, current: MemoryEntry, name: str, changed: Sequence[str]) -> Difference:
    was = _plain(form.data.get(f"initial-{name}", ""))
    theirs = _plain(getattr(current, name))
    mine = str(form.cleaned_data[name]) if name in changed else was
    both = name in changed and theirs not in (was, mine)
    merged = mine if name in changed else theirs
    return Difference(name, _label(name), was, theirs, mine, theirs if both else merged, merged, both)


def _metadata(form: MemoryForm, current: MemoryEntry) -> Difference:
    """Merged by its top-level keys; a key that both sides changed is the operator's until the page is answered."""
    was = read_metadata(form.data.get("initial-metadata", ""))
    theirs, mine = dict(current.metadata), form.cleaned_data["metadata"]
    return Difference(
        name="metadata",
        label=_label("metadata"),
        was=shown_metadata(was),
        theirs=shown_metadata(theirs),
        mine=shown_metadata(mine),
        with_theirs=shown_metadata(merged_keys(was, mine, theirs)),
        with_mine=shown_metadata(merged_keys(was, theirs, mine)),
        both=bool(contested(was, theirs, mine)),
        paths=tuple(_paths(was, theirs, mine)),
    )


def contested(was: Mapping[str, Any], theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> list[str]:
    """The keys that both sides changed, each in its own way."""
    return [key for key in {**was, **theirs, **mine} if len({_text(side, key) for side in (was, theirs, mine)}) == 3]


def merged_keys(was: Mapping[str, Any], theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> dict[str, Any]:
    """`theirs` with the keys that `mine` changed, added or took away."""
    merged = dict(theirs)
    for key in {**was, **mine}:
        if _text(was, key) != _text(mine, key):
            if key in mine:
                merged[key] = mine[key]
            else:
                merged.pop(key, None)
    return merged


def _paths(*sides: Mapping[str, Any]) -> Iterator[PathChange]:
    flat = [dict(_leaves(side, "")) for side in sides]
    for path in {**flat[0], **flat[1], **flat[2]}:
        texts = [side.get(path, "") for side in flat]
        if len(set(texts)) > 1:
            yield PathChange(path, tuple(texts))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every value that is no object, by its key path."""
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def _text(side: Mapping[str, Any], key: str) -> str:
    return json.dumps(side[key], ensure_ascii=False) if key in side else ""


def _label(name: str) -> str:
    return str(MemoryForm.base_fields[name].label)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def own_text(fields: Sequence[Difference]) -> str:
    """All that the operator had in the form, to be copied."""
    return "\n\n".join(item.mine for item in fields if item.name != "type" and item.mine)
