"""Lists and forms in a browser."""

import json

from memory_app import search
from memory_app.contracts import Scope
from memory_app.models import MemoryChange
from tests.browser.console import LIST, Console
from tests.browser.looks import every_language

ALL = Scope.all_users("helper")
METADATA = {"n": 59, "t": ["a", "b"], "中文": None, "x": {"y": 1.5}, "big": 2**70, "key with space": "🙂"}


def address(reference: str, page: str = "change") -> str:
    return f"{LIST}{reference.replace(':', '_3A')}/{page}/"


def stored(reference: str):
    agent, number = reference.split(":")
    return search.get(Scope.all_users(agent), int(number))


def save(console: Console) -> None:
    console.follow(console.find("[name=_save]"))


@every_language
def test_it_edits_a_memory_and_leaves_its_other_fields_alone(console: Console, memories, look):
    memory = memories.save("first line\nsecond line 花生", description="kept", metadata=METADATA)
    console.open(address(memory))
    console.find("#id_name").fill("新标题")
    save(console)
    assert console.path.startswith(LIST)
    assert "新标题" in console.find("#result_list").inner_text()
    after = stored(memory)
    assert (after.name, after.content, after.description) == ("新标题", "first line\nsecond line 花生", "kept")
    assert json.dumps(after.metadata) == json.dumps(METADATA)


def test_it_edits_the_memory_of_its_own_store_when_ids_are_equal(console: Console, memories):
    memories.agent("files", memory={"backend": "sqlite", "sqlite_path": "memory/files.db"})
    memories.agent("others", memory={"backend": "sqlite", "sqlite_path": "memory/others.db"})
    mine, other = memories.save("tea", agent="files"), memories.save("tea", agent="others")
    assert (mine, other) == ("files:1", "others:1")
    console.open(address(mine))
    assert console.find('a[href*="/1/"]').count() == 0
    console.find("#id_content").fill("coffee")
    save(console)
    assert (stored(mine).content, stored(other).content) == ("coffee", "tea")


def stale(open_console, operator, reference: str, theirs: dict[str, str], mine: dict[str, str]) -> Console:
    """The second of two browsers that opened the same memory, after both were saved."""
    first, second = open_console(operator), open_console(operator)
    for console, texts in ((first, theirs), (second, mine)):
        console.open(address(reference))
        for name, text in texts.items():
            console.find(f"#id_{name}").fill(text)
    save(first)
    save(second)
    second.expect("status of 409")
    return second


@every_language
def test_it_shows_both_texts_where_two_operators_changed_the_same(open_console, operator, memories, look):
    memory = memories.save("tea")
    second = stale(open_console, operator, memory, {"content": "green tea"}, {"content": "black tea"})
    assert [text.split("\n")[-1] for text in second.find(".both .sides pre").all_inner_texts()] == [
        "tea",
        "green tea",
        "black tea",
    ]
    assert second.find("h1:focus").count() == 1
    assert stored(memory).content == "green tea"
    second.find("input[name=choice-content][value=mine]").check()
    second.follow(second.find("[name=_continue]"))
    assert stored(memory).content == "black tea"
    assert MemoryChange.objects.filter(action="updated").count() == 2


def test_it_merges_what_two_operators_changed_in_different_fields(open_console, operator, memories):
    memory = memories.save("tea", description="kept")
    second = stale(open_console, operator, memory, {"content": "green tea"}, {"description": "mine"})
    assert second.find(".both").count() == 0
    second.follow(second.find("[name=_continue]"))
    assert (stored(memory).content, stored(memory).description) == ("green tea", "mine")


@every_language
def test_it_adds_a_memory_to_the_agent_that_is_chosen(console: Console, memories, look):
    memories.agent("helper")
    memories.agent("files", memory={"backend": "sqlite", "sqlite_path": "memory/files.db"})
    console.open(f"{LIST}add/")
    console.follow(console.find(".choose-agent a").filter(has_text="files"))
    console.find("#id_user_id").fill("ann")
    console.find("#id_type").select_option("user")
    console.find("#id_name").fill("drink")
    console.find("#id_content").fill("tea")
    save(console)
    found = search.recall(Scope("files", "ann"), "tea")
    assert [(hit.memory.name, hit.memory.type) for hit in found] == [("drink", "user")]


def test_it_says_that_nothing_changed(console: Console, memories):
    memory = memories.save("tea", metadata=METADATA)
    before = stored(memory)
    console.open(address(memory))
    save(console)
    assert stored(memory) == before
    assert "No change" in console.messages()


def test_it_deletes_a_memory_after_asking(console: Console, memories):
    memory = memories.save("tea")
    console.open(address(memory, "delete"))
    console.follow(console.find("input.deletelink"))
    assert stored(memory) is None
    assert console.path.startswith(LIST)


def test_it_finds_words_and_filters_by_agent(console: Console, memories):
    memories.save("green tea 绿茶", name="one")
    memories.save("coffee", name="two", agent="other")
    console.open(f"{LIST}?q=绿茶")
    assert console.find("#result_list tbody tr").count() == 1
    console.open(f"{LIST}?agentName=other")
    assert console.find("#result_list tbody tr").count() == 1
    assert "two" in console.find("#result_list").inner_text()
