"""The page on which an operator tries an agent, and what else the console shows of chats."""

import json
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from agents_app.models import Agent, Message
from agents_app.services import create_agent, update_agent
from memory_app import services
from memory_app.models import MemoryChange
from netaclaw.environment import Models
from tests.conftest import draft
from tests.model_server import ModelServer, Reply, calls, running, says
from tests.pages import fields_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(settings) -> Iterator[ModelServer]:
    with running() as server:
        settings.MODELS = Models({"openai": f"{server.url}/v1"}, {"openai": "key"}, default_model="model-1")
        yield server


@pytest.fixture
def helper(db) -> Agent:
    return create_agent("helper")


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


def page_of(agent: Agent) -> str:
    return f"/admin/agents_app/agent/{agent.pk}/chat/"


def text_of(response) -> str:
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_it_is_led_to_from_the_agents_list_and_form(console, helper):
    for page in ("/admin/agents_app/agent/", f"/admin/agents_app/agent/{helper.pk}/change/"):
        assert f'href="{page_of(helper)}"' in text_of(console.get(page))


def test_it_talks_without_any_script(console, helper, server):
    services.save(draft("drinks <b>green</b> tea"))
    server.replies(calls("memory_recall", query="tea"), says("Green <i>tea</i>."), says("Yes."))
    first = console.post(page_of(helper), {"user": "ann", "session": "", "message": "which tea?\r\nsay"})
    text = text_of(first)
    assert "1 memory injected" in text
    assert "&lt;memory-context&gt;" in text
    assert "drinks &lt;b&gt;green" in text
    assert "Green &lt;i&gt;tea&lt;/i&gt;." in text
    fields = fields_of(first, "chat-form")
    second = text_of(console.post(page_of(helper), fields | {"message": "sure?"}))
    assert all(said in second for said in ("which tea?", "Green &lt;i&gt;tea&lt;/i&gt;.", "memory_recall", "Yes."))
    assert [text for role, text in server.asked[-1].said if role == "user"] == ["which tea?\nsay", "sure?"]


def test_it_streams_to_its_script_with_the_block(console, helper, server):
    services.save(draft("drinks green tea"))
    asked = {"user": "ann", "session": "s1", "message": "tea?"}
    response = console.post(page_of(helper), asked, headers={"accept": "text/event-stream"})
    first = b"".join(response.streaming_content).decode().split("\n\n")[0]
    assert response["Content-Type"] == "text/event-stream"
    assert "drinks green tea" in json.loads(first.split("data: ")[1])["block"]


def test_it_shows_a_session_again(console, helper, server):
    console.post(page_of(helper), {"user": "ann", "session": "s1", "message": "hello there"})
    assert "hello there" in text_of(console.get(page_of(helper), {"user": "ann", "session": "s1"}))
    assert "hello there" not in text_of(console.get(page_of(helper), {"user": "bob", "session": "s1"}))


def test_it_tells_what_the_provider_says(console, helper, server):
    server.replies(Reply(text=("your key <is> bad",), status=401))
    text = text_of(console.post(page_of(helper), {"user": "ann", "message": "hi"}))
    assert "refused the key" in text
    assert "your key &lt;is&gt; bad" in text


@pytest.mark.parametrize("accept", ["text/html", "text/event-stream"])
def test_it_tells_what_keeps_an_agent_from_talking(console, helper, server, accept):
    def problem(**sent) -> str:
        response = console.post(page_of(helper), {"user": "ann", "message": "hi"} | sent, headers={"accept": accept})
        assert (response.status_code == 200) is (accept == "text/html")
        return response.content.decode()

    assert "required" in problem(message="")
    assert "required" in problem(user=" ")
    update_agent(helper, provider="acme")
    assert "unknown; use one of" in problem()
    update_agent(helper, enabled=False)
    assert "is disabled" in problem()
    assert (server.asked, Message.objects.count()) == ([], 0)


def test_it_is_for_those_who_may_change_agents(client, helper, django_user_model):
    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__in=["view_agent", "view_memory"]))
    client.force_login(clerk)
    assert client.get(page_of(helper)).status_code == 403
    assert client.post(page_of(helper), {"user": "ann", "message": "hi"}).status_code == 403
    assert "/chat/" not in client.get("/admin/agents_app/agent/").content.decode()
    assert "/chat/" not in client.get(f"/admin/agents_app/agent/{helper.pk}/change/").content.decode()


def test_it_leaves_the_agent_in_the_history(console, helper, server):
    server.replies(calls("memory_save", action="create", content="drinks tea"), says("ok"))
    console.post(page_of(helper), {"user": "ann", "message": "tea"})
    assert [(change.door, change.actor) for change in MemoryChange.objects.all()] == [("chat", "helper")]


def test_it_counts_messages_before_they_go_with_their_agent(console, helper, server):
    console.post(page_of(helper), {"user": "ann", "message": "hi"})
    assert "messages: 2" in text_of(console.get(f"/admin/agents_app/agent/{helper.pk}/delete/"))


def test_it_counts_messages_before_a_user_is_forgotten(console, helper, server):
    console.post(page_of(helper), {"user": "ann", "message": "hi"})
    text = text_of(console.get("/admin/memory_app/memory/forget/", {"user": "ann", "agent": ""}))
    assert '<th scope="col">messages</th>' in text
    assert "<td>helper</td><td>0</td><td>0</td><td>2</td>" in text
