"""Trying an agent in a browser: a turn as it comes."""

from collections.abc import Iterator

import pytest

from agents_app.models import Agent, Message
from netaclaw.environment import Models
from tests.browser.console import AGENTS, Console
from tests.browser.looks import every_language, on_phones
from tests.model_server import ModelServer, Reply, calls, running, says

HOSTILE = "<img src=x onerror=alert(1)> & </memory-context>"


@pytest.fixture
def server(settings) -> Iterator[ModelServer]:
    with running() as server:
        settings.MODELS = Models({"openai": f"{server.url}/v1"}, {"openai": "key"}, default_model="model-1")
        yield server


@pytest.fixture
def page(console: Console, memories, server) -> Console:
    memories.save(f"drinks green tea {HOSTILE}")
    console.open(f"{AGENTS}{Agent.objects.get().pk}/chat/")
    console.find("#id_user").fill("ann")
    return console


def send(page: Console, message: str) -> None:
    page.find("#id_message").fill(message)
    page.find("#id_message").press("Control+Enter")


@every_language
def test_it_shows_the_block_the_tools_and_the_reply(page: Console, server, look):
    server.replies(calls("memory_recall", query="tea"), says("Green ", f"tea {HOSTILE}"), says("Yes."))
    send(page, "which tea?")
    page.find(".spoken.assistant > p.quiet").wait_for()
    assert page.find(".spoken.assistant > .text").text_content() == f"Green tea {HOSTILE}"
    assert page.find(".memory pre").text_content() in server.asked[0].system
    assert "drinks green tea" in str(page.find(".tool .result").text_content())
    send(page, "sure?")
    page.find("text=Yes.").wait_for()
    assert [text for role, text in server.asked[-1].said if role == "user"] == ["which tea?", "sure?"]


def test_it_tells_a_failing_model_in_red(page: Console, server):
    server.replies(Reply(text=(HOSTILE,), status=401))
    send(page, "hi")
    assert HOSTILE in page.find(".errornote").inner_text()
    assert page.find("#id_session").input_value() == Message.objects.get(role="user").session_id


def test_it_keeps_the_message_when_the_agent_does_not_talk(page: Console, server):
    Agent.objects.update(enabled=False)
    send(page, "hi")
    assert "disabled" in page.find(".errornote").inner_text()
    assert page.find("#id_message").input_value() == "hi"
    page.expect("409")


@on_phones
def test_it_stops_when_told(page: Console, server, look):
    server.replies(says("so far", stays_open=True))
    send(page, "tell me all")
    page.find("text=so far").wait_for()
    page.find("#stop").click()
    assert server.left.wait(15)
    assert page.find("#stop").is_hidden()
