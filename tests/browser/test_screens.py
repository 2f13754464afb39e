"""What fits on a screen."""

import pytest

from tests.browser.console import LIST, Console
from tests.browser.looks import CHINESE, CHINESE_PHONE, ENGLISH, PHONE

VISIBLE = """() => [...document.querySelectorAll('#result_list tbody tr')].filter((row) => {
  const box = row.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= window.innerHeight;
}).length"""


@pytest.mark.parametrize(("look", "rows"), [(ENGLISH, 14), (CHINESE, 14), (PHONE, 10), (CHINESE_PHONE, 10)], ids=str)
def test_it_shows_many_memories_on_a_screen(console: Console, memories, look, rows):
    memories.fill(60, text="Memory number %d with a text that goes on for a while, longer than a column is wide")
    console.open(LIST)
    if look.width < 600:
        console.page.evaluate("document.querySelector('#result_list').scrollIntoView()")
    assert console.page.evaluate(VISIBLE) >= rows


@pytest.mark.parametrize("look", [PHONE, CHINESE_PHONE], ids=str)
def test_it_has_search_and_filters_before_the_rows_on_a_phone(console: Console, memories, look):
    memories.fill(60)
    console.open(LIST)
    rows = console.find("#result_list").bounding_box()["y"]
    assert console.find("#searchbar").bounding_box()["y"] < rows
    assert console.find(".filters-switch summary").bounding_box()["y"] < rows
    console.find(".filters-switch summary").click()
    assert console.find("#changelist-filter .card").first.is_visible()
