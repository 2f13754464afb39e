"""Scope, honesty and prompt safety through the functions that doors call."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.utils import timezone

from agents_app import demo
from agents_app.models import Agent
from agents_app.services import create_agent, delete_agent
from memory_app import missed, search, services, tool_shapes, tools
from memory_app.acting import Door, acting_as
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.exceptions import InvalidInput, Refused, StoreUnavailable, UnknownAgent, UnknownType
from memory_app.models import MemoryChange, MemoryConfig, MemoryType
from memory_app.providers.pool import POOL
from tests.conftest import draft

pytestmark = pytest.mark.django_db


def call(tool: str, scope: Scope, /, **arguments):
    return tools.run(tool, scope, arguments)


@pytest.fixture
def secret(ann):
    return services.save(draft("gate code heron", ann)).memory


# isolation


@pytest.mark.parametrize("user", ["bob", "", "ann%", "u' OR '1'='1", "Ann"])
def test_it_shows_another_user_nothing_through_any_reader(secret, user):
    other = Scope("helper", user)
    assert list(search.recall(other, "gate code heron")) == []
    assert search.get(other, secret.id) is None
    assert search.count_by_type(other) == {}
    assert search.prefetch(other, "what is the gate code?").block == ""
    assert call("memory_recall", other, query="gate code heron") == {"memories": []}
    assert call("memory_recall", other, id=secret.id) == {"memories": []}
    assert call("memory_stats", other) == {"total": 0, "byType": {}}


def test_it_shows_another_agent_nothing(secret):
    create_agent("other")
    assert list(search.recall(Scope("other", "ann"), "gate code heron")) == []
    assert search.get(Scope("other", "ann"), secret.id) is None


def test_it_never_takes_the_scope_from_the_arguments(secret, bob):
    arguments = {"query": "gate code", "user_id": "ann", "userId": "ann", "agent_id": "helper", "scope": "ann"}
    assert tools.run("memory_recall", bob, arguments) == {"memories": []}


def test_it_lets_nobody_delete_or_change_what_is_anothers(secret, ann, bob):
    assert call("memory_save", bob, action="delete", id=secret.id)["error"] == "not_found"
    assert call("memory_save", bob, action="update", id=secret.id, content="mine")["error"] == "not_found"
    assert search.get(ann, secret.id) == secret


def test_it_saves_nothing_for_nobody(agent):
    assert call("memory_save", Scope("helper", ""), action="create", content="x")["error"] == "refused"
    assert search.page(PageQuery()).total == 0


def test_it_keeps_shared_memories_from_being_changed_by_users(ann):
    shared = services.save(draft("wifi code", Scope("helper", ""))).memory
    assert call("memory_recall", ann, query="wifi")["memories"][0]["shared"] is True
    assert call("memory_save", ann, action="delete", id=shared.id)["error"] == "refused"
    assert call("memory_save", ann, action="update", id=shared.id, content="x")["error"] == "refused"


def test_it_refuses_an_unknown_agent_and_makes_no_file(db, data_dir):
    for use in (
        lambda: search.recall(Scope("ghost", "u"), "tea"),
        lambda: services.save(draft("x", Scope("ghost", "u"))),
    ):
        with pytest.raises(UnknownAgent):
            use()
    assert not (data_dir / "memory").exists()


# tools


def test_it_saves_updates_and_deletes_honestly(ann):
    made = call("memory_save", ann, action="create", type="user", name="Tea", content="green", metadata={"a": 1})
    assert made["outcome"] == "created"
    again = call("memory_save", ann, action="create", type="user", name="Tea", content="green")
    assert (again["outcome"], again["id"]) == ("duplicate", made["id"])
    changed = call("memory_save", ann, action="update", id=made["id"], content="black")
    assert (changed["outcome"], changed["name"]) == ("updated", "Tea")
    shown = call("memory_recall", ann, id=made["id"])["memories"][0]
    assert (shown["content"], shown["metadata"], shown["type"]) == ("black", {"a": 1}, "user")
    assert call("memory_save", ann, action="delete", id=made["id"])["outcome"] == "deleted"
    assert call("memory_save", ann, action="delete", id=made["id"])["error"] == "not_found"


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "x", "metadata": '{"src": "chat"}'},
        '{"action": "create", "content": "x", "metadata": {"src": "chat"}, "unknown": 1}',
        {"action": "create", "content": "x", "metadata": {"src": "chat"}, "name": None, "type": None, "id": None},
    ],
)
def test_it_understands_what_models_send(ann, arguments):
    result = tools.run("memory_save", ann, arguments)
    assert result["outcome"] == "created"
    assert search.get(ann, result["id"]).metadata == {"src": "chat"}


@pytest.mark.parametrize("limit", ["2", 2, 2.0, "2.0"])
def test_it_understands_numbers_as_models_send_them(ann, limit):
    for number in range(4):
        services.save(draft(f"tea {number}"))
    assert len(call("memory_recall", ann, query="tea", limit=limit)["memories"]) == 2


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_save", {"action": "create"}),
        ("memory_save", {"action": "erase", "content": "x"}),
        ("memory_save", {"action": "update", "id": 1}),
        ("memory_save", {"action": "update", "content": "x"}),
        ("memory_save", {"action": "delete", "id": "abc"}),
        ("memory_save", {"action": "delete", "id": True}),
        ("memory_save", {"action": "delete", "id": 10**400}),
        ("memory_save", {"content": "x", "metadata": "[1]"}),
        ("memory_save", {"content": "x", "metadata": {"a": float("nan")}}),
        ("memory_save", {"content": "x" * 70_000}),
        ("memory_save", {"content": ["x"]}),
        ("memory_save", "[1, 2"),
        ("memory_save", "[" * 100_000),
        ("memory_recall", {}),
        ("memory_recall", {"query": "x", "limit": "many"}),
        ("memory_save", {"id": 12, "content": "x"}),
        ("memory_save", {"action": "delete", "id": 0}),
        ("memory_save", ["create"]),
        ("memory_recall", {"query": ["tea"]}),
        ("memory_recall", {"query": "x", "limit": 0}),
    ],
)
def test_it_refuses_bad_arguments_with_a_sentence(ann, name, arguments):
    result = tools.run(name, ann, arguments)
    assert result["error"] == "invalid"
    assert result["message"].endswith(".") or "as in" in result["message"]
    assert search.page(PageQuery()).total == 0


def test_it_cleans_nul_and_half_emoji(ann):
    made = call("memory_save", ann, content="a\0b tea \ud83d time", metadata={"k\0": "\udc00"})
    memory = search.get(ann, made["id"])
    assert (memory.content, memory.metadata) == ("ab tea \ufffd time", {"k": "\ufffd"})


@pytest.mark.parametrize("name", ["memory_erase", "", None, "Memory_save", "花" * 1000])
def test_it_names_the_tools_that_there_are(ann, name):
    result = tools.run(name, ann, {})
    assert result["error"] == "unknown_tool"
    assert "memory_save, memory_recall" in result["message"]
    assert len(result["message"]) < 300


@pytest.mark.parametrize("type", ["Preference", "偏好", "user\nx", "users"])
def test_it_refuses_unknown_types_and_names_the_known(ann, type):
    for tool, arguments in (("memory_save", {"content": "x"}), ("memory_recall", {"query": "x"})):
        result = call(tool, ann, type=type, **arguments)
        assert result["error"] == "unknown_type"
        assert "user, project, feedback, reference" in result["message"]


@pytest.mark.parametrize("type", [" project ", "PROJECT", "Project", "ｐｒｏｊｅｃｔ", "项目知识"])
def test_it_takes_a_type_in_any_spelling_of_its_key_or_its_label(ann, type):
    assert call("memory_save", ann, content="tea", type=type)["type"] == "project"
    assert len(call("memory_recall", ann, query="tea", type=type)["memories"]) == 1
    assert call("memory_stats", ann) == {"total": 1, "byType": {"project": 1}}


def test_it_guesses_no_type_where_two_are_alike(ann):
    MemoryType.objects.create(key="User", name="Another")
    assert call("memory_save", ann, content="a", type="User")["type"] == "User"
    assert call("memory_save", ann, content="b", type="user")["type"] == "user"
    assert call("memory_save", ann, content="c", type="USER")["error"] == "unknown_type"


@pytest.mark.parametrize("nothing", [None, "", " "])
def test_it_leaves_alone_what_an_update_names_without_a_value(ann, nothing):
    made = call("memory_save", ann, content="green", name="Tea", type="project", metadata={"a": 1})
    rest = dict.fromkeys(("name", "description", "type", "metadata"), nothing)
    call("memory_save", ann, action="UPDATE", id=made["id"], content="black", **rest)
    shown = call("memory_recall", ann, id=str(made["id"]))["memories"][0]
    assert (shown["content"], shown["name"], shown["type"], shown["metadata"]) == ("black", "Tea", "project", {"a": 1})


@pytest.mark.parametrize("nothing", [0, "0", "", None])
def test_it_searches_when_the_id_is_filled_in_with_nothing(ann, nothing):
    services.save(draft("drinks tea in 2024"))
    assert len(call("memory_recall", ann, query="tea", id=nothing, limit="")["memories"]) == 1
    assert len(call("memory_recall", ann, query=2024)["memories"]) == 1


@pytest.mark.parametrize("name", [tool.name for tool in tools.offered() if not tool.read_only])
def test_it_refuses_a_reader_the_tools_that_write(ann, name):
    result = tools.run(name, ann, {"action": "create", "content": "x"}, read_only=True)
    assert (result["error"], name in result["message"]) == ("refused", True)
    assert search.page(PageQuery()).total == 0


def test_it_lets_a_reader_read(ann, secret):
    assert [tool.name for tool in tools.offered(read_only=True)] == [
        "memory_recall",
        "memory_list_types",
        "memory_stats",
    ]
    assert tools.run("memory_recall", ann, {"query": "heron"}, read_only=True)["memories"][0]["id"] == secret.id


def test_it_says_who_acts_unless_its_door_did(ann):
    call("memory_save", ann, content="by itself")
    with acting_as(Door.MCP, "desk"):
        call("memory_save", ann, content="by a key")
    assert list(MemoryChange.objects.order_by("id").values_list("door", "actor")) == [
        ("tool", "helper"),
        ("mcp", "desk"),
    ]


def test_it_falls_back_to_the_builtin_types_when_the_table_cannot_be_read(monkeypatch, ann):
    from django.db import OperationalError

    def broken(*args):
        raise OperationalError("gone")

    monkeypatch.setattr(type(MemoryType.objects), "values_list", broken)
    assert [info["key"] for info in call("memory_list_types", ann)["types"]] == [
        "user",
        "project",
        "feedback",
        "reference",
    ]


def test_it_dumps_readable_json(ann):
    text = tools.dump(call("memory_save", ann, content="花生 🎉", name="花生"))
    assert "花生" in text
    assert "\\u" not in text
    assert json.loads(text)["outcome"] == "created"


def schemas_in(value):
    """Every schema in a schema, itself included."""
    yield value
    for inner in (*value.get("properties", {}).values(), *([value["items"]] if "items" in value else [])):
        yield from schemas_in(inner)


def test_it_offers_plain_schemas():
    for tool in tools.TOOLS.values():
        assert tool.parameters["type"] == "object"
        assert set(tool.parameters["required"]) <= set(tool.parameters["properties"])
        assert {"user_id", "userId", "agent_name"} & set(tool.parameters["properties"]) == set()
        for schema in schemas_in(tool.parameters):
            assert isinstance(schema["type"], str)
            assert set(schema) <= {"type", "properties", "required", "description", "enum", "default", "items"}
            assert ("items" in schema) == (schema["type"] == "array")


def test_it_shows_every_tool_in_every_shape_alike():
    openai, anthropic, mcp = (tool_shapes.shaped(shape) for shape in ("openai", "anthropic", "mcp"))
    for tool, one, two, three in zip(tools.TOOLS.values(), openai, anthropic, mcp, strict=True):
        assert one == {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        assert two == {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        assert (three["name"], three["title"], three["inputSchema"]) == (tool.name, tool.label, tool.parameters)
        hints = three["annotations"]
        assert (hints["readOnlyHint"], hints["destructiveHint"]) == (tool.read_only, not tool.read_only)
    with pytest.raises(InvalidInput, match="openai, anthropic, mcp"):
        tool_shapes.shaped("gemini")


def test_it_shows_a_right_call_of_every_tool(ann):
    for tool in tools.TOOLS.values():
        assert "error" not in tools.run(tool.name, ann, tool.example)


def test_it_says_that_saving_failed(file_agent, data_dir, monkeypatch):
    ann = Scope("helper", "ann")
    services.save(draft("first"))
    holder = sqlite3.connect(data_dir / "memory" / "memory.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("memory_app.providers.pool.BUSY_SECONDS", 0)
    POOL.close_all()
    result = call("memory_save", ann, content="second")
    holder.execute("ROLLBACK")
    assert result["error"] == "store_unavailable"
    assert "SELECT" not in result["message"]
    assert search.page(PageQuery()).total == 1


# prefetch


def test_it_prefetches_as_many_as_the_agent_says(ann):
    for number in range(9):
        services.save(draft(f"tea {number}"))
    assert len(search.prefetch(ann, "tea?").hits) == 5
    MemoryConfig.objects.update(prefetch_limit=2)
    assert len(search.prefetch(ann, "tea?").hits) == 2


def test_it_prefetches_nothing_when_memory_is_off_or_nothing_is_found(ann, secret):
    assert search.prefetch(ann, "？？").block == ""
    assert search.prefetch(ann, "zebra").block == ""
    MemoryConfig.objects.update(enabled=False)
    assert search.prefetch(ann, "gate code").block == ""


def test_it_lets_the_turn_go_on_when_a_store_fails(file_agent, data_dir, caplog):
    ann = Scope("helper", "ann")
    (data_dir / "memory").mkdir()
    (data_dir / "memory" / "memory.db").write_text("no database" * 100)
    found = search.prefetch(ann, "tea")
    assert (found.block, len(found.hits)) == ("", 0)
    assert found.failure
    assert "Prefetch for agent helper failed" in caplog.text
    assert (missed.missed().today, missed.missed().last.agent_name) == (1, "helper")
    with acting_as(Door.CONSOLE, "root"):
        assert search.prefetch(ann, "tea").failure
    assert missed.missed().today == 1
    with pytest.raises(StoreUnavailable):
        search.recall(ann, "tea")


def test_it_lets_the_turn_go_on_when_a_store_is_slow(file_agent, settings):
    ann = Scope("helper", "ann")
    services.save_many([draft(f"whale {n}" + " x" * 200) for n in range(1_500)])
    settings.PREFETCH_SECONDS = 1e-9
    assert search.prefetch(ann, "whale").failure


def test_it_lets_the_turn_go_on_whatever_happens(ann, monkeypatch, caplog):
    monkeypatch.setattr("memory_app.search.registry.provider_of", None)
    found = search.prefetch(ann, "tea")
    assert (found.block, "NoneType" in found.failure, "NoneType" in caplog.text) == ("", False, True)


def test_it_searches_for_the_beginning_of_a_long_message(ann, secret):
    assert search.prefetch(ann, "heron " + "words " * 100_000).hits
    assert not search.prefetch(ann, "words " * 100_000 + "heron").hits


def test_it_counts_failures_of_several_threads(data_dir):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: missed.note("helper", f"reason {number}"), range(200)))
    found = missed.missed()
    assert (found.today, found.week, found.last.reason[:6]) == (200, 200, "reason")
    assert len(list((data_dir / missed.FOLDER).iterdir())) == 2


def test_it_counts_a_week_and_forgets_after_a_month(data_dir):
    missed.note("helper", "x")
    today = timezone.localdate()
    for days, number in ((0, 0), (6, 5), (7, 9), (31, 3)):
        (data_dir / missed.FOLDER / (today - timedelta(days=days)).isoformat()).write_bytes(b"." * number)
    assert (missed.missed().today, missed.missed().week) == (0, 5)
    (data_dir / missed.FOLDER / today.isoformat()).unlink()
    missed.note("helper", "花生")
    assert (missed.missed().week, missed.missed().last.reason) == (6, "花生")
    assert not (data_dir / missed.FOLDER / (today - timedelta(days=31)).isoformat()).exists()


def test_it_goes_on_when_a_failure_cannot_be_counted(data_dir, caplog):
    (data_dir / missed.FOLDER).write_text("a file in the way")
    missed.note("helper", "x")
    assert "could not be counted" in caplog.text
    assert missed.missed() == missed.Missed(0, 0, None)


# pages over stores


@pytest.fixture
def three_stores(db):
    for name, path in (("a", ""), ("b", "memory/b.db"), ("c", "memory/c.db")):
        create_agent(name, memory={"backend": "sqlite", "sqlite_path": path})
        for number in range(7):
            services.save(draft(f"{name}{number}", Scope(name, "u")))


def test_it_merges_stores_into_one_list(three_stores):
    pages = [search.page(PageQuery(page=number, size=5)) for number in range(1, 6)]
    times = [entry.updated_at for page in pages for _backend, entry in page.rows]
    assert times == sorted(times, reverse=True)
    assert len(times) == 21
    assert {page.total for page in pages} == {21}
    assert search.page(PageQuery(page=9, size=5)).rows == ()


def test_it_sorts_stores_by_name_upwards(three_stores):
    rows = search.page(PageQuery(order="name", descending=False, size=100)).rows
    names = [entry.name for _backend, entry in rows]
    assert names == sorted(names)


def test_it_tells_which_store_is_unavailable(three_stores, data_dir):
    POOL.close_all()
    (data_dir / "memory" / "b.db").write_bytes(b"damaged " * 1000)
    page = search.page(PageQuery(size=100))
    assert (page.total, page.unavailable) == (14, ("memory/b.db",))


def test_it_counts_every_agent_once(three_stores):
    create_agent("empty")
    rows = {row.agent_name: row for row in search.stats()}
    assert {name: row.count for name, row in rows.items()} == {"a": 7, "b": 7, "c": 7, "empty": 0}
    assert rows["a"].by_type == {"user": 7}


def test_it_asks_each_store_once_however_many_agents(db, django_assert_max_num_queries):
    for number in range(30):
        create_agent(f"agent{number}")
    services.save(draft("x", Scope("agent1", "u")))
    with django_assert_max_num_queries(5):
        search.page(PageQuery())


# agents and types


def test_it_deletes_an_agents_memories_with_it(ann, secret):
    other = create_agent("other")
    services.save(draft("kept", Scope("other", "ann")))
    assert delete_agent(Agent.objects.get(name="helper")) == 1
    assert search.page(PageQuery()).total == 1
    assert delete_agent(other) == 1


def test_it_refuses_a_type_that_does_not_exist(ann):
    with pytest.raises(UnknownType):
        services.save(draft("x", type="environment"))
    memory = services.save(draft("x")).memory
    with pytest.raises(UnknownType):
        services.update(ann, memory.id, MemoryChanges(type="environment"))


def test_it_deletes_only_types_that_nothing_needs(ann):
    own = MemoryType.objects.create(key="environment", name="环境信息")
    memory = services.save(draft("x", type="environment")).memory
    with pytest.raises(Refused, match="1 memories"):
        services.delete_types([own])
    with pytest.raises(Refused, match="built in"):
        services.delete_types([MemoryType.objects.get(key="user")])
    services.delete(ann, [memory.id])
    assert services.delete_types([own]) == 1


def test_it_seeds_types_again_without_touching_operators_words(db):
    MemoryType.objects.filter(key="user").update(name="Mine")
    MemoryType.objects.filter(key="project").delete()
    assert (services.seed_types(), services.seed_types()) == (1, 0)
    assert MemoryType.objects.get(key="user").name == "Mine"


def test_it_adds_the_demo_agent_to_an_empty_installation_only(db):
    assert demo.add() == len(demo.MEMORIES)
    assert demo.add() == 0
    assert "花生过敏" in search.prefetch(Scope(demo.NAME, demo.USER), "我对什么过敏？").block
    assert (demo.remove(), demo.remove()) == (len(demo.MEMORIES), -1)
