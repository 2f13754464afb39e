"""What goes wrong in real installations: damaged files, strangers in a store, interrupted work, hostile values."""

import sqlite3
import time

import pytest
from django.contrib.auth.models import Permission
from django.db import OperationalError

from agents_app.models import Agent
from agents_app.services import create_agent, delete_agent
from memory_app import moving, registry, search, services, tools
from memory_app.contracts import MemoryDraft, PageQuery, Scope
from memory_app.exceptions import InvalidInput, Refused, StoreRejected, UnknownAgent
from memory_app.metadata_schema import problem_of, problem_of_schema
from memory_app.models import ApiToken, MemoryConfig, MemoryType
from memory_app.paths import Place
from memory_app.providers import transfer
from memory_app.providers.pool import POOL
from memory_app.providers.sqlite import SqliteProvider
from tests.api.conftest import Caller, sign_in
from tests.conftest import draft

pytestmark = pytest.mark.django_db
M, T, A = "/admin/netaclaw/memory", "/admin/netaclaw/memory_type", "/admin/netaclaw/agent"
OWN = Scope("own", "ann")


@pytest.fixture
def call(db, django_user_model) -> Caller:
    django_user_model.objects.create_superuser("root", password="pass-word-1")
    return sign_in("root")


def own_agent(path: str = "memory/own.db", name: str = "own") -> Agent:
    return create_agent(name, memory={"backend": "sqlite", "sqlite_path": path})


@pytest.fixture
def damaged(agent, data_dir) -> Agent:
    """An agent whose file is no database, beside one that is well."""
    services.save(draft("well"))
    own = own_agent()
    (data_dir / "memory").mkdir(exist_ok=True)
    (data_dir / "memory" / "own.db").write_bytes(b"damaged " * 999)
    return own


# a file that can't be a store


def test_it_counts_the_others_when_a_file_is_damaged(call, damaged):
    rows = {row["agentName"]: row["count"] for row in call.get(f"{M}/stats")}
    assert rows == {"helper": 1, "own": None}


def test_it_finds_memories_by_id_in_spite_of_it(call, damaged):
    memory = search.recall(Scope("helper", "ann"), "well")[0].memory
    assert call.get(f"{M}/info", id=memory.id)["content"] == "well"


def test_it_lists_agents_in_spite_of_it(client, django_user_model, damaged):
    client.force_login(django_user_model.objects.create_superuser("root"))
    page = client.get("/admin/agents_app/agent/")
    assert page.status_code == 200
    assert "—" in page.content.decode()


def test_it_names_the_file(damaged):
    with pytest.raises(StoreRejected, match=r"^memory/own\.db: The"):
        search.recall(OWN, "tea")


def test_it_lets_its_agent_go_on_in_another_file(call, damaged, data_dir):
    call.post(f"{A}/update", {"id": damaged.pk, "config": {"memory": {"sqlitePath": "memory/new.db"}}})
    assert services.save(draft("x", OWN)).memory.id
    assert (data_dir / "memory" / "own.db").read_bytes().startswith(b"damaged")


def test_it_lets_its_agent_be_deleted(damaged, data_dir):
    assert delete_agent(damaged) == 0
    assert (data_dir / "memory" / "own.db").exists()


# strangers in a store


def test_it_hides_rows_of_agents_that_live_elsewhere(agent, call):
    own_agent("memory/old.db", "family")
    own = own_agent()
    services.save(draft("mine", OWN))
    old = registry.store_at(Place("sqlite", "", "memory/old.db"))
    for name in ("own", "nobody"):
        old.save(MemoryDraft(name, "ann", "user", "n", f"stranger of {name}"))
    page = call.post(f"{M}/page")
    assert [row["content"] for row in page["list"]] == ["mine"]
    assert page["pagination"]["total"] == sum(row["count"] for row in call.get(f"{M}/stats")) == 1
    assert own.pk


def test_it_counts_a_file_with_two_names_once(agent, data_dir):
    own_agent()
    services.save(draft("mine", OWN))
    (data_dir / "memory" / "alias.db").symlink_to("own.db")
    own_agent("memory/alias.db", "twin")
    assert search.page(PageQuery()).total == 1


def test_it_serves_no_memory_file_to_everybody(db):
    for path in ("static/leak.db", "STATIC/leak.db", "static/a/b.db"):
        with pytest.raises(InvalidInput, match="served to everybody"):
            own_agent(path)


