"""The bar of bulk actions, from the selection to the result."""

import json

import pytest

from memory_app import search
from memory_app.contracts import PageQuery
from tests.browser.console import LIST, Console
from tests.browser.looks import ENGLISH, every_look, on_phones

BAR = ".bulk-bar"


@pytest.fixture
def filled(console: Console, memories) -> Console:
    """The list of sixty memories."""
    memories.fill(60)
    console.open(LIST)
    return console


def types() -> set[str]:
    return {entry.type for _backend, entry in search.page(PageQuery(size=100)).rows}


def test_it_is_there_with_a_selection_only(filled):
    assert filled.find(BAR).is_hidden()
    assert filled.find("#changelist .actions").is_hidden()
    filled.find("input.action-select").nth(1).check()
    filled.find("input.action-select").nth(2).check()
    filled.page.get_by_text("2 selected", exact=True).wait_for()
    filled.button("Clear selection").click()
    filled.find(BAR).wait_for(state="hidden")


def test_it_selects_the_page_and_all_that_match(filled):
    filled.find("input.action-select").first.check()
    filled.button("Select page").click()
    filled.page.get_by_text("50 selected", exact=True).wait_for()
    filled.button("Select all 60 matching").click()
    filled.page.get_by_text("All 60 matching selected", exact=True).wait_for()
    filled.button("Clear selection").click()
    filled.find(BAR).wait_for(state="hidden")
    filled.find("input.action-select").first.check()
    filled.follow(filled.button("Delete"))
    assert filled.button("Delete 1 memory").is_visible()


def test_it_retypes_all_that_match_and_repeats_nothing_on_reload(filled):
    filled.find("#action-toggle").check()
    filled.button("Select all 60 matching").click()
    filled.follow(filled.button("Change the type"))
    filled.label("New type:").select_option("project")
    filled.follow(filled.button("Change the type of 60 memories"))
    assert "60 memories given another type" in filled.messages()
    assert types() == {"project"}
    filled.page.reload()
    assert "60 memories given another type" in filled.messages()


def test_it_focuses_no_deletion_first_and_shows_it_last(filled):
    filled.find("input.action-select").first.check()
    assert filled.find(f"{BAR} button").last.inner_text() == "Delete"
    filled.follow(filled.button("Delete"))
    assert filled.page.evaluate("document.activeElement === document.body")


def test_it_downloads_what_was_chosen(filled):
    filled.find("input.action-select").first.check()
    with filled.page.expect_download() as download:
        filled.button("Export as JSON Lines").click()
    assert download.value.suggested_filename.startswith("memories-helper-20")
    assert json.loads(download.value.path().read_text())["agentName"] == "helper"


@every_look
def test_it_breaks_no_rule_of_accessibility(filled, look):
    filled.find("input.action-select").first.check()
    assert filled.violations() == []
    for number in (0, 1, -1):
        filled.open(LIST)
        filled.find("input.action-select").first.check()
        buttons = filled.find(f"{BAR} :is(.action, .destructive)")
        filled.follow(buttons.nth(number))
        assert filled.violations() == []
        assert filled.overflow() == 0


@on_phones
def test_it_fits_a_phone(filled, look):
    filled.find("input.action-select").first.check()
    assert filled.find(f"{BAR} .destructive").is_visible()
    assert filled.overflow() == 0


def test_it_leaves_the_select_where_there_are_no_scripts(browser, console, memories, site):
    memories.fill(3)
    cookies = console.context.cookies()
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": ENGLISH.width, "height": ENGLISH.height}
    )
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(site + LIST)
    page.locator("input.action-select").first.check()
    page.locator("select[name=action]").select_option("delete_chosen")
    page.get_by_role("button", name="Go", exact=True).click()
    assert page.get_by_role("button", name="Delete 1 memory").is_visible()
    context.close()
