"""The form that a type's JSON Schema makes of metadata, where it holds them without a loss.

A form holds text, numbers, yes or no, choices, lists and objects, each of one declared type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from django.utils.translation import gettext as _

MAX_EXACT: Final = 2**53 - 1  # beyond it, browsers round integers
MAX_ITEMS: Final = 1_000
MAX_PARTS: Final = 300
SEPARATOR = "§"  # react-json-form joins the keys of a place by it
KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": (int, float),
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


@dataclass(frozen=True, slots=True)
class MetadataFields:
    """What a form draws and holds, and the keys that it leaves alone; without `schema`, why there is no form."""

    schema: Mapping[str, Any] | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    reason: str = ""


class _NoForm(Exception):
    """A form would lose something; the text says what."""


def fields_of(schema: Any, metadata: Mapping[str, Any]) -> MetadataFields:
    """The form that holds this metadata without a loss, or the reason why none does."""
    drawing = _Drawing(schema if isinstance(schema, Mapping) else {})
    try:
        drawn = drawing.object_of(drawing.root, [metadata], "")
    except _NoForm as reason:
        return MetadataFields(reason=str(reason))
    declared = {key: value for key, value in metadata.items() if key in drawn["properties"]}
    return MetadataFields(drawn, declared, tuple(drawing.kept))


class _Drawing:
    """Turns a JSON Schema into one that react-json-form draws, looking at the values that the form will hold."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.kept: list[str] = []
        self.parts = 0

    def drawn(self, schema: Any, values: Sequence[Any], place: str, *, listed: bool = False) -> dict[str, Any]:
        """The form's part for these values of one place; `listed` inside a list, where every key must be declared."""
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise _NoForm(_("The schema has over %(limit)d fields.") % {"limit": MAX_PARTS})
        schema = self._resolved(schema, place)
        kind = _kind_of(schema, place)
        present = [value for value in values if value is not None]
        if not all(_holds(kind, value) for value in present):
            raise _NoForm(_("%(place)s holds a value that a form can't show as it is.") % {"place": place})
        if kind == "object":
            return self.object_of(schema, present, place, listed=listed)
        if kind == "array":
            return _labels(schema) | self._list(schema, present, place)
        return _labels(schema) | _scalar(schema, kind, present, place)

    def object_of(
        self, schema: Mapping[str, Any], values: Sequence[Any], place: str, *, listed: bool = False
    ) -> dict[str, Any]:
        """An object's declared keys, each with its title."""
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            raise _NoForm(_("The schema declares no keys for %(place)s.") % {"place": place or "metadata"})
        undeclared = [under(place, key) for value in values for key in value if key not in properties]
        if listed and undeclared:
            raise _NoForm(_("%(place)s is not declared, and stands in a list.") % {"place": undeclared[0]})
        self.kept += undeclared
        drawn = {}
        for key, sub in properties.items():
            inner = [value[key] for value in values if key in value]
            part = self.drawn(sub, inner, under(place, _usable(key)), listed=listed)
            drawn[key] = {"title": key} | part
        return _labels(schema) | {"type": "object", "properties": drawn, "required": list(_required(schema))}

    def _list(self, schema: Mapping[str, Any], values: Sequence[Any], place: str) -> dict[str, Any]:
        items = [item for value in values for item in value]
        if len(items) > MAX_ITEMS:
            raise _NoForm(_("%(place)s has over %(limit)d items.") % {"place": place, "limit": MAX_ITEMS})
        part = self.drawn(schema.get("items"), items, f"{place}[]", listed=True)
        return {"type": "array", "items": part, "maxItems": MAX_ITEMS}

    def _resolved(self, schema: Any, place: str) -> Mapping[str, Any]:
        """The schema that a reference inside the document means."""
        seen: list[str] = []
        while isinstance(schema, Mapping) and "$ref" in schema:
            reference = str(schema["$ref"])
            if reference in seen or place.count(".") + place.count("[]") > 8:
                raise _NoForm(_("The schema of %(place)s refers to itself.") % {"place": place})
            seen.append(reference)
            schema = self._found(reference)
        if not isinstance(schema, Mapping):
            raise _NoForm(_("The schema says no type for %(place)s.") % {"place": place})
        return schema

    def _found(self, reference: str) -> Any:
        found: Any = self.root
        for part in reference.removeprefix("#").strip("/").split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) and name else found
        return found


