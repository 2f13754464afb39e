"""Plain HTTP for agents' runtimes: keys, scopes, tools, prefetch, the system prompt."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import DatabaseError, connections
from django.test import Client
from django.utils import timezone

from agents_app.services import create_agent, update_agent
from memory_app import keys, prompt, search, services, tool_shapes, tools
from memory_app.contracts import PageQuery, Scope
from memory_app.models import AgentKey, MemoryChange, MemoryConfig, MemoryType
from netaclaw import tokens
from tests.conftest import draft

pytestmark = pytest.mark.django_db
RECALL, SAVE = "/api/tools/memory_recall", "/api/tools/memory_save"
PROMPT, PREFETCH = "/api/system-prompt", "/api/prefetch"
CALLS = [("get", "/api/tools"), ("post", RECALL), ("post", PREFETCH), ("get", PROMPT), ("post", PROMPT)]


class Runtime:
    """An agent's runtime: it has a key, and names a user."""

    def __init__(self, key: str = "", user: str = "", **headers: str) -> None:
        self.client = Client(enforce_csrf_checks=True)
        sent = {"Authorization": f"Bearer {key}" if key else "", keys.USER_HEADER: user}
        self.headers = {name: value for name, value in sent.items() if value} | headers

    def raw(self, path: str, body: str | bytes = "{}", **headers: str):
        content = body.encode() if isinstance(body, str) else body
        return self.client.post(path, content, content_type="application/json", headers=self.headers | headers)

    def post(self, path: str, body: object = None, **headers: str):
        return answer(self.raw(path, json.dumps({} if body is None else body), **headers))

    def get(self, path: str, **query: str):
        return answer(self.client.get(path, query, headers=self.headers))


def answer(response) -> tuple[int, dict]:
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    body = response.json()
    if response.status_code != 200:
        assert set(body) == {"error", "message"}
        assert body["message"]
    return response.status_code, body


def key_of(agent, **fields) -> str:
    return keys.issue(agent.pk, "root", {"name": "crm"} | fields).text


@pytest.fixture
def key(agent) -> str:
    return key_of(agent)


@pytest.fixture
def anns(key) -> Runtime:
    return Runtime(key, "ann")


# keys


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_it_wants_a_key(agent, method, path):
    for headers in ({}, {"Authorization": "Basic cm9vdDpyb290"}, {"Authorization": "Bearer nck_" + "A" * 43}):
        response = getattr(Client(headers=headers), method)(path)
        assert answer(response)[0] == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: keys.revoke(row), "revoked"),
        (lambda row: AgentKey.objects.update(expires=timezone.now() - timedelta(seconds=1)), "expired"),
        (lambda row: update_agent(row.agent, enabled=False), "switched off"),
        (lambda row: row.delete(), "no key of this installation"),
    ],
)
def test_it_says_why_a_key_is_no_good(agent, change, reason):
    issued = keys.issue(agent.pk, "root", {"name": "crm"})
    change(issued.row)
    status, body = Runtime(issued.text, "ann").post(RECALL, {"query": "tea"})
    assert (status, reason in body["message"]) == (401, True)


def test_it_takes_no_session_and_no_operators_token(agent, django_user_model):
    root = django_user_model.objects.create_superuser("root")
    signed_in = Client()
    signed_in.force_login(root)
    assert signed_in.get("/api/tools").status_code == 401
    token = tokens.issue(root, "script", timedelta(hours=1)).token
    assert Runtime(token, "ann").get("/api/tools")[0] == 401


def test_it_opens_nothing_of_the_operators_with_a_key(key):
    for path in ("/admin/netaclaw/memory/page", "/admin/netaclaw/agent/list"):
        assert Client(headers={"Authorization": f"Bearer {key}"}).post(path).status_code == 401


def test_it_holds_up_who_tries_bad_keys_and_nobody_else(anns, key):
    bad = Runtime("nck_" + "B" * 43, "ann")
    statuses = [bad.raw(RECALL).status_code for _attempt in range(31)]
    assert statuses == [401] * 30 + [429]
    assert 0 < int(bad.raw(RECALL).headers["Retry-After"]) <= 60
    assert anns.post(RECALL, {"query": "tea"})[0] == 200


