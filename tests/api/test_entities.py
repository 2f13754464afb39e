"""The calls of the three entities, as cl-crud makes them."""

import pytest
from django.contrib.auth.models import Permission

from agents_app.models import Agent
from agents_app.services import create_agent
from memory_app import search, services
from memory_app.contracts import PageQuery, Scope
from memory_app.models import MemoryConfig, MemoryType
from memory_app.providers.pool import POOL
from tests.api.conftest import Caller, sign_in
from tests.conftest import draft

pytestmark = pytest.mark.django_db
M, T, A = "/admin/netaclaw/memory", "/admin/netaclaw/memory_type", "/admin/netaclaw/agent"


@pytest.fixture
def memory(agent):
    return services.save(draft("drinks green tea", metadata={"src": "chat"}, description="kept")).memory


def info(call: Caller, memory) -> dict:
    return call.get(f"{M}/info", agentName=memory.agent_name, id=memory.id)


# memories


def test_it_shows_one_memory(call, memory):
    shown = info(call, memory)
    assert (shown["id"], shown["agentName"], shown["content"]) == (memory.id, "helper", "drinks green tea")
    assert shown["_backend"] == MemoryConfig.objects.get().backend
    assert call.get(f"{M}/info", id=memory.id) == shown


def test_it_updates_what_is_as_it_was_read(call, memory):
    shown = info(call, memory)
    call.post(f"{M}/update", shown | {"content": "drinks black tea", "createdAt": "2000-01-01 00:00:00", "unknown": 1})
    changed = search.get(Scope("helper", "ann"), memory.id)
    assert (changed.content, changed.metadata, changed.created_at) == (
        "drinks black tea",
        {"src": "chat"},
        memory.created_at,
    )


def test_it_changes_only_the_fields_that_are_sent(call, memory):
    shown = info(call, memory)
    call.post(f"{M}/update", {name: shown[name] for name in ("agentName", "id", "updatedAt")} | {"content": "new"})
    changed = search.get(Scope("helper", "ann"), memory.id)
    assert (changed.content, changed.description, changed.metadata) == ("new", "kept", {"src": "chat"})


@pytest.mark.parametrize("nothing", [None, "", {}])
def test_it_clears_metadata(call, memory, nothing):
    call.post(f"{M}/update", info(call, memory) | {"metadata": nothing})
    assert info(call, memory)["metadata"] == {}


def test_it_refuses_a_stale_update_and_shows_the_current_memory(call, memory):
    shown = info(call, memory)
    call.post(f"{M}/update", shown | {"content": "first"})
    response = call.raw(f"{M}/update", shown | {"content": "second"}).json()
    assert (response["code"], response["data"]["reason"]) == (1001, "conflict")
    assert response["data"]["current"]["content"] == "first"
    assert info(call, memory)["content"] == "first"
    call.post(f"{M}/update", response["data"]["current"] | {"content": "second"})


@pytest.mark.parametrize("version", [None, "", "yesterday", 5, "2020-01-01 00:00:00", ["x"]])
def test_it_refuses_an_update_without_the_version(call, memory, version):
    sent = info(call, memory) | {"content": "x", "updatedAt": version}
    assert call.fails(f"{M}/update", sent)[0] in (1001, 1002)
    assert info(call, memory)["content"] == "drinks green tea"


def test_it_takes_the_version_in_iso_8601_too(call, memory):
    sent = info(call, memory) | {"content": "x", "updatedAt": memory.updated_at.isoformat()}
    call.post(f"{M}/update", sent)


@pytest.mark.parametrize("shape", ["list", "texts", "comma", "twice", "foreign"])
def test_it_deletes_ids_of_every_shape(call, agent, shape):
    one, two = (services.save(draft(f"text {n}")).memory.id for n in (1, 2))
    shapes = {"list": [one, two], "texts": [str(one), str(two)], "comma": f"{one}, {two}", "twice": [one, one, two]}
    ids = shapes.get(shape, [one, two, 99_999])
    assert call.post(f"{M}/delete", {"agentName": "helper", "ids": ids}) == {"deleted": 2}