# agents that go, and moves that don't end


def interrupted(phase: str) -> Agent:
    own = own_agent("memory/a.db")
    services.save(draft("private", OWN))
    state = {"from": {"backend": "sqlite", "database": "", "sqlite_path": "memory/a.db"}, "phase": phase, "total": 1}
    state |= {"to": {"backend": "sqlite", "database": "", "sqlite_path": "memory/b.db"}, "copied": 1, "keep_ids": True}
    target = registry.store_at(Place("sqlite", "", "memory/b.db"))
    target.save(draft("private", OWN))
    path = "memory/a.db" if phase == "copy" else "memory/b.db"
    MemoryConfig.objects.filter(agent=own).update(move=state | {"digest": "x"}, sqlite_path=path)
    return own


@pytest.mark.parametrize("phase", ["copy", "remove"])
def test_it_deletes_an_agent_in_the_middle_of_a_move_everywhere(agent, phase):
    delete_agent(interrupted(phase))
    for path in ("memory/a.db", "memory/b.db"):
        own_agent(path)
        assert search.recall(OWN, "private") == []
        Agent.objects.get(name="own").delete()


def test_it_deletes_what_was_saved_while_its_agent_went(agent, monkeypatch, django_capture_on_commit_callbacks):
    own = own_agent()
    late = registry.store_at(Place("sqlite", "", "memory/own.db"))
    real = Agent.delete
    monkeypatch.setattr(Agent, "delete", lambda self: (late.save(draft("late", OWN)), real(self)))
    with django_capture_on_commit_callbacks(execute=True):
        delete_agent(own)
    assert transfer.count(late, "own") == 0


def test_it_gives_up_a_move_and_takes_writes_again(agent):
    interrupted("copy")
    moving.cancel("own")
    assert services.save(draft("new", OWN)).memory.id
    assert search.page(PageQuery(agent_names=("own",))).total == 2
    assert transfer.count(registry.store_at(Place("sqlite", "", "memory/b.db")), "own") == 0
    with pytest.raises(Refused):
        moving.cancel("own")


def test_it_never_gives_up_a_move_that_has_switched(agent):
    interrupted("remove")
    with pytest.raises(Refused):
        moving.cancel("own")


# names


def test_it_keeps_alike_agents_and_types_apart(db):
    for name in ("Bot", "bot", "BÔT"):
        create_agent(name)
        MemoryType.objects.create(key=name, name=name)
        services.save(draft(f"of {name}", Scope(name, "u"), type=name))
    for name in ("Bot", "bot", "BÔT"):
        assert [hit.memory.content for hit in search.recall(Scope(name, "u"), "of bot bôt")] == [f"of {name}"]
    with pytest.raises(UnknownAgent):
        services.save(draft("x", Scope("BOT", "u")))
    assert search.page(PageQuery()).total == sum(row.count or 0 for row in search.stats()) == 3


# databases that are down


@pytest.fixture
def down(agent, monkeypatch):
    def broken(*args, **kwargs):
        raise OperationalError(2002, "Can't connect to server on '127.0.0.1'")

    monkeypatch.setattr(type(MemoryConfig.objects), "select_related", broken)


def test_it_lets_the_turn_go_on_without_the_main_database(down):
    ann = Scope("helper", "ann")
    assert search.prefetch(ann, "tea").failure
    result = tools.run("memory_recall", ann, {"query": "tea"})
    assert result["error"] == "store_unavailable"
    assert "127.0.0.1" not in result["message"]


def test_it_says_when_the_database_does_not_answer(client, monkeypatch):
    from django.contrib.auth.models import User

    def broken(*args, **kwargs):
        raise OperationalError("gone")

    assert client.get("/healthz").status_code == 200
    monkeypatch.setattr(type(User.objects), "exists", broken, raising=False)
    assert client.get("/healthz").status_code == 503


def test_it_upgrades_an_old_file_without_the_turn_waiting(agent, data_dir):
    own_agent()
    path = data_dir / "memory" / "own.db"
    path.parent.mkdir(exist_ok=True)
    from tests.providers.test_sqlite_schema import old_file

    old_file(path, rows=500)
    found = search.prefetch(OWN, "word7")
    assert "being upgraded" in found.failure
    store = SqliteProvider(path, "own.db")
    for _ in range(200):
        if store.count(PageQuery()) and not search.prefetch(OWN, "word7").failure:
            break
        time.sleep(0.02)
    assert search.prefetch(OWN, "word7").failure == ""


