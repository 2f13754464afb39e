"""What is written down of every change, whoever makes it."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from agents_app import services as agent_services
from agents_app.services import create_agent
from memory_app import forgetting, history, moving, search, services, tools
from memory_app.acting import Door, acting_as
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.exceptions import Conflict, InvalidInput, Refused, UnknownType
from memory_app.forgetting import Receipt
from memory_app.models import Memory, MemoryChange, MemoryType, mysql_is_main
from memory_app.paths import Place
from memory_app.restoring import restore
from tests.conftest import draft

pytestmark = pytest.mark.django_db
ANN = Scope("helper", "ann")
METADATA = {"n": 59, "中": None, "x": {"y": 1.5}, "big": 2**70, "🙂": True}


@pytest.fixture(params=["main", "file"])
def helper(request, db):
    """Agent helper in the store that is the default, and in a file whatever that is."""
    return create_agent("helper", memory={"backend": "sqlite"} if request.param == "file" else {})


@pytest.fixture
def memory(helper):
    return services.save(draft("one", metadata=METADATA)).memory


def told() -> list[tuple[str, str, str, str]]:
    return [(row.action, row.door, row.actor, row.fields) for row in MemoryChange.objects.order_by("id")]


def test_it_tells_who_made_edited_and_deleted_a_memory(helper):
    memory = services.save(draft("one")).memory
    with acting_as(Door.CONSOLE, "root"):
        services.update(ANN, memory.id, MemoryChanges(name="new", content="two"))
    with acting_as(Door.API, "clerk"):
        services.delete(ANN, [memory.id])
    assert told() == [
        ("created", "system", "", ""),
        ("updated", "console", "root", "name,content"),
        ("deleted", "api", "clerk", ""),
    ]


def test_it_tells_nothing_of_what_was_not_done(memory):
    services.save(draft("one", metadata=METADATA))
    with pytest.raises(Conflict):
        services.update(ANN, memory.id, MemoryChanges(name="x"), memory.created_at.replace(year=2000))
    services.delete(ANN, [memory.id + 1])
    services.delete(Scope("helper", "bob"), [memory.id])
    assert [row[0] for row in told()] == ["created"]


def test_it_names_the_agent_whose_tool_wrote(helper):
    tools.run("memory_save", ANN, {"action": "create", "type": "user", "content": "tea"})
    assert told() == [("created", "tool", "helper", "")]


def test_it_knows_every_state_of_a_memory(memory):
    services.update(ANN, memory.id, MemoryChanges(content="two", metadata={"a": 1}))
    current = services.update(ANN, memory.id, MemoryChanges(content="three"))
    versions = history.versions("helper", memory.id, current)
    assert [version.state.content for version in versions] == ["three", "two", "one"]
    assert versions[-1].state.metadata == METADATA
    assert list(versions[-1].state.metadata) == list(METADATA)
    assert [version.number for version in versions] == [3, 2, 1]


def test_it_shows_a_deleted_memory_without_a_state(memory):
    services.delete(ANN, [memory.id])
    newest, first = history.versions("helper", memory.id, None)
    assert (newest.state, newest.change.action) == (None, "deleted")
    assert first.state.content == "one"


def test_it_knows_what_was_before_and_after_a_change(memory):
    current = services.update(ANN, memory.id, MemoryChanges(content="two"))
    created, updated = MemoryChange.objects.order_by("id")
    assert history.around(created, current)[0] is None
    assert history.around(created, current)[1].content == "one"
    assert [state.content for state in history.around(updated, current)] == ["one", "two"]


# giving a memory to another owner


@pytest.fixture
def own(helper):
    return create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})


def test_it_gives_a_memory_to_another_user(memory):
    moved = services.reassign(Scope.all_users("helper"), memory.id, Scope("helper", "bob"), memory.updated_at)
    assert (moved.id, moved.user_id, moved.metadata) == (memory.id, "bob", METADATA)
    assert search.recall(ANN, "one") == []
    assert [hit.memory.id for hit in search.recall(Scope("helper", "bob"), "one")] == [memory.id]
    assert told()[-1] == ("updated", "system", "", "user_id")


def test_it_gives_a_memory_to_another_agent(memory, own):
    moved = services.reassign(Scope.all_users("helper"), memory.id, Scope("own", ""), memory.updated_at)
    assert (moved.agent_name, moved.user_id, moved.content) == ("own", "", "one")
    assert (moved.metadata, moved.created_at) == (METADATA, memory.created_at)
    assert search.get(ANN, memory.id) is None
    notes = list(MemoryChange.objects.order_by("id").values_list("note", flat=True))[1:]
    assert notes == [f"moved-from helper:{memory.id}", f"moved-to own:{moved.id}"]


@pytest.mark.parametrize("to", [Scope("helper", "bob"), Scope("own", "bob")])
def test_it_leaves_a_memory_that_the_new_owner_has_already(memory, own, to):
    twin = services.save(draft("one", to)).memory
    with pytest.raises(Refused, match=str(twin.id)):
        services.reassign(Scope.all_users("helper"), memory.id, to)
    assert search.get(ANN, memory.id) == memory


@pytest.mark.parametrize("to", [Scope("helper", "bob"), Scope("own", "bob")])
def test_it_gives_nothing_away_that_was_changed_meanwhile(memory, own, to):
    services.update(ANN, memory.id, MemoryChanges(content="edited"))
    with pytest.raises(Conflict):
        services.reassign(Scope.all_users("helper"), memory.id, to, memory.updated_at)
    assert search.get(ANN, memory.id).content == "edited"
    assert search.recall(to, "edited") == []


def test_it_lets_no_user_give_a_memory_away(memory):
    with pytest.raises(Refused):
        services.update(ANN, memory.id, MemoryChanges(user_id="bob"))


# erasing and bounds


def test_it_erases_the_history_with_the_agent(memory, helper):
    agent_services.delete_agent(helper)
    assert not MemoryChange.objects.exists()


def test_it_prunes_by_age_and_by_size(memory, settings):
    services.update(ANN, memory.id, MemoryChanges(content="x" * 60_000))
    for number in range(30):
        services.update(ANN, memory.id, MemoryChanges(content="x" * 60_000 + str(number)))
    settings.HISTORY_MEGABYTES = 1
    assert history.prune() == 15
    assert MemoryChange.objects.count() == 17
    settings.HISTORY_DAYS = 1
    MemoryChange.objects.update(at=memory.created_at.replace(year=2000))
    assert history.prune() == 17


# restoring


def undo(number: int) -> MemoryChange:
    return MemoryChange.objects.order_by("id")[number]


def test_it_makes_a_memory_what_it_was(memory):
    edited = services.update(ANN, memory.id, MemoryChanges(content="two", metadata=None, type="project"))
    restored = restore(undo(1), 1, edited.updated_at)
    assert (restored.content, restored.type, restored.metadata) == ("one", "user", METADATA)
    assert list(restored.metadata) == list(METADATA)
    assert MemoryChange.objects.latest("id").explained == "restored from version 1"


def test_it_does_not_restore_over_a_change_that_was_not_seen(memory):
    edited = services.update(ANN, memory.id, MemoryChanges(content="two"))
    services.update(ANN, memory.id, MemoryChanges(content="three"))
    with pytest.raises(Conflict):
        restore(undo(1), 1, edited.updated_at)
    assert search.get(ANN, memory.id).content == "three"


def test_it_restores_a_deleted_memory_under_its_id(memory):
    services.delete(ANN, [memory.id])
    restored = restore(undo(1), 1, None)
    assert (restored.id, restored.content, restored.metadata) == (memory.id, "one", METADATA)
    assert (restored.user_id, restored.created_at) == ("ann", memory.created_at)
    assert [hit.memory.id for hit in search.recall(ANN, "one")] == [memory.id]
    assert [version.number for version in history.versions("helper", memory.id, restored)] == [3, 2, 1]


def test_it_makes_no_second_one_of_a_memory_that_was_saved_again(memory):
    services.delete(ANN, [memory.id])
    services.save(draft("one"))
    with pytest.raises(Refused, match="there already"):
        restore(undo(1), 1, None)


def test_it_restores_nothing_where_there_was_nothing(memory):
    with pytest.raises(Refused, match="new then"):
        restore(undo(0), 0, memory.updated_at)


def test_it_restores_no_type_that_is_gone(memory):
    MemoryType.objects.create(key="skill", name="skill")
    services.update(ANN, memory.id, MemoryChanges(type="skill"))
    edited = services.update(ANN, memory.id, MemoryChanges(type="user"))
    MemoryType.objects.filter(key="skill").delete()
    with pytest.raises(UnknownType):
        restore(undo(2), 2, edited.updated_at)


@pytest.fixture
def emptied():
    """What a test commits to the table of memories goes with the test: no flush of Django's empties it."""
    yield
    if mysql_is_main():
        Memory.objects.all().delete()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("taken", [False, True])