def test_it_deletes_a_single_id_without_an_array(call, memory):
    assert call.post(f"{M}/delete", {"agentName": "helper", "ids": memory.id}) == {"deleted": 1}


@pytest.mark.parametrize("ids", [None, [], "", ["a"], [True], {"a": 1}, [None], [-1], [1.5], "1,x"])
def test_it_deletes_nothing_without_good_ids(call, memory, ids):
    assert call.fails(f"{M}/delete", {"agentName": "helper", "ids": ids})[0] == 1002
    assert search.page(PageQuery()).total == 1


def test_it_leaves_other_agents_memories_alone(call, memory):
    create_agent("other")
    assert call.post(f"{M}/delete", {"agentName": "other", "ids": [memory.id]}) == {"deleted": 0}
    assert call.fails(f"{M}/update", info(call, memory) | {"agentName": "other", "content": "x"})[0] == 1001
    assert call.fails(f"{M}/delete", {"agentName": "ghost", "ids": [memory.id]})[0] == 1001


def test_it_asks_for_the_agent_where_ids_repeat(call, agent):
    first = services.save(draft("one")).memory
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    second = services.save(draft("two", Scope("own", "ann"))).memory
    for _ in range(abs(first.id - second.id)):
        later = "helper" if first.id < second.id else "own"
        saved = services.save(draft(f"more {_}", Scope(later, "ann"))).memory
        first, second = (saved, second) if later == "helper" else (first, saved)
    response = call.client.get(f"{M}/info", {"id": first.id}).json()
    assert response["code"] == 1002
    assert "helper, own" in response["message"]


@pytest.fixture
def unreadable(agent, data_dir) -> None:
    """A store that is there and can't be read: any id may be one of its memories."""
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    services.save(draft("two", Scope("own", "ann")))
    POOL.close_all()
    (data_dir / "memory" / "own.db").write_bytes(b"damaged " * 1000)


def test_it_guesses_at_no_memory_to_write_while_a_store_can_t_be_read(call, memory, unreadable):
    for response in (
        call.raw(f"{M}/delete", {"ids": [memory.id]}).json(),
        call.raw(f"{M}/update", info(call, memory) | {"agentName": None, "content": "x"}).json(),
    ):
        assert response["code"] == 1002
        assert "memory/own.db" in response["message"]
    assert info(call, memory)["content"] == memory.content


def test_it_deletes_ids_of_several_agents(call, agent):
    create_agent("other")
    ids = [services.save(draft("tea", Scope(name, "ann"))).memory.id for name in ("helper", "other")]
    assert call.post(f"{M}/delete", {"ids": [*ids, ids[0]]}) == {"deleted": 2}
    assert search.page(PageQuery()).total == 0


@pytest.mark.parametrize("id", [None, "", "abc", "1.5", "-1", "9" * 40, "999999"])
def test_it_says_that_there_is_no_such_memory(call, memory, id):
    response = call.client.get(f"{M}/info", {"agentName": "helper", "id": id or ""}).json()
    assert response["code"] in (1001, 1002)


def test_it_counts_for_every_agent(call, memory):
    create_agent("empty")
    helper, empty = sorted(call.get(f"{M}/stats"), key=lambda row: -row["count"])
    assert (helper["agentName"], helper["count"], helper["byType"], helper["users"]) == ("helper", 1, {"user": 1}, 1)
    assert helper["lastUpdatedAt"] == info(call, memory)["updatedAt"]
    assert (empty["agentName"], empty["count"], empty["byType"], empty["lastUpdatedAt"]) == ("empty", 0, {}, None)