def test_it_notes_the_use_of_a_key(anns):
    anns.get("/api/tools")
    assert AgentKey.objects.get().last_used is not None


# whose memories


def test_it_wants_a_user_from_a_key_that_is_bound_to_none(key):
    for user in ("", " ", "%20"):
        status, body = Runtime(key, user).post(RECALL, {"query": "tea"})
        assert (status, keys.USER_HEADER in body["message"]) == (400, True)


@pytest.mark.parametrize(
    ("sent", "user"),
    [
        ("ann", "ann"),
        (" ann ", "ann"),
        ("%E5%B0%8F%E6%98%8E", "小明"),
        ("小明".encode().decode("latin-1"), "小明"),
        ("a%20b%2Fc", "a b/c"),
        ("50%25", "50%"),
        ("a+b@example.com", "a+b@example.com"),
    ],
)
def test_it_reads_the_user_from_its_header(key, sent, user):
    assert Runtime(key, sent).post(SAVE, {"content": "tea"})[0] == 200
    assert search.page(PageQuery()).rows[0][1].user_id == user


@pytest.mark.parametrize("sent", ["%FF", "a%0Ab", "x" * 101, "%E5%B0"])
def test_it_refuses_a_user_that_nobody_can_be(key, sent):
    assert Runtime(key, sent).post(SAVE, {"content": "tea"})[0] == 400
    assert search.page(PageQuery()).total == 0


def test_it_keeps_a_bound_key_to_its_user(agent):
    bound = key_of(agent, user_id="小明")
    services.save(draft("gate code heron", Scope("helper", "ann")))
    for user in ("", "%E5%B0%8F%E6%98%8E"):
        assert Runtime(bound, user).post(RECALL, {"query": "heron"}) == (200, {"memories": []})
    for user in ("ann", "%E5%B0%8F", "小"):
        status, body = Runtime(bound, user.encode().decode("latin-1")).post(RECALL, {"query": "heron"})
        assert (status, body["error"]) == (403, "refused")


def test_it_shows_no_other_agent_and_no_other_user(anns, key):
    other = key_of(create_agent("other"))
    made = anns.post(SAVE, {"content": "gate code heron"})[1]["id"]
    for stranger in (Runtime(other, "ann"), Runtime(key, "bob"), Runtime(key, "Ann"), Runtime(key, "ann%25")):
        assert stranger.post(RECALL, {"query": "gate code heron", "userId": "ann", "agentName": "helper"})[1] == {
            "memories": []
        }
        assert stranger.post(RECALL, {"id": made})[1] == {"memories": []}
        assert stranger.post(PREFETCH, {"message": "gate code?", "user_id": "ann"})[1]["block"] == ""
        assert "heron" not in stranger.post(PROMPT, {"message": "gate code?"})[1]["systemPrompt"]
        assert stranger.post("/api/tools/memory_stats")[1] == {"total": 0, "byType": {}}
        assert stranger.post(SAVE, {"action": "delete", "id": made})[0] == 404
    assert anns.post(RECALL, {"id": made})[1]["memories"][0]["content"] == "gate code heron"


def test_it_writes_down_which_key_did_it(anns):
    anns.post(SAVE, {"content": "tea"})
    assert MemoryChange.objects.values_list("door", "actor", "agent_name", "user_id").get() == (
        "api",
        "crm",
        "helper",
        "ann",
    )


# tools


@pytest.mark.parametrize("shape", tool_shapes.SHAPES)
def test_it_lists_the_tools_in_every_shape(anns, shape):
    assert anns.get("/api/tools", shape=shape) == (200, {"tools": tool_shapes.shaped(shape)})


def test_it_lists_openais_shape_and_refuses_others_by_name(anns):
    assert anns.get("/api/tools")[1]["tools"][0]["function"]["name"] == "memory_save"
    status, body = anns.get("/api/tools", shape="gemini")
    assert (status, "openai, anthropic, mcp" in body["message"]) == (422, True)