# values that other programs left


@pytest.mark.parametrize("stored", ["[1, 2]", '"x"', "5", "not json", '{"a": NaN}', '{"a": [1e999]}'])
def test_it_shows_metadata_that_is_no_object_as_one(call, data_dir, stored):
    own_agent()
    memory = services.save(draft("tea", OWN)).memory
    POOL.close_all()
    file = sqlite3.connect(data_dir / "memory" / "own.db")
    file.execute("UPDATE memory SET metadata = ?", [stored])
    file.commit()
    file.close()
    (row,) = call.post(f"{M}/page")["list"]
    assert isinstance(row["metadata"], dict)
    call.post(f"{M}/update", call.get(f"{M}/info", agentName="own", id=memory.id) | {"content": "new"})


@pytest.mark.parametrize("text", ["\ud800", "a\ud800b", "\0"])
def test_it_understands_half_characters_everywhere(call, agent, text):
    for path, body in (
        (f"{M}/page", {"agentName": text}),
        (f"{M}/page", {"userId": text, "keyWord": text}),
        (f"{A}/page", {"keyWord": text}),
        (f"{T}/list", {"key": text}),
    ):
        call.post(path, body)
    assert Caller().fails("/admin/base/open/login", {"username": text, "password": "x"})[0] in (1001, 1002)
    call.post(f"{A}/add", {"name": "odd", "config": {"x": text}})
    call.post(f"{T}/add", {"key": "odd", "name": "n", "metadataSchema": {"title": text}})
    assert call.post(f"{A}/list")
    assert call.post(f"{T}/list")


@pytest.mark.parametrize("name", [[], {}, None, 5])
def test_it_refuses_a_tool_without_a_name(agent, name):
    assert tools.run(name, Scope("helper", "ann"), {})["error"] == "unknown_tool"


def test_it_does_nothing_for_an_agent_whose_memory_is_off(agent):
    MemoryConfig.objects.update(enabled=False)
    assert tools.run("memory_save", Scope("helper", "ann"), {"content": "x"})["error"] == "refused"


# schemas


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/s.json"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#"},
        {"$ref": "#/nope"},
        {"properties": {"a": {"$ref": "other.json"}}},
        {"patternProperties": {"^(a+)+$": {}}},
        {"type": "array"},
        {"type": 5},
    ],
)
def test_it_refuses_schemas_that_reach_out_or_loop(schema):
    assert problem_of_schema(schema)


def test_it_takes_references_within_a_schema():
    schema = {"$defs": {"level": {"type": "integer"}}, "properties": {"level": {"$ref": "#/$defs/level"}}}
    assert problem_of_schema(schema) == ""
    assert problem_of({"level": 1}, schema) == ("", "")
    assert problem_of({"level": "x"}, schema)[0] == "metadata.level"


def test_it_gives_up_on_a_pattern_that_takes_for_ever():
    schema = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    assert problem_of({"a": "a" * 40 + "b"}, schema)[0] == "metadata.a"
    assert problem_of({"a": "aaa"}, schema) == ("", "")


# who may


def test_it_throttles_whoever_says_to_come_from_elsewhere(call):
    for number in range(12):
        body = {"username": "root", "password": "no"}
        answer = Caller().raw("/admin/base/open/login", body, HTTP_X_FORWARDED_FOR=f"9.9.9.{number}").json()
    assert "wait" in answer["message"]


def test_it_makes_tokens_for_others_only_for_a_superuser(client, django_user_model):
    root = django_user_model.objects.create_superuser("root")
    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="add_apitoken"))
    client.force_login(clerk)
    sent = {"name": "t", "user": root.pk, "expires_0": "2099-01-01", "expires_1": "00:00"}
    assert client.post("/admin/memory_app/apitoken/add/", sent).status_code == 200
    assert not ApiToken.objects.exists()
    client.post("/admin/memory_app/apitoken/add/", sent | {"user": clerk.pk, "expires_0": "2001-01-01"})
    assert not ApiToken.objects.exists()


def test_it_asks_for_both_rights_to_delete_an_agent_with_its_memories(agent, django_user_model):
    clerk = django_user_model.objects.create_user("clerk", password="pass-word-1")
    clerk.user_permissions.add(Permission.objects.get(codename="delete_agent"))
    assert sign_in("clerk").raw(f"{A}/delete", {"ids": [agent.pk]}).status_code == 403