def test_it_counts_as_many_as_it_lists(call, memory):
    total = call.post(f"{M}/page")["pagination"]["total"]
    assert sum(row["count"] for row in call.get(f"{M}/stats")) == total == 1


# types


def test_it_lists_the_types(call):
    assert [row["key"] for row in call.post(f"{T}/list", {"order": "id", "sort": "asc"})] == [
        "user",
        "project",
        "feedback",
        "reference",
    ]
    page = call.post(f"{T}/page", {"size": 2, "keyWord": "用户"})
    assert page["pagination"]["total"] == 2
    assert page["list"][0]["isSystem"] == 1


def test_it_makes_edits_and_deletes_a_type(call):
    made = call.post(f"{T}/add", {"key": "environment", "name": "环境信息"})
    shown = call.get(f"{T}/info", id=made["id"])
    assert (shown["key"], shown["isSystem"], shown["metadataSchema"]) == ("environment", 0, None)
    call.post(f"{T}/update", shown | {"name": "环境"})
    assert call.get(f"{T}/info", id=made["id"])["name"] == "环境"
    assert call.post(f"{T}/delete", {"ids": [made["id"]]}) == {"deleted": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"key": "user"},
        {"key": ""},
        {"key": None},
        {"key": " x"},
        {"key": "x" * 51},
        {"name": ""},
        {"name": ["x"]},
        {"metadataSchema": {"type": "nonsense"}},
        {"metadataSchema": {"type": "array"}},
        {"metadataSchema": "text"},
    ],
)
def test_it_refuses_a_bad_type(call, change):
    good = {"key": "environment", "name": "环境信息"}
    before = MemoryType.objects.count()
    code, _message = call.fails(f"{T}/add", good | change) if change != {"key": " x"} else (1002, "")
    assert code == 1002
    assert MemoryType.objects.count() == before


def test_it_never_changes_a_key(call):
    shown = call.get(f"{T}/info", id=MemoryType.objects.get(key="user").pk)
    assert call.fails(f"{T}/update", shown | {"key": "person"})[0] == 1001
    call.post(f"{T}/update", shown | {"description": "new words"})


def test_it_says_what_uses_a_type(call, agent):
    made = call.post(f"{T}/add", {"key": "environment", "name": "环境"})
    services.save(draft("x", type="environment"))
    services.save(draft("y", type="environment"))
    code, message = call.fails(f"{T}/delete", {"ids": [made["id"]]})
    assert code == 1001
    assert "used by 2 memories (helper: 2)" in message


def test_it_keeps_built_in_types(call):
    ids = list(MemoryType.objects.values_list("pk", flat=True))
    assert "built in" in call.fails(f"{T}/delete", {"ids": ids})[1]
    assert MemoryType.objects.count() == 4


SCHEMA = {"type": "object", "properties": {"level": {"type": "integer", "minimum": 1}}, "required": ["level"]}


def test_it_holds_metadata_to_the_schema_of_its_type(call, agent):
    call.post(f"{T}/add", {"key": "skill", "name": "技能", "metadataSchema": SCHEMA})
    good = {"agentName": "helper", "type": "skill", "content": "Python", "metadata": {"level": 3, "extra": None}}
    made = call.post(f"{M}/add", good)
    for bad in ({}, {"level": "3"}, {"level": 0}):
        code, message = call.fails(f"{M}/add", good | {"content": "Go", "metadata": bad})
        assert code == 1002
        assert "skill" in message
    shown = call.get(f"{M}/info", agentName="helper", id=made["id"])
    assert call.fails(f"{M}/update", shown | {"metadata": {"level": -1}})[0] == 1002
    assert call.fails(f"{M}/update", shown | {"metadata": None})[0] == 1002
    call.post(f"{M}/update", shown | {"content": "Rust"})


# agents