def test_it_saves_recalls_and_deletes(anns):
    status, made = anns.post(SAVE, {"action": "create", "content": "花生过敏 🥜", "metadata": '{"src": "chat"}'})
    assert (status, made["outcome"]) == (200, "created")
    raw = anns.raw(RECALL, '{"query": "花生"}').content.decode()
    assert "花生过敏 🥜" in raw
    assert json.loads(raw)["memories"][0]["metadata"] == {"src": "chat"}
    assert anns.post(SAVE, {"action": "delete", "id": str(made["id"])}) == (
        200,
        {"outcome": "deleted", "id": made["id"]},
    )
    assert anns.post(SAVE, {"action": "delete", "id": made["id"]})[0] == 404


def test_it_takes_arguments_that_come_as_text(anns):
    assert anns.post(SAVE, '{"action": "create", "content": "tea"}')[1]["outcome"] == "created"


@pytest.mark.parametrize(
    ("name", "arguments", "status", "code"),
    [
        ("memory_save", {"action": "create"}, 422, "invalid"),
        ("memory_save", [1], 422, "invalid"),
        ("memory_save", {"content": "x", "type": "nothing"}, 422, "unknown_type"),
        ("memory_recall", {}, 422, "invalid"),
        ("memory_save", {"action": "update", "id": 7, "content": "x"}, 404, "not_found"),
        ("memory_erase", {}, 404, "unknown_tool"),
    ],
)
def test_it_answers_refusals_by_their_status(anns, name, arguments, status, code):
    got, body = anns.post(f"/api/tools/{name}", arguments)
    assert (got, body["error"]) == (status, code)


def test_it_keeps_shared_memories_from_being_changed(anns):
    shared = services.save(draft("wifi code", Scope("helper", ""))).memory
    assert anns.post(RECALL, {"query": "wifi"})[1]["memories"][0]["shared"] is True
    assert anns.post(SAVE, {"action": "delete", "id": shared.id})[0] == 403


def test_it_lets_a_reading_key_read_only(agent):
    reader = Runtime(key_of(agent, read_only=True), "ann")
    services.save(draft("drinks tea"))
    names = [tool["name"] for tool in reader.get("/api/tools", shape="mcp")[1]["tools"]]
    assert names == [tool.name for tool in tools.offered(read_only=True)]
    assert len(reader.post(RECALL, {"query": "tea"})[1]["memories"]) == 1
    status, body = reader.post(SAVE, {"content": "x"})
    assert (status, body["error"], "read-only" in body["message"]) == (403, "refused", True)
    assert search.page(PageQuery()).total == 1


def test_it_says_that_memory_is_off(anns):
    services.save(draft("drinks tea"))
    MemoryConfig.objects.update(enabled=False)
    assert anns.post(RECALL, {"query": "tea"})[0] == 403
    assert anns.post(PREFETCH, {"message": "tea"})[1] | {"milliseconds": 0} == {
        "block": "",
        "hits": [],
        "milliseconds": 0,
        "failure": "",
        "enabled": False,
    }
    assert anns.post(PROMPT, {"systemPrompt": "You help.", "message": "tea"})[1]["systemPrompt"] == "You help."


@pytest.mark.parametrize(
    "body",
    ["{", "not json", '{"query": NaN}', b"\xff\xfe", b"\x00", "[" * 100_000, '"' + "x" * 2_100_000 + '"', "1" * 9_999],
)
@pytest.mark.parametrize("path", [RECALL, PREFETCH, PROMPT])
def test_it_refuses_garbage_in_a_sentence(anns, path, body):
    status, answered = answer(anns.raw(path, body))
    assert status in (400, 422)
    assert "Traceback" not in answered["message"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml"]
)
def test_it_reads_json_whatever_it_is_called(anns, kind):
    response = anns.client.post(
        SAVE, b'{"content": "tea"}', content_type=kind, headers=anns.headers | {"Accept": "text/html"}
    )
    assert answer(response)[1]["outcome"] == "created"


def test_it_answers_other_addresses_and_methods_in_json(anns):
    assert answer(anns.client.get("/api/nothing"))[0] == 404
    assert answer(anns.client.post("/api/tools/", headers=anns.headers))[0] == 404
    assert answer(anns.client.put(RECALL, headers=anns.headers))[0] == 405
    assert answer(anns.client.get(RECALL, headers=anns.headers))[0] == 405


