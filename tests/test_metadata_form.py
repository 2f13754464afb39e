"""Which metadata a form of its schema holds without a loss, and what a form that comes back changes."""

import json

import pytest

from memory_app.metadata_changes import merged
from memory_app.metadata_form import fields_of

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
WIDE = {"type": "object", "properties": {f"k{number}": {"$ref": "#/$defs/wide"} for number in range(10)}}


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("properties", "metadata", "reason"),
    [
        ({}, {}, "declares no keys for metadata"),
        ({"a": True}, {}, "says no type for a"),
        ({"a": {}}, {}, "says no type for a"),
        ({"a": {"oneOf": [TEXT, NUMBER]}}, {}, "says no type for a"),
        ({"a": {"type": ["string", "number"]}}, {}, "several types for a"),
        ({"a": {"type": "object"}}, {}, "declares no keys for a"),
        ({"a": {"type": "array"}}, {}, "says no type for a[]"),
        ({"a§b": TEXT}, {}, "a field of the name"),
        ({"__proto__": TEXT}, {}, "a field of the name"),
        ({"a": TEXT}, {"a": 1}, "a holds a value"),
        ({"a": TEXT}, {"a": ["x"]}, "a holds a value"),
        ({"a": {"type": "integer"}}, {"a": 1.5}, "a holds a value"),
        ({"a": {"type": "integer"}}, {"a": True}, "a holds a value"),
        ({"a": {"type": "boolean"}}, {"a": 1}, "a holds a value"),
        ({"a": NUMBER}, {"a": 2**53}, "a holds a value"),
        ({"a": {"enum": ["x", "y"]}}, {"a": "z"}, "none of its choices"),
        ({"a": {"type": "number", "enum": [1, 2**60]}}, {}, "none of its choices"),
        ({"a": {"type": "array", "items": schema(b=TEXT)}}, {"a": [{"b": "x", "c": 1}]}, "a[].c is not declared"),
        ({"a": {"type": "array", "items": TEXT}}, {"a": ["x"] * 1_001}, "over 1000 items"),
        ({"a": {"$ref": "#/$defs/node"}}, {}, "refers to itself"),
        ({"a": {"$ref": "#/$defs/loop"}}, {}, "refers to itself"),
        ({"a": {"$ref": "#/$defs/wide"}}, {}, "refers to itself"),
        ({"a": {"$ref": "#/nowhere"}}, {}, "says no type for a"),
        ({f"k{number}": TEXT for number in range(301)}, {}, "over 300 fields"),
    ],
)
def test_it_says_why_there_is_no_form(properties, metadata, reason):
    definitions = {"node": NODE, "wide": WIDE, "loop": {"$ref": "#/$defs/loop"}}
    fields = fields_of(schema(**properties) | {"$defs": definitions}, metadata)
    assert fields.schema is None
    assert reason in fields.reason


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"type": ["string", "null"]}, None),
        ({"type": "string"}, None),
        ({"enum": ["x", "y"]}, "y"),
        ({"$ref": "#/$defs/text"}, "x"),
        ({"type": "integer", "oneOf": [{"minimum": 1}, {"maximum": -1}]}, 5.0),
        ({"type": "string", "format": "uri"}, "javascript:alert(1)"),
        ({"type": "string", "format": "date"}, "2026-13-45"),
        ({"items": {"type": "object", "properties": {"b": {"type": "boolean"}}}}, [{"b": True}, {}]),
    ],
)
def test_it_draws_what_it_can_hold(part, value):
    fields = fields_of(schema(a=part) | {"$defs": {"text": TEXT}}, {"a": value, "other": 2**70})
    assert fields.schema is not None
    assert (fields.data, fields.kept) == ({"a": value}, ("other",))
    assert "uri" not in json.dumps(fields.schema)


def test_it_gives_several_lines_to_a_text_that_has_them():
    fields = fields_of(schema(a=TEXT, b=TEXT), {"a": "x\ny", "b": "x"})
    assert [part.get("widget") for part in fields.schema["properties"].values()] == ["textarea", None]


def changed(properties: dict[str, object], stored: dict[str, object], shown: object, sent: object, **more: object):
    fields = fields_of(schema(**properties) | more, stored)
    assert fields.schema is not None
    return merged(fields.schema, stored, shown, sent)


def test_it_keeps_the_spelling_of_items_that_only_moved():
    items = {"a": {"type": "array", "items": NUMBER}}
    value, _problem = changed(items, {"a": [1.0, 2.0, 3.5]}, {"a": [1, 2, 3.5]}, {"a": [2, 4, 1]})
    assert json.dumps(value) == '{"a": [2.0, 4, 1.0]}'


def test_it_changes_one_key_of_an_item_and_keeps_the_others():
    items = {"a": {"type": "array", "items": schema(n=NUMBER, t=TEXT)}}
    shown = {"a": [{"n": 1, "t": ""}, {"n": 2, "t": "x"}]}
    sent = {"a": [{"n": 1, "t": "new"}, {"n": 2, "t": "x"}, {"n": None, "t": ""}]}
    value, _problem = changed(items, {"a": [{"n": 1.0}, {"n": 2.0, "t": "x"}]}, shown, sent)
    assert json.dumps(value) == '{"a": [{"n": 1.0, "t": "new"}, {"n": 2.0, "t": "x"}]}'


def test_it_leaves_null_and_empty_values_that_nobody_touched():
    stored = {"a": None, "b": "", "c": [], "d": {}, "e": "x"}
    parts = {"a": TEXT, "b": TEXT, "c": {"type": "array", "items": TEXT}, "d": schema(k=TEXT), "e": TEXT}
    shown = {"a": None, "b": "", "c": [], "d": {"k": ""}, "e": "x"}
    assert changed(parts, stored, shown, shown | {"e": "y"})[0] == stored | {"e": "y"}


def test_it_makes_absent_what_was_emptied_but_keeps_a_list_that_must_be_there():
    parts = {"a": {"type": "array", "items": TEXT}, "b": {"type": "array", "items": TEXT}, "c": schema(k=TEXT)}
    shown = {"a": ["x"], "b": ["x"], "c": {"k": "x"}}
    assert changed(parts, shown, shown, {"a": [], "b": [], "c": {"k": ""}}, required=["a"])[0] == {"a": []}


@pytest.mark.parametrize("sent", [None, [], "x", 5, {"a": {"b": 1}}, {"a": [[1]]}, {}])
def test_it_survives_whatever_is_posted(sent):
    value, _problem = changed({"a": TEXT, "b": {"type": "array", "items": TEXT}}, {"a": "x", "o": 1}, {"a": "x"}, sent)
    assert value["o"] == 1
