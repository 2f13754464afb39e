"""Two operators on one memory: nothing is overwritten unseen, nothing that was typed is lost."""

import pytest

from memory_app import services
from memory_app.admin.conflict import contested, merged_keys
from memory_app.admin.differences import marked
from memory_app.contracts import MemoryChanges
from memory_app.models import MemoryChange
from tests.pages import fields_of
from tests.test_memory_form import ANN, METADATA, address, console, memory, now, opened, text_of  # noqa: F401

pytestmark = pytest.mark.django_db


def stale(console, memory, theirs: MemoryChanges, **mine: str):  # noqa: F811
    """The answer to a form that was opened before somebody else's change."""
    sent = opened(console, memory) | mine
    services.update(ANN, memory.id, theirs)
    return console.post(address(memory), sent)


def test_it_merges_different_fields_and_saves_them_by_one_click(console, memory):  # noqa: F811
    response = stale(console, memory, MemoryChanges(content="theirs"), description="mine")
    assert response.status_code == 409
    assert "changed by both" not in text_of(response)
    assert now(memory).description == "kept"
    assert console.post(address(memory), fields_of(response)).status_code == 302
    saved = now(memory)
    assert (saved.content, saved.description, saved.name, saved.metadata) == ("theirs", "mine", "title", METADATA)
    assert MemoryChange.objects.filter(action="updated", door="console").count() == 1


@pytest.mark.parametrize(
    ("choice", "saved"), [("theirs", "their title"), ("mine", "my title"), ("hand", "by hand"), (None, "by hand")]
)
def test_it_lets_the_operator_choose_where_both_changed_the_same(console, memory, choice, saved):  # noqa: F811
    response = stale(console, memory, MemoryChanges(name="their title"), name="my title")
    assert text_of(response).count("changed by both") == 1
    sent = fields_of(response)
    assert sent["name"] == "my title"
    answer = {"name": "by hand"} | ({"choice-name": choice} if choice else {})
    console.post(address(memory), sent | answer)
    assert now(memory).name == saved


def test_it_shows_the_three_texts(console, memory):  # noqa: F811
    page = text_of(stale(console, memory, MemoryChanges(name="titles"), name="my title"))
    assert "<ins>s</ins>" in page
    assert "<ins>my </ins>" in page
    assert "You opened the version of" in page
    assert "data-copy=" in page


def test_it_can_conflict_again(console, memory):  # noqa: F811
    sent = opened(console, memory) | {"description": "mine"}
    for number in range(2):
        services.update(ANN, memory.id, MemoryChanges(content=f"theirs {number}"))
        response = console.post(address(memory), sent)
        assert response.status_code == 409
        sent = fields_of(response)
    assert console.post(address(memory), sent).status_code == 302
    assert (now(memory).content, now(memory).description) == ("theirs 1", "mine")


def test_it_is_no_conflict_when_both_did_the_same(console, memory):  # noqa: F811
    response = stale(console, memory, MemoryChanges(name="same"), name="same")
    assert "changed by both" not in text_of(response)
    assert "No change" in text_of(console.post(address(memory), fields_of(response), follow=True))


def test_it_merges_metadata_by_its_keys(console, memory):  # noqa: F811
    mine = opened(console, memory)["metadata"].replace('"n": 59', '"n": 60')
    response = stale(console, memory, MemoryChanges(metadata=METADATA | {"ok": False}), metadata=mine)
    assert "changed by both" not in text_of(response)
    console.post(address(memory), fields_of(response))
    assert now(memory).metadata == METADATA | {"n": 60, "ok": False}


@pytest.mark.parametrize(("choice", "number"), [("theirs", 61), ("mine", 60)])
def test_it_asks_for_a_key_that_both_changed(console, memory, choice, number):  # noqa: F811
    mine = opened(console, memory)["metadata"].replace('"n": 59', '"n": 60')
    theirs = METADATA | {"n": 61, "ok": False}
    response = stale(console, memory, MemoryChanges(metadata=theirs), metadata=mine)
    assert "<code>n</code>" in text_of(response)
    assert "<code>ok</code>" in text_of(response)
    console.post(address(memory), fields_of(response) | {"choice-metadata": choice})
    assert now(memory).metadata == METADATA | {"n": number, "ok": False}


def test_it_escapes_what_it_compares(console, memory):  # noqa: F811
    text = "<script>alert(1)</script>"
    page = text_of(stale(console, memory, MemoryChanges(content=text), content=text + "!"))
    assert "<script>alert" not in page


def test_it_leaves_alone_what_is_unchanged(console, memory):  # noqa: F811
    page = text_of(stale(console, memory, MemoryChanges(name="their title"), description="mine"))
    assert "<summary>Unchanged: type, content, metadata</summary>" in page


def test_it_takes_keys_away_and_adds_them():
    was, theirs, mine = {"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 4}, {"b": 2, "c": 5, "d": 6}
    assert merged_keys(was, theirs, mine) == {"c": 5, "d": 6}
    assert contested(was, theirs, mine) == ["c"]


@pytest.mark.parametrize(
    ("before", "after", "html"),
    [
        ("tea", "green tea", "<ins>green </ins><span>tea</span>"),
        ("a\nb\nc", "a\nB\nc", "<span>a\n</span><del>b</del><ins>B</ins><span>\n</span><span>c</span>"),
        ("<b>", "<i>", "<span>&lt;</span><del>b</del><ins>i</ins><span>&gt;</span>"),
        ("", "", ""),
        ("same", "same", "<span>same</span>"),
        ("x" * 60_000, "x" * 60_000 + "y", f"<span>{'x' * 60_000}</span><ins>y</ins>"),
        ("a" * 3_000, "b" * 3_000, f"<del>{'a' * 3_000}</del><ins>{'b' * 3_000}</ins>"),
    ],
)
def test_it_marks_what_changed(before, after, html):
    assert marked(before, after) == html
