"""MCP over HTTP: the SDK's client against a live server, and what a door must refuse."""

import json
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from agents_app.services import create_agent
from memory_app import keys, search, services, tools
from memory_app.acting import Door
from memory_app.contracts import PageQuery, Scope
from memory_app.models import AgentKey, MemoryChange
from tests.conftest import draft
from tests.speaking import ERAS, call, gathered, over_http, save_the_same, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_memories")]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
RECALL = {"name": "memory_recall", "arguments": {"query": "gate code"}}


@pytest.fixture
def key(agent):
    """Makes keys of the agent and returns their text."""

    def make(name="test", **fields) -> str:
        return keys.issue(agent.pk, "root", {"name": name} | fields).text

    return make


@pytest.fixture
def speak(live_server):
    """Holds a conversation with the server under a key."""

    def hold(text, conversation, era="auto", **headers):
        sent = {"Authorization": f"Bearer {text}"} | {name.replace("_", "-"): v for name, v in headers.items()}
        return over_http(f"{live_server.url}/mcp", sent, conversation, era)

    return hold


@pytest.fixture
def post(client):
    """One message by Django's client, as the SDK sends it."""

    def send(message, text="", **headers):
        sent = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"} | headers
        sent |= {"authorization": f"Bearer {text}"} if text else {}
        return client.post("/mcp", json.dumps(message), content_type="application/json", headers=sent)

    return send