def _kind_of(schema: Mapping[str, Any], place: str) -> str:
    """The one type of a schema, beside null; told by its keys or choices where it isn't said."""
    said = schema.get("type")
    kinds = [kind for kind in (said if isinstance(said, list) else [said]) if kind not in (None, "null")]
    if not kinds:
        kinds = _implied(schema)
    if len(kinds) > 1:
        raise _NoForm(_("The schema allows several types for %(place)s.") % {"place": place})
    if not kinds or kinds[0] not in KINDS:
        raise _NoForm(_("The schema says no type for %(place)s.") % {"place": place})
    return str(kinds[0])


def _implied(schema: Mapping[str, Any]) -> list[str]:
    if "properties" in schema:
        return ["object"]
    if "items" in schema:
        return ["array"]
    choices = [choice for choice in schema.get("enum", []) if choice is not None]
    return ["string"] if choices and all(isinstance(choice, str) for choice in choices) else []


def _holds(kind: str, value: Any) -> bool:
    """Whether a form field of this kind shows the value, and a browser keeps it."""
    if not isinstance(value, KINDS[kind]) or isinstance(value, bool) != (kind == "boolean"):
        return False
    if kind == "integer" and isinstance(value, float) and not value.is_integer():
        return False
    return not isinstance(value, int) or abs(value) <= MAX_EXACT


def _scalar(schema: Mapping[str, Any], kind: str, values: Sequence[Any], place: str) -> dict[str, Any]:
    choices = [choice for choice in schema.get("enum") or () if choice is not None]
    if choices and kind != "boolean":
        if not all(_holds(kind, choice) for choice in choices) or any(value not in choices for value in values):
            raise _NoForm(_("%(place)s holds a value that is none of its choices.") % {"place": place})
        offered = [{"title": "—", "value": ""}, *({"title": str(choice), "value": choice} for choice in choices)]
        return {"type": kind, "choices": offered}
    part: dict[str, Any] = {"type": kind}
    if kind == "string":
        part |= _line_or_lines(schema, values)
    if kind in ("integer", "number"):
        part |= {name: schema[name] for name in ("minimum", "maximum") if _holds("number", schema.get(name))}
    if kind != "boolean" and isinstance(schema.get("default"), str | int | float):
        part["placeholder"] = str(schema["default"])
    return part


def _line_or_lines(schema: Mapping[str, Any], values: Sequence[str]) -> dict[str, Any]:
    """A line of text would lose the line breaks of a longer one."""
    if any("\n" in value or "\r" in value for value in values) or schema.get("maxLength", 0) > 200:
        return {"widget": "textarea"}
    if schema.get("format") == "date" and all(not value or _is_date(value) for value in values):
        return {"format": "date"}
    return {"format": "email"} if schema.get("format") == "email" else {}


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _labels(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Title and description, each where react-json-form looks for it."""
    said = schema.get("description")
    texts = {"title": schema.get("title"), "description": said, "help_text": said}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}


def _required(schema: Mapping[str, Any]) -> Sequence[str]:
    required = schema.get("required")
    return required if isinstance(required, list) else ()


def _usable(key: str) -> str:
    if not key or SEPARATOR in key or key == "__proto__":
        raise _NoForm(_("A form can't have a field of the name %(name)s.") % {"name": f'"{key}"'})
    return key


def under(place: str, key: str) -> str:
    """A key's place, below another one."""
    return f"{place}.{key}" if place else key
