"""The form of a memory in a browser: the fields of a schema, JSON text, conflicts, unsaved edits."""

import json

import pytest

from memory_app import search, services
from memory_app.contracts import MemoryChanges, Scope
from memory_app.models import MemoryType
from tests.browser.console import LIST, Console
from tests.browser.looks import ENGLISH, PHONE, every_theme

SCHEMA = {
    "type": "object",
    "title": "Skill",
    "required": ["level"],
    "properties": {
        "level": {"type": "integer", "description": "1 to 5"},
        "language": {"type": "string", "enum": ["en", "zh"]},
        "certified": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string", "maxLength": 1000},
        "place": {"type": "object", "properties": {"city": {"type": "string"}}},
        "projects": {"type": "array", "items": {"type": "object", "properties": {"hours": {"type": "number"}}}},
    },
}
METADATA = {"odd": {"k": 2**70, "n": None, "f": 1.0}, "level": 3, "tags": ["a"], "key with space": "🙂"}


@pytest.fixture
def skilled(memories) -> str:
    MemoryType.objects.create(key="skill", name="技能", metadata_schema=SCHEMA)
    return memories.save("Speaks Rust", type="skill", metadata=METADATA)


def address(reference: str, page: str = "change") -> str:
    return f"{LIST}{reference.replace(':', '_3A')}/{page}/"


def metadata(reference: str) -> dict[str, object]:
    agent, number = reference.split(":")
    memory = search.get(Scope.all_users(agent), int(number))
    assert memory is not None
    return dict(memory.metadata)


def press(console: Console, name: str) -> None:
    console.follow(console.find(f"[name={name}]"))


def test_it_saves_fields_without_touching_a_byte_of_the_rest(console: Console, skilled):
    console.open(address(skilled))
    assert not console.find("#id_metadata").is_visible()
    console.label("level").fill("4")
    console.button("Add item (tags)").click()
    console.label("tags item 2").fill("b")
    console.label("note").fill("two\nlines")
    press(console, "_continue")
    changed = METADATA | {"level": 4, "tags": ["a", "b"], "note": "two\nlines"}
    assert json.dumps(metadata(skilled)) == json.dumps(changed)
    console.label("note").fill("")
    console.label("certified").check()
    press(console, "_save")
    del changed["note"]
    assert json.dumps(metadata(skilled)) == json.dumps(changed | {"certified": True})


def test_it_changes_nothing_where_nothing_was_changed(console: Console, skilled):
    console.open(address(skilled))
    console.label("level").fill("4")
    console.label("level").fill("3")
    press(console, "_save")
    assert "No change" in console.messages()


def test_it_switches_between_the_form_and_json_with_what_was_typed(console: Console, skilled):
    console.open(address(skilled))
    console.label("level").fill("5")
    console.follow(console.button("Edit as JSON"))
    area = console.find("#id_metadata")
    assert json.loads(area.input_value()) == METADATA | {"level": 5}
    area.fill(area.input_value().replace('"level": 5', '"level": 2'))
    console.follow(console.button("Edit as a form"))
    assert console.label("level").input_value() == "2"
    assert metadata(skilled) == METADATA


def test_it_offers_the_fields_of_another_type_and_keeps_what_was_typed(console: Console, skilled):
    console.open(f"{LIST}add/?agentName=helper")
    console.find("#id_content").fill("typed")
    with console.page.expect_navigation():
        console.find("#id_type").select_option("skill")
    assert console.label("level").is_visible()
    assert console.find("#id_content").input_value() == "typed"
    assert console.find(".errorlist").count() == 0