def test_it_makes_shows_and_edits_an_agent(call):
    body = {
        "name": "sales",
        "label": "销售",
        "config": {"theme": "x", "memory": {"backend": "sqlite", "prefetchLimit": 7}},
    }
    made = call.post(f"{A}/add", body)
    shown = call.get(f"{A}/info", id=made["id"])
    assert shown["config"]["theme"] == "x"
    assert shown["config"]["memory"] == {
        "enabled": True,
        "backend": "sqlite",
        "sqlitePath": "",
        "database": "",
        "prefetchLimit": 7,
    }
    shown["config"]["memory"]["enabled"] = False
    call.post(f"{A}/update", shown | {"label": "Sales"})
    again = call.get(f"{A}/info", id=made["id"])
    assert (again["label"], again["config"]["memory"]["enabled"], again["config"]["theme"]) == ("Sales", False, "x")


def test_it_edits_an_agent_in_part(call, agent):
    call.post(f"{A}/update", {"id": agent.pk, "enabled": False})
    assert call.get(f"{A}/info", id=agent.pk)["enabled"] is False
    call.post(f"{A}/update", {"id": agent.pk, "config": {"memory": {"prefetchLimit": 9}}})
    assert call.get(f"{A}/info", id=agent.pk)["config"]["memory"]["prefetchLimit"] == 9


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "helper"},
        {"name": "a\nb"},
        {"name": 5},
        {"baseUrl": "ftp://x"},
        {"enabled": "perhaps"},
        {"config": "x"},
        {"config": {"memory": []}},
        {"config": {"memory": {"backend": "oracle"}}},
        {"config": {"memory": {"prefetchLimit": 0}}},
        {"config": {"memory": {"prefetchLimit": "many"}}},
        {"config": {"memory": {"backend": "sqlite", "sqlitePath": "../x.db"}}},
        {"config": {"memory": {"database": "nowhere"}}},
    ],
)
def test_it_refuses_a_bad_agent_and_makes_nothing(call, agent, change):
    assert call.fails(f"{A}/add", {"name": "sales"} | change)[0] == 1002
    assert Agent.objects.count() == MemoryConfig.objects.count() == 1


def test_it_never_changes_a_name(call, agent):
    assert call.fails(f"{A}/update", {"id": agent.pk, "name": "other"})[0] == 1001


def test_it_will_not_leave_memories_behind(call, memory):
    place = {"config": {"memory": {"backend": "sqlite", "sqlitePath": "memory/new.db"}}}
    code, message = call.fails(f"{A}/update", {"id": Agent.objects.get().pk} | place)
    assert code == 1001
    assert "move_memories" in message


def test_it_lists_and_filters_agents(call, agent):
    create_agent("sales", label="销售")
    assert [row["name"] for row in call.post(f"{A}/list", {"order": "name", "sort": "asc"})] == ["helper", "sales"]
    assert call.post(f"{A}/page", {"keyWord": "销"})["pagination"]["total"] == 1
    assert call.post(f"{A}/page", {"name": ["sales", "ghost"]})["pagination"]["total"] == 1
    assert call.post(f"{A}/page", {"page": 9})["list"] == []


def test_it_deletes_an_agent_with_its_memories(call, memory):
    assert call.post(f"{A}/delete", {"ids": [Agent.objects.get().pk]}) == {"deleted": 1, "memories": 1}


# rights


@pytest.mark.parametrize(
    ("right", "path", "body"),
    [
        ("view_memory", f"{M}/page", {}),
        ("view_memorytype", f"{T}/list", {}),
        ("view_agent", f"{A}/page", {}),
        ("delete_memory", f"{M}/delete", {"agentName": "helper", "ids": [999]}),
    ],
)
def test_it_asks_for_the_right_of_each_call(agent, django_user_model, right, path, body):
    clerk = django_user_model.objects.create_user("clerk", password="pass-word-1")
    caller = sign_in("clerk")
    assert caller.raw(path, body).status_code == 403
    clerk.user_permissions.add(Permission.objects.get(codename=right))
    caller.post(path, body)
