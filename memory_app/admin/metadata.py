"""Metadata in the console: checked JSON text, and beside it the fields of the type's schema where they lose nothing."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from memory_app.contracts import clean_metadata
from memory_app.exceptions import InvalidInput
from memory_app.metadata_changes import merged
from memory_app.metadata_form import MetadataFields, fields_of
from memory_app.models import MemoryType


class MetadataEditor(forms.Textarea):
    """JSON text, which works without JavaScript, and the data of the form that stands in for it."""

    template_name = "admin/memory_app/memory/metadata_editor.html"
    fields = MetadataFields()
    type_key = ""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        return context | {"fields": self.fields, "type_key": self.type_key, "words": _words()}

    def _render(self, template_name: str, context: dict[str, Any], renderer: Any = None) -> SafeString:
        """By the project's templates, which a form's own renderer doesn't know."""
        return render_to_string(template_name, context)

    def show_fields(self, type_key: str, text: str) -> None:
        """Offers the form of the type's schema for this JSON text, or says why there is none."""
        self.type_key = type_key
        schema = next((info.metadata_schema for info in MemoryType.available() if info.key == type_key), None)
        if schema is None:
            return
        try:
            self.fields = fields_of(schema, read_metadata(text))
        except forms.ValidationError:
            self.fields = MetadataFields(reason=gettext("The text is no JSON object."))


class MetadataField(forms.CharField):
    """A JSON object as text: keys keep their order, numbers stay what they are; empty means none."""

    widget = MetadataEditor

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else shown_metadata(value)

    def to_python(self, value: Any) -> Any:
        return read_metadata(super().to_python(value) or "")

    def has_changed(self, initial: Any, data: Any) -> bool:
        """By what the text means, not by its blanks; an order of keys is a meaning."""
        try:
            return self._meaning(initial) != self._meaning(data)
        except forms.ValidationError:
            return True

    def _meaning(self, value: Any) -> str:
        return json.dumps(self.to_python(value) if isinstance(value, str) else value or {}, ensure_ascii=False)


def shown_metadata(value: Any) -> str:
    """Metadata as people edit it; "" for none."""
    return json.dumps(value, ensure_ascii=False, indent=2) if value else ""


def read_metadata(text: str) -> dict[str, Any]:
    """The metadata that a text says; raises ValidationError with the place of what is wrong."""
    if not text.strip():
        return {}
    try:
        return clean_metadata(json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse))
    except json.JSONDecodeError as error:
        message = gettext("No JSON: look at line %(line)d, column %(column)d (%(problem)s).")
        values = {"line": error.lineno, "column": error.colno, "problem": _problem(error.msg)}
        raise forms.ValidationError(message % values) from None
    except RecursionError:
        raise forms.ValidationError(gettext("metadata is nested too deeply; flatten it.")) from None
    except InvalidInput as error:
        raise forms.ValidationError(error.message) from None
    except ValueError:
        raise forms.ValidationError(gettext("metadata holds a number of too many digits; write it as text.")) from None


def with_fields(sent: Mapping[str, Any]) -> tuple[str, str] | None:
    """The metadata text that a posted form makes, and what is wrong with it; None where JSON text was edited."""
    if sent.get("metadata-editor") != "fields":
        return None
    try:
        stored = read_metadata(str(sent.get("metadata", "")))
        shown, now = (json.loads(str(sent.get(f"metadata-{name}", ""))) for name in ("shown", "sent"))
    except (forms.ValidationError, ValueError, RecursionError):
        return None
    editor = MetadataEditor()
    editor.show_fields(str(sent.get("metadata-type", "")), shown_metadata(stored))
    if editor.fields.schema is None:
        return None if shown == now else ("", gettext("The type's schema was changed meanwhile; edit the JSON."))
    value, problem = merged(editor.fields.schema, stored, shown, now)
    return shown_metadata(value), problem


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidInput(gettext("A key stands twice in one object; keep one of them."))
    return found


def _refuse(name: str) -> None:
    raise InvalidInput(gettext("metadata must not contain NaN or Infinity; use null or text."))


def _problem(said: str) -> str:
    """Python's words for what is wrong with a JSON text, in the operator's language."""
    words = _words()
    known = {
        "Expecting ',' delimiter": "comma",
        "Expecting ':' delimiter": "colon",
        "Expecting property name enclosed in double quotes": "key",
        "Expecting value": "value",
        "Unterminated string starting at": "open",
        "Invalid control character at": "control",
        "Invalid \\escape": "escape",
        "Invalid \\escape: ": "escape",
        "Invalid \\uXXXX escape": "escape",
        "Extra data": "extra",
        "Illegal trailing comma before end of object": "key",
        "Illegal trailing comma before end of array": "value",
    }
    return words[known[said]] if said in known else said


def _words() -> dict[str, str]:
    """What the editor says in the browser."""
    return {
        "comma": gettext("a comma or the end is expected"),
        "colon": gettext("a colon is expected"),
        "key": gettext("a key in double quotes is expected"),
        "value": gettext("a value is expected"),
        "open": gettext("a text is not closed"),
        "control": gettext("a line break or control character stands in a text"),
        "escape": gettext("no such escape"),
        "extra": gettext("something stands after the end"),
        "object": gettext("metadata is an object in braces"),
        "twice": gettext("a key stands twice"),
        "number": gettext("no such number"),
        "place": gettext("Line {line}, column {column}: {problem}."),
        "good": gettext("The JSON is well formed."),
        "none": gettext("No metadata."),
        "blank": gettext("A number can't be read; correct or clear it."),
        "Add item": gettext("Add item"),
        "Add new item": gettext("Add new item"),
        "Select...": gettext("Select…"),
        "Move up": gettext("Move up"),
        "Move down": gettext("Move down"),
        "Remove": gettext("Remove"),
        "Collapse": gettext("Collapse"),
        "Expand": gettext("Expand"),
        "Collapsed": gettext("Collapsed"),
        "item": gettext("item {number}"),
    }
