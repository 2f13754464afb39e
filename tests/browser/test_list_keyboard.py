"""The memory list by keyboard: every shortcut presses what the page offers anyway."""

import re

import pytest

from tests.browser.console import LIST, PREVIEW, Console
from tests.browser.looks import every_language

ROWS = "#result_list tbody tr"


@pytest.fixture
def listed(console: Console, memories) -> Console:
    """The list of three memories, the newest first."""
    for text in ("oldest tea", "middle tea", "newest tea"):
        memories.save(text)
    console.open(LIST)
    return console


def press(console: Console, *keys: str) -> None:
    for key in keys:
        console.page.keyboard.press(key)


def focused(console: Console) -> str:
    return str(console.page.evaluate("document.activeElement.textContent.trim()"))


def selected(console: Console) -> int:
    return console.find(f"{ROWS} input.action-select:checked").count()


def dispatch(console: Console, **event) -> None:
    script = "event => document.body.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, ...event}))"
    console.page.evaluate(script, event)


def test_it_walks_the_rows_and_opens_one(listed):
    press(listed, "j")
    assert focused(listed).startswith("newest tea")
    press(listed, "j", "j", "j", "k")
    assert focused(listed).startswith("middle tea")
    press(listed, "Enter")
    listed.page.wait_for_url(re.compile(r"/change/$"))
    assert listed.find("#id_name").input_value() == "middle tea"


def test_it_selects_rows_and_takes_the_selection_back(listed):
    press(listed, "j", "x", "j", "x")
    assert selected(listed) == 2
    press(listed, "Escape")
    assert selected(listed) == 0
    press(listed, "a")
    assert selected(listed) == 3


def test_it_searches(listed):
    press(listed, "/")
    listed.page.keyboard.type("middle")
    press(listed, "Enter")
    listed.page.wait_for_url(re.compile("q=middle"))
    assert listed.find(ROWS).count() == 1


def test_it_leaves_typing_alone(listed):
    listed.find("#searchbar").focus()
    listed.page.keyboard.type("jxa?/go")
    assert listed.find("#searchbar").input_value() == "jxa?/go"
    assert selected(listed) == 0
    assert listed.find("#shortcuts").is_hidden()


@pytest.mark.parametrize(
    "event",
    [
        {"key": "Process", "code": "KeyA"},
        {"key": "a", "code": "KeyA", "isComposing": True},
        {"key": "a", "code": "KeyA", "ctrlKey": True},
        {"key": "a", "code": "KeyA", "altKey": True},
        {"key": "a", "code": "KeyA", "metaKey": True},
    ],
)
def test_it_leaves_input_methods_and_other_shortcuts_alone(listed, event):
    dispatch(listed, **event)
    assert selected(listed) == 0


@pytest.mark.parametrize("key", ["ａ", "ф", "日"])
def test_it_knows_the_key_under_another_layout(listed, key):
    dispatch(listed, key=key, code="KeyA")
    assert selected(listed) == 3


def test_it_opens_the_search_by_the_key_that_a_chinese_layout_prints_otherwise(listed):
    dispatch(listed, key="、", code="Slash")
    assert listed.page.evaluate("document.activeElement.id") == "searchbar"


@every_language
def test_it_lists_the_shortcuts_and_gives_the_focus_back(listed, look):
    press(listed, "j")
    before = focused(listed)
    press(listed, "?")
    assert ("上一行" if look.language == "zh-hans" else "previous row") in listed.find("#shortcuts").inner_text()
    press(listed, "x")
    press(listed, "Escape")
    assert listed.find("#shortcuts").is_hidden()
    assert (focused(listed), selected(listed)) == (before, 0)


def test_it_goes_where_two_keys_lead(listed):
    press(listed, "g", "p")
    listed.page.wait_for_url(f"**{PREVIEW}")
    press(listed, "g", "m")
    listed.page.wait_for_url(f"**{LIST}")
    press(listed, "g", "o")
    listed.page.wait_for_url("**/admin/")


def test_it_edits_and_saves_and_shows_the_history(listed):
    press(listed, "j", "e")
    listed.page.wait_for_url(re.compile(r"/change/$"))
    listed.find("#id_name").fill("another title")
    press(listed, "Control+s")
    listed.page.wait_for_url(f"**{LIST}")
    assert "was changed successfully" in listed.messages()
    press(listed, "j", "h")
    listed.page.wait_for_url(re.compile(r"/history/$"))
    press(listed, "e")
    listed.page.wait_for_url(re.compile(r"/change/$"))


def test_it_opens_a_row_by_a_click_anywhere_but_not_by_its_checkbox(listed):
    listed.find(f"{ROWS} input.action-select").first.click()
    assert listed.path == LIST
    listed.find(f"{ROWS} .field-summary").first.click()
    listed.page.wait_for_url(re.compile(r"/change/$"))