def test_it_refuses_a_number_that_it_cannot_read(console: Console, skilled):
    console.open(address(skilled))
    console.label("level").press("ControlOrMeta+a")
    console.page.keyboard.type("1e999")
    console.find("[name=_save]").click()
    assert console.path == address(skilled)
    assert metadata(skilled) == METADATA


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}', "The JSON is well formed."),
        ("", "No metadata."),
        ('{\n  "a": 1\n  "b": 2}', "Line 3, column 3: a comma or the end is expected."),
        ('{"a": [1, ]}', "Line 1, column 11: a value is expected."),
        ('{"a": 1, "a": 2}', "Line 1, column 10: a key stands twice."),
        ('{"a": NaN}', "Line 1, column 7: a value is expected."),
        ('{"🙂": 01}', "Line 1, column 8: a comma or the end is expected."),
        ('{"a": "x', "Line 1, column 7: a text is not closed."),
        ("[1]", "Line 1, column 1: metadata is an object in braces."),
    ],
)
def test_it_says_while_one_types_where_json_is_wrong(console: Console, memories, text, said):
    console.open(address(memories.save("tea")))
    console.find("#id_metadata").fill(text)
    console.page.wait_for_function("said => document.querySelector('.json-status').textContent === said", arg=said)


def test_it_formats_json_without_changing_a_number(console: Console, memories):
    console.open(address(memories.save("tea")))
    console.find("#id_metadata").fill('{"a":1.10,"b":1180591620717411303424,"c":[],"d":{"e":[1,{}]}}')
    console.button("Format").click()
    lists = '"c": [],\n  "d": {\n    "e": [\n      1,\n      {}\n    ]\n  }\n}'
    shown = f'{{\n  "a": 1.10,\n  "b": 1180591620717411303424,\n  {lists}'
    assert console.find("#id_metadata").input_value() == shown


def test_it_counts_and_warns_before_a_text_is_too_long(console: Console, memories):
    console.open(address(memories.save("tea")))
    console.find("#id_description").fill("🙂" * 500)
    assert console.find("#id_description_counter").inner_text() == "500 of 500 characters"
    assert console.find(".counter.over").count() == 0
    console.find("#id_description").fill("🙂" * 501)
    assert console.find(".counter.over").inner_text() == "501 of 500 characters"


def test_it_warns_before_unsaved_edits_are_left_and_only_then(console: Console, skilled):
    asked: list[str] = []
    console.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    console.open(address(skilled))
    console.open(LIST)
    assert asked == []
    console.open(address(skilled))
    console.label("level").fill("5")
    console.open(LIST)
    assert asked == ["beforeunload"]


@every_theme
def test_it_lets_two_edits_be_merged_by_choice(console: Console, skilled, look):
    console.open(address(skilled))
    console.find("#id_name").fill("my title")
    console.label("level").fill("1")
    agent, number = skilled.split(":")
    theirs = METADATA | {"level": 2, "certified": True}
    services.update(Scope.all_users(agent), int(number), MemoryChanges(name="their title", metadata=theirs))
    press(console, "_save")
    console.expect("status of 409")
    assert console.page.evaluate("document.activeElement.tagName") == "H1"
    assert console.violations() == []
    console.find("input[type=submit]").click()
    assert console.find("h1").is_visible()  # the browser asks for the choices first
    console.find("[name=choice-name][value=theirs]").check()
    console.find("[name=choice-metadata][value=mine]").check()
    console.follow(console.find("input[name=_continue]"))
    assert console.find("#id_name").input_value() == "their title"
    assert json.dumps(metadata(skilled)) == json.dumps(theirs | {"level": 1})


@every_theme
def test_it_is_accessible_with_the_fields_of_a_schema(console: Console, skilled, look):
    services.update(Scope.all_users("helper"), int(skilled.split(":")[1]), MemoryChanges(
        metadata=METADATA | {"projects": [{"hours": 1.5}, {"hours": 2}]}))  # fmt: skip
    console.open(address(skilled))
    assert console.violations() == []


@pytest.mark.parametrize("look", [ENGLISH, PHONE], ids=str)
def test_it_fits_the_screen_with_any_text(console: Console, skilled, look, memories):
    wide = memories.save("x" * 8_000, name="y" * 255, metadata={"z" * 300: "w" * 3_000})
    for path in (address(skilled), address(wide), address(wide, "delete"), f"{LIST}add/"):
        console.open(path)
        assert console.overflow() == 0, path
