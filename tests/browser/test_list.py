"""The memory list: cards, chips, stores that can't be read."""

from memory_app import search
from memory_app.contracts import PageQuery
from tests.browser.console import LIST, Console
from tests.browser.looks import every_language

ROWS = "#result_list tbody tr"


def stores(memories) -> None:
    """Three agents in two files and the main store."""
    memories.fill(3, agent="helper")
    for name in ("files", "others"):
        memories.agent(name, memory={"backend": "sqlite", "sqlite_path": f"memory/{name}.db"})
    memories.fill(2, agent="files", text="File %d")
    memories.fill(1, agent="others", text="Other %d")


def card(console: Console, agent: str):
    return console.find("#changelist-filter .card a").filter(has_text=agent)


@every_language
def test_it_filters_by_a_card_and_shows_it_as_a_chip(console: Console, memories, look):
    stores(memories)
    console.open(LIST)
    assert console.find(ROWS).count() == 6
    console.follow(card(console, "files"))
    assert "agentName=files" in console.path
    assert console.find(ROWS).count() == 2
    assert console.find(".chips li:not(.clear)").count() == 1
    console.follow(console.find(".chips li:not(.clear) a"))
    assert console.find(ROWS).count() == 6


def test_it_goes_back_to_the_filtered_list_from_a_memory(console: Console, memories):
    stores(memories)
    console.open(f"{LIST}?agentName=files&q=File")
    console.follow(console.find(f"{ROWS} .field-title a").first)
    console.follow(console.find("[name=_save]"))
    assert "agentName=files" in console.path
    assert "q=File" in console.path
    assert console.find(ROWS).count() == 2


def test_it_says_which_filter_to_remove_when_nothing_matches(console: Console, memories):
    stores(memories)
    console.open(f"{LIST}?agentName=files&q=Other")
    assert console.find(ROWS).count() == 0
    assert "No memory matches" in console.find(".no-rows").inner_text()
    console.follow(console.find(".no-rows li a").first)
    assert console.find(ROWS).count() > 0


@every_language
def test_it_never_says_0_of_a_store_that_cannot_be_read(console: Console, memories, look, data_dir):
    stores(memories)
    for file in (data_dir / "memory").glob("others.db*"):
        file.unlink()
    (data_dir / "memory" / "others.db").write_bytes(b"damaged " * 999)
    console.open(LIST)
    assert "memory/others.db" in console.messages()
    assert console.find(ROWS).count() == 5
    assert "—" in card(console, "others").inner_text()
    response = console.open(f"{LIST}others_3A1/change/", status=503)
    assert response.headers["retry-after"]


def test_it_shows_every_memory_once_over_pages_of_two_stores(console: Console, memories):
    memories.agent("files", memory={"backend": "sqlite", "sqlite_path": "memory/files.db"})
    memories.fill(40, agent="helper", text="one %d")
    memories.fill(40, agent="files", text="two %d")
    console.open(LIST)
    first = console.find(f"{ROWS} .field-title strong").all_inner_texts()
    console.follow(console.page.get_by_role("navigation", name="Pages").get_by_role("link", name="2", exact=True))
    shown = first + console.find(f"{ROWS} .field-title strong").all_inner_texts()
    expected = [entry.name for _backend, entry in search.page(PageQuery(size=100)).rows]
    assert shown == expected
    assert len(set(shown)) == 80
