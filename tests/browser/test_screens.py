"""What fits on a screen."""

import pytest

from tests.browser.console import AGENTS, LIST, PREVIEW, TYPES, Console
from tests.browser.looks import CHINESE, CHINESE_PHONE, ENGLISH, PHONE

PATHS = [
    "/admin/",
    LIST,
    f"{LIST}?q=memory&agentName=helper",
    f"{LIST}?q=nothing",
    f"{LIST}add/",
    f"{LIST}helper_3A1/change/",
    f"{LIST}helper_3A1/history/",
    f"{LIST}helper_3A1/delete/",
    f"{PREVIEW}?agent=helper&user=ann&message=memory",
    TYPES,
    f"{TYPES}add/",
    AGENTS,
    f"{AGENTS}add/",
    "/admin/password_change/",
]
VISIBLE = """() => [...document.querySelectorAll('#result_list tbody tr')].filter((row) => {
  const box = row.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= window.innerHeight;
}).length"""


@pytest.mark.parametrize("look", [ENGLISH, CHINESE, PHONE, CHINESE_PHONE], ids=str)
def test_it_never_scrolls_sideways(console: Console, memories, look):
    memories.fill(60, text="Memory number %d with a text that goes on for a while, longer than a column is wide")
    too_wide = {}
    for path in PATHS:
        console.open(path)
        too_wide[path] = console.overflow()
    assert {path: pixels for path, pixels in too_wide.items() if pixels} == {}


@pytest.mark.parametrize(("look", "rows"), [(ENGLISH, 14), (CHINESE, 14)], ids=str)
def test_it_shows_many_memories_on_a_screen(console: Console, memories, look, rows):
    memories.fill(60, text="Memory number %d with a text that goes on for a while, longer than a column is wide")
    console.open(LIST)
    assert console.page.evaluate(VISIBLE) >= rows