def test_it_speaks_the_callers_language(anns):
    body = anns.post(SAVE, {"action": "create"}, **{"Accept-Language": "zh-CN"})[1]
    assert body["message"] != anns.post(SAVE, {"action": "create"})[1]["message"]


def test_it_answers_503_for_a_database_that_fails(anns, monkeypatch):
    def broken(*args):
        raise DatabaseError("SELECT secret FROM path")

    monkeypatch.setattr("memory_app.keys.authenticate", broken)
    status, body = anns.post(RECALL, {"query": "tea"})
    assert (status, body["error"], "secret" in body["message"]) == (503, "store_unavailable", False)


def test_it_answers_503_for_a_store_that_fails(data_dir, file_agent):
    (data_dir / "memory").mkdir()
    (data_dir / "memory" / "memory.db").write_text("no database" * 100)
    anns = Runtime(key_of(file_agent), "ann")
    assert anns.post(RECALL, {"query": "tea"})[0] == 503
    status, body = anns.post(PREFETCH, {"message": "tea"})
    assert (status, body["block"], body["enabled"]) == (200, "", True)
    assert body["failure"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_memories")
def test_it_stores_one_of_twenty_identical_saves_at_once(anns):
    def save(_number: int) -> str:
        try:
            return anns.post(SAVE, {"content": "drinks green tea"})[1].get("outcome", "")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(save, range(20)))
    assert sorted(outcomes) == ["created"] + ["duplicate"] * 19
    assert search.page(PageQuery()).total == 1


# prefetch and prompt


def test_it_prefetches_the_block_and_its_hits(anns, ann):
    memory = services.save(draft("用户对花生过敏。", name="花生过敏")).memory
    status, body = anns.post(PREFETCH, {"message": "我对花生过敏吗？"})
    assert (status, body["block"]) == (200, search.prefetch(ann, "我对花生过敏吗？").block)
    (hit,) = body["hits"]
    assert hit.pop("score") > 0
    assert hit.pop("matched")
    assert hit == {
        "id": memory.id,
        "name": "花生过敏",
        "type": "user",
        "content": "用户对花生过敏。",
        "shared": False,
        "updatedAt": memory.updated_at.isoformat(),
    }
    assert anns.post(PREFETCH, {"message": "zebra"})[1]["block"] == ""


def test_it_prefetches_as_much_as_is_asked_within_the_installations_limit(anns, settings):
    services.save_many([draft(f"tea {number} " + "long " * 50) for number in range(9)])
    assert len(anns.post(PREFETCH, {"message": "tea"})[1]["hits"]) == 5
    assert len(anns.post(PREFETCH, {"message": "tea", "limit": "7"})[1]["hits"]) == 7
    assert len(anns.post(PREFETCH, {"message": "tea", "characters": 300})[1]["block"]) <= 300
    settings.PREFETCH_CHARACTERS = 500
    assert len(anns.post(PREFETCH, {"message": "tea", "characters": 10**6})[1]["block"]) <= 500


@pytest.mark.parametrize("body", [{}, {"message": 5}, {"message": ["x"]}, {"message": "x", "limit": 0}, []])
def test_it_wants_a_message_to_prefetch_for(anns, body):
    assert anns.post(PREFETCH, body)[0] == 422


def test_it_joins_the_system_prompt(anns, agent):
    update_agent(agent, system_prompt="You sell.")
    MemoryType.objects.create(key="environment", name="环境信息", description="系统与工具")
    services.save(draft("drinks green tea"))
    types = MemoryType.available()
    assert anns.get(PROMPT)[1]["systemPrompt"] == prompt.system_prompt("You sell.", "", types)
    body = anns.post(PROMPT, {"systemPrompt": "You help.", "message": "which tea?"})[1]
    assert body["systemPrompt"] == prompt.system_prompt("You help.", body["block"], types)
    assert body["block"].count(prompt.OPEN) == 1
    assert "environment" in body["extension"]


def test_it_tells_the_system_prompt_without_a_user(key):
    assert Runtime(key).get(PROMPT)[0] == 200
    assert Runtime(key).post(PROMPT, {"systemPrompt": ""})[1]["systemPrompt"].startswith("## 记忆系统")
    assert Runtime(key).post(PROMPT, {"message": "tea"})[0] == 400
