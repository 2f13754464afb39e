"""Lists and forms in a browser."""

import json

import pytest

from memory_app import search
from memory_app.contracts import Scope
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


def test_it_keeps_two_operators_from_overwriting_each_other(open_console, operator, memories):
    memory = memories.save("tea")
    first, second = open_console(operator), open_console(operator)
    first.open(address(memory))
    second.open(address(memory))
    first.find("#id_content").fill("green tea")
    second.find("#id_content").fill("black tea")
    save(first)
    save(second)
    second.expect("status of 409")
    page = second.find("#content").inner_text()
    assert "green tea" in page
    assert stored(memory).content == "green tea"
    assert second.find("#id_content").input_value() == "black tea"


@pytest.mark.parametrize("backend", ["sqlite", None])
def test_it_adds_a_memory(console: Console, memories, backend):
    memories.agent("helper", memory={"backend": backend} if backend else {})
    console.open(f"{LIST}add/?agent_name=helper")
    console.find("#id_agent_name").select_option("helper")
    console.find("#id_user_id").fill("ann")
    console.find("#id_type").select_option("user")
    console.find("#id_name").fill("drink")
    console.find("#id_content").fill("tea")
    save(console)
    found = search.recall(Scope("helper", "ann"), "tea")
    assert [(hit.memory.name, hit.memory.type) for hit in found] == [("drink", "user")]


def test_it_finds_words_and_filters_by_agent(console: Console, memories):
    memories.save("green tea 绿茶", name="one")
    memories.save("coffee", name="two", agent="other")
    console.open(f"{LIST}?q=绿茶")
    assert console.find("#result_list tbody tr").count() == 1
    console.open(f"{LIST}?agentName=other")
    assert console.find("#result_list tbody tr").count() == 1
    assert "two" in console.find("#result_list").inner_text()