def test_it_follows_memories_to_another_store(emptied, memory, own, taken):
    gone = services.save(draft("gone")).memory
    services.delete(ANN, [gone.id])
    kept = services.save(draft("kept")).memory
    if taken:
        services.save_many([draft(f"of own {n}", Scope("own", "")) for n in range(kept.id + 1)])
    moving.move("helper", Place("sqlite", "", "memory/own.db"))
    [hit] = search.recall(ANN, "kept")
    assert (hit.memory.id == kept.id) is not taken
    assert [version.state.content for version in history.versions("helper", hit.memory.id, hit.memory)] == ["kept"]
    deletion = MemoryChange.objects.get(action="deleted")
    assert deletion.memory_id == -gone.id
    restored = restore(deletion, 1, None)
    assert (restored.content, restored.created_at) == ("gone", gone.created_at)


# forgetting a user


def test_it_forgets_a_user_in_one_agent_and_nobody_else(memory, own):
    services.update(ANN, memory.id, MemoryChanges(content="two"))
    for scope in (Scope("helper", "bob"), Scope("helper", ""), Scope("own", "ann")):
        services.save(draft("other", scope))
    assert forgetting.traces("ann", "helper") == [Receipt("helper", 1, 2)]
    assert forgetting.forget(" ann ", "helper") == [Receipt("helper", 1, 2)]
    assert search.page(PageQuery()).total == 3
    assert not MemoryChange.objects.filter(agent_name="helper", user_id="ann").exists()
    assert MemoryChange.objects.filter(action="forgotten").get().explained == "a user was forgotten: 1+2"


