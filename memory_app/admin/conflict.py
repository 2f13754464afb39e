"""What a page shows when somebody else changed a memory while it was being edited."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory_app.admin.forms import TEXT, MemoryForm, shown_metadata
from memory_app.contracts import MemoryEntry


@dataclass(frozen=True, slots=True)
class Difference:
    """A field as it was, as it is now, whether both sides changed it, and what the form makes of it."""

    label: str
    was: str
    theirs: str
    both: bool
    marked: SafeString


def conflicts(sent: QueryDict, mine: Sequence[str], current: MemoryEntry) -> list[Difference]:
    """The fields that anybody changed since the page was opened."""
    found = []
    for name in TEXT:
        was, wanted = _plain(sent.get(f"initial-{name}", "")), _plain(sent.get(name, ""))
        theirs = _shown(current, name)
        if was != theirs or name in mine:
            both = was != theirs and name in mine and theirs != wanted
            chosen = wanted if name in mine else theirs
            found.append(Difference(str(MemoryForm.base_fields[name].label), was, theirs, both, marked(theirs, chosen)))
    return found


def merged_data(sent: QueryDict, mine: Sequence[str], current: MemoryEntry) -> QueryDict:
    """A form on the current version: the operator's text where the operator changed it, else what is there now."""
    data = sent.copy()
    for name in TEXT:
        theirs = _shown(current, name)
        data[f"initial-{name}"] = theirs
        if name not in mine:
            data[name] = theirs
    data["version"] = current.updated_at.isoformat()
    return data


def marked(before: str, after: str) -> SafeString:
    """`after` with what was added in <ins> and what was taken away in <del>, word by word or character by character."""
    one, two = _pieces(before), _pieces(after)
    parts: list[tuple[str, str]] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(a=one, b=two, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(("span", "".join(one[a:b])))
        else:
            parts += [("del", "".join(one[a:b])), ("ins", "".join(two[c:d]))]
    shown = [(tag, text, tag) for tag, text in parts if text]
    return format_html("{}", format_html_join("", "<{}>{}</{}>", shown))


def _pieces(text: str) -> list[str]:
    return list(text) if len(text) <= 2_000 else text.splitlines(keepends=True)


def _shown(memory: MemoryEntry, name: str) -> str:
    value: Any = getattr(memory, name)
    return _plain(shown_metadata(dict(value)) if name == "metadata" else value)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")
