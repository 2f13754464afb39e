"""What a form of metadata that comes back changes.

Browsers know fewer numbers than JSON and forms no difference between empty and missing, so what comes back is never
stored as it is: the form says what it showed and what it holds now, and only where the two differ is the stored
metadata touched.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from memory_app.metadata_form import KINDS, MAX_EXACT, MAX_ITEMS, under

ABSENT: Final = object()


def merged(schema: Mapping[str, Any], stored: Mapping[str, Any], shown: Any, sent: Any) -> tuple[dict[str, Any], str]:
    """The stored metadata with what a form changed, and what is wrong with that, "" for nothing.

    `schema` is that of fields_of. Undeclared keys, and declared ones that the form shows unchanged, stay as stored; a
    field that was emptied is absent. What is wrong is in the metadata nevertheless, so that it can be corrected.
    """
    merging = _Merging()
    value = merging.value(schema, "", dict(stored), (shown, sent))
    return {} if value is ABSENT else value, merging.problem


class _Merging:
    """Applies a form to stored metadata, place by place; remembers the first thing that is wrong."""

    def __init__(self) -> None:
        self.problem = ""

    def value(self, part: Mapping[str, Any], place: str, stored: Any, seen: tuple[Any, Any]) -> Any:
        """What is to be stored at a place, or ABSENT; `seen` is what the form showed, and what it sent."""
        shown, sent = seen
        if shown == sent:
            return stored
        if part["type"] == "object":
            return self._object(part, place, stored, seen)
        if part["type"] == "array":
            return self._list(part["items"], place, stored, seen)
        return self._scalar(part["type"], place, sent)

    def _object(self, part: Mapping[str, Any], place: str, stored: Any, seen: tuple[Any, Any]) -> Any:
        result = dict(stored) if isinstance(stored, dict) else {}
        shown, sent = (item if isinstance(item, dict) else {} for item in seen)
        for key, inner in part["properties"].items():
            pair = (shown.get(key), sent.get(key))
            value = self.value(inner, under(place, key), result.get(key, ABSENT), pair)
            if value is ABSENT and key in part["required"] and inner["type"] == "array":
                value = []
            if value is ABSENT:
                result.pop(key, None)
            else:
                result[key] = value
        return result or ABSENT

    def _list(self, items: Mapping[str, Any], place: str, stored: Any, seen: tuple[Any, Any]) -> Any:
        """Items that only moved stay as they are stored; of the others, each is applied to one that is left."""
        shown, sent = (item if isinstance(item, list) else [] for item in seen)
        old = stored if isinstance(stored, list) and len(stored) == len(shown) else []
        if len(sent) > MAX_ITEMS:
            self._wrong(_("%(place)s has over %(limit)d items.") % {"place": place, "limit": MAX_ITEMS})
            return sent
        left = list(range(len(old)))
        same = [_take(left, shown, item) for item in sent]
        result = []
        for item, position in zip(sent, same, strict=True):
            if position is None:
                other = left.pop(0) if left else None
                before = (ABSENT, None) if other is None else (old[other], shown[other])
                result.append(self.value(items, f"{place}[]", before[0], (before[1], item)))
            else:
                result.append(old[position])
        return [value for value in result if value is not ABSENT] or ABSENT

    def _scalar(self, kind: str, place: str, sent: Any) -> Any:
        if sent is None or sent == "":
            return ABSENT
        value = _number(sent) if kind in ("integer", "number") else sent
        if not isinstance(value, KINDS[kind]) or isinstance(value, bool) != (kind == "boolean"):
            self._wrong(_("%(place)s is not of the type that its schema says.") % {"place": place})
        elif isinstance(value, int | float) and abs(value) > MAX_EXACT:
            self._wrong(_("%(place)s is a number that forms round; write it as JSON.") % {"place": place})
        return value

    def _wrong(self, problem: str) -> None:
        self.problem = self.problem or problem


def _take(left: list[int], shown: Sequence[Any], item: Any) -> int | None:
    """The first position that is left and shows this item; it is left no longer."""
    found = next((position for position in left if shown[position] == item), None)
    if found is not None:
        left.remove(found)
    return found


def _number(sent: Any) -> Any:
    """A number that was posted as text is still one."""
    if not isinstance(sent, str):
        return sent
    for read in (int, float):
        try:
            return read(sent)
        except ValueError:
            continue
    return sent