def test_it_forgets_a_user_everywhere(memory, own):
    services.save(draft("other", Scope("own", "ann")))
    assert forgetting.forget("ann") == [Receipt("helper", 1, 1), Receipt("own", 1, 1)]
    assert forgetting.forget("ann") == []
    assert search.page(PageQuery()).total == 0


@pytest.mark.parametrize("user", ["", "  "])
def test_it_forgets_nobody_without_a_name(memory, user):
    with pytest.raises(InvalidInput):
        forgetting.forget(user)
    assert search.get(ANN, memory.id)


def test_it_says_which_store_still_remembers_a_user(memory, own, data_dir):
    (data_dir / "memory").mkdir(exist_ok=True)
    (data_dir / "memory" / "own.db").write_bytes(b"damaged " * 999)
    helper, damaged = forgetting.forget("ann")
    assert (helper.memories, helper.problem) == (1, "")
    assert "own.db" in damaged.problem


def test_it_forgets_and_prunes_by_command(memory):
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("forget_user", "ann")
    call_command("forget_user", "ann", everywhere=True, json=True, stdout=out)
    assert json.loads(out.getvalue()) == [{"agentName": "helper", "memories": 1, "changes": 1, "messages": 0}]
    call_command("prune_history", stdout=out)
    assert "0 changes deleted" in out.getvalue()