def asked(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def error_of(response) -> str:
    body = response.json()
    assert body["jsonrpc"] == "2.0"
    assert body["id"] is None
    return body["error"]["message"]


@pytest.mark.parametrize("era", ERAS)
def test_it_lets_a_client_call_every_tool(key, speak, era):
    async def talk(client):
        assert [tool.name for tool in (await client.list_tools()).tools] == list(tools.TOOLS)
        saved = json.loads(await call(client, "memory_save", action="create", content="爱喝绿茶 🍵"))
        recalled = await call(client, "memory_recall", query="绿茶")
        assert (saved["outcome"], "爱喝绿茶 🍵" in recalled) == ("created", True)
        assert '"key":"user"' in await call(client, "memory_list_types")
        assert json.loads(await call(client, "memory_stats")) == {"total": 1, "byType": {"user": 1}}

    speak(key(user_id="ann"), talk, era)


@pytest.mark.parametrize("era", ERAS)
def test_it_gives_the_context_as_a_resource_and_as_a_prompt(key, speak, ann, era):
    services.save(draft("The gate code is heron 🐦", ann))

    async def talk(client):
        found = await client.read_resource("memory://context/" + quote("what is the gate code?"))
        return found.contents[0].text, (await client.get_prompt("memory", {"message": "gate code?"})).messages

    block, messages = speak(key(user_id="ann"), talk, era)
    assert block == search.prefetch(ann, "what is the gate code?").block != ""
    assert "memory_save" in messages[0].content.text
    assert block in messages[0].content.text
    assert messages[-1].content.text == "gate code?"


def test_it_serves_twenty_calls_at_once_and_stores_one(key, speak, ann):
    async def talk(client):
        return await gathered([save_the_same(client) for _ in range(20)])

    assert sorted(speak(key(user_id="ann"), talk)) == ["created"] + ["duplicate"] * 19
    assert search.count_by_type(ann) == {"user": 1}


def test_it_names_the_key_and_the_door_in_the_history(key, speak):
    async def talk(client):
        await call(client, "memory_save", action="create", content="likes tea")

    speak(key("desktop", user_id="ann"), talk)
    change = MemoryChange.objects.get()
    assert (change.door, change.actor) == (Door.MCP, "desktop")
    assert AgentKey.objects.get().last_used is not None


def test_it_tells_a_refusal_and_a_failure_in_the_result(key, speak, monkeypatch):
    def broken(scope, arguments):
        raise RuntimeError("secret detail")

    monkeypatch.setitem(tools.TOOLS, "memory_stats", broken_tool(broken))

    async def talk(client):
        refused = await client.call_tool("memory_save", {"action": "delete", "id": 99})
        failed = await client.call_tool("memory_stats", {})
        unknown = await client.call_tool("rm", {})
        assert [refused.is_error, failed.is_error, unknown.is_error] == [True, True, True]
        return [text_of(result) for result in (refused, failed, unknown)]

    refused, failed, unknown = speak(key(user_id="ann"), talk)
    assert json.loads(refused)["error"] == "not_found"
    assert "secret" not in failed
    assert "There is no tool rm" in unknown


def broken_tool(function):
    return tools.Tool("memory_stats", "x", "x", {"type": "object", "properties": {}}, function, read_only=True)


# who calls


@pytest.mark.parametrize("given", ["", "nck_" + "x" * 43, "nonsense"])
def test_it_challenges_a_caller_without_a_good_key(agent, post, given):
    response = post(PING, given)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith('Bearer realm="netaclaw-memory"')
    assert "Authorization: Bearer nck_" in error_of(response)


def test_it_challenges_a_revoked_an_expired_and_a_disabled_agents_key(agent, key, post):
    revoked, expired, good = key("a", user_id="ann"), key("b", user_id="ann"), key("c", user_id="ann")
    keys.revoke(AgentKey.objects.get(name="a"))
    AgentKey.objects.filter(name="b").update(expires=timezone.now() - timedelta(seconds=1))
    assert [post(PING, text).status_code for text in (revoked, expired, good)] == [401, 401, 200]
    type(agent).objects.update(enabled=False)
    assert post(PING, good).status_code == 401


def test_it_lets_a_read_only_key_read_alone(key, speak, ann):
    services.save(draft("likes tea", ann))

    async def talk(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        refused = await client.call_tool("memory_save", {"action": "create", "content": "x"})
        return names, refused, await call(client, "memory_recall", query="tea")

    names, refused, recalled = speak(key(user_id="ann", read_only=True), talk)
    assert names == [name for name, tool in tools.TOOLS.items() if tool.read_only]
    assert (refused.is_error, json.loads(text_of(refused))["error"]) == (True, "refused")
    assert "likes tea" in recalled
    assert search.page(PageQuery()).total == 1


@pytest.mark.parametrize("sent", ["王芳", quote("王芳"), quote(" 王芳 ")])
def test_it_takes_the_user_from_the_header_where_the_key_has_none(key, post, sent):
    raw = sent.encode().decode("latin-1")  # as servers hand headers over
    message = asked("tools/call", name="memory_save", arguments={"action": "create", "content": "likes tea"})
    assert post(message, key(), **{"x-netaclaw-user": raw}).status_code == 200
    assert search.count_by_type(Scope("helper", "王芳")) == {"user": 1}


@pytest.mark.parametrize(
    "header", [{}, {"x-netaclaw-user": "  "}, {"x-netaclaw-user": "%ff"}, {"x-netaclaw-user": "\xff"}]
)
def test_it_asks_for_the_user_where_the_key_has_none(key, post, header):
    response = post(PING, key(), **header)
    assert response.status_code == 400
    assert "X-Netaclaw-User" in error_of(response)


def test_it_holds_a_key_to_its_user(key, post):
    text = key(user_id="ann")
    assert post(PING, text, **{"x-netaclaw-user": "ann"}).status_code == 200
    response = post(PING, text, **{"x-netaclaw-user": "bob"})
    assert response.status_code == 403
    assert "one user only" in error_of(response)


def test_it_gives_no_instructions_where_the_memory_is_off(agent, key, speak, ann):
    services.save(draft("gate code heron", ann))
    agent.memory.enabled = False
    agent.memory.save()

    async def talk(client):
        context = (await client.read_resource("memory://context")).contents[0].text
        return context, (await client.get_prompt("memory", {"message": "gate code?"})).messages

    context, messages = speak(key(user_id="ann"), talk)
    assert (context, [message.content.text for message in messages]) == ("", ["gate code?"])


def test_it_tells_of_a_prompt_and_a_resource_that_there_are_not(key, post):
    text = key(user_id="ann")
    for message, known in (
        (asked("prompts/get", name="x"), "memory."),
        (asked("resources/read", uri="memory://x"), "memory://types"),
    ):
        error = post(message, text).json()["error"]
        assert (error["code"], known in error["message"]) == (-32602, True)


def test_it_never_shows_another_agents_or_users_memories(key, post, ann, bob):
    create_agent("other")
    services.save(draft("gate code heron", bob))
    services.save(draft("gate code heron", Scope("other", "ann")))
    text = key(user_id="ann")
    named = RECALL | {"arguments": RECALL["arguments"] | {"userId": "bob", "agent": "other"}}
    for message in (
        asked("tools/call", **named),
        asked("resources/read", uri="memory://context"),
        asked("resources/read", uri="memory://context/gate%20code"),
        asked("prompts/get", name="memory", arguments={"message": "code?"}),
    ):
        response = post(message, text, **{"x-netaclaw-agent": "other"})
        assert response.status_code == 200
        assert "heron" not in response.content.decode()


# the wire


@pytest.mark.parametrize("method", ["get", "delete", "put", "options"])
def test_it_offers_no_stream_and_no_session(client, method):
    response = getattr(client, method)("/mcp", headers={"accept": "text/event-stream"})
    assert (response.status_code, response["Allow"]) == (405, "POST")


def test_it_needs_no_session_and_sets_none(key, post):
    response = post(asked("tools/list"), key(user_id="ann"))
    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers
    assert not response.cookies
    assert response["Cache-Control"] == "no-store"
    assert len(response.json()["result"]["tools"]) == len(tools.TOOLS)


@pytest.mark.parametrize(("version", "status"), [("2025-03-26", 200), ("2024-01-01", 400), ("x", 400)])
def test_it_honours_the_protocols_version(key, post, version, status):
    assert post(PING, key(user_id="ann"), **{"mcp-protocol-version": version}).status_code == status


def test_it_accepts_a_notification_without_an_answer(key, post):
    response = post({"jsonrpc": "2.0", "method": "notifications/initialized"}, key(user_id="ann"))
    assert response.status_code == 202


@pytest.mark.parametrize("body", ["{", "[]", '"x"', "{}", '{"jsonrpc": "2.0", "id": {}, "method": 1}', "[" * 5000])
def test_it_answers_nonsense_with_an_error_of_the_protocol(key, client, body):
    headers = {"authorization": f"Bearer {key(user_id='ann')}", "accept": "application/json"}
    response = client.post("/mcp", body, content_type="application/json", headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] < 0


def test_it_takes_json_alone(key, client):
    headers = {"authorization": f"Bearer {key(user_id='ann')}", "accept": "application/json"}
    response = client.post("/mcp", json.dumps(PING), content_type="text/plain", headers=headers)
    assert (response.status_code, response["Content-Type"]) == (400, "text/plain")


def test_it_bounds_what_is_sent(key, post, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = post(asked("tools/call", name="memory_save", arguments={"content": "x" * 1000}), key(user_id="ann"))
    assert response.status_code == 413
    assert "1000 bytes" in error_of(response)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://testserver", 200),
        ("http://localhost:6274", 200),
        ("https://console.example.com", 200),
        ("https://a.trusted.example", 200),
        ("http://console.example.com", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_it_answers_pages_of_known_origins_alone(key, post, settings, origin, status):
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://console.example.com", "https://*.trusted.example"]
    assert post(PING, key(user_id="ann"), origin=origin).status_code == status


def test_it_says_so_while_the_database_is_away(key, post, monkeypatch):
    from django.db import OperationalError

    def away(text):
        raise OperationalError("host=10.0.0.1")

    monkeypatch.setattr(keys, "authenticate", away)
    response = post(PING, "nck_x")
    assert response.status_code == 503
    assert "10.0.0.1" not in error_of(response)


def test_it_speaks_the_callers_language(key, post):
    message = asked("tools/call", name="memory_save", arguments={"action": "delete", "id": 9})
    english, chinese = (
        post(message, key(name, user_id="ann"), **{"accept-language": language}).json()["result"]["content"][0]["text"]
        for name, language in (("a", "en"), ("b", "zh-CN"))
    )
    assert "nothing was deleted" in english
    assert "nothing was deleted" not in chinese
    assert "\\u" not in chinese
