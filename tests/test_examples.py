"""The examples, as they are, against the running product and a model's HTTP interface."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.test import Client

from memory_app import keys, search
from memory_app.contracts import Scope

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
CONFIGURATIONS = sorted((EXAMPLES / "mcp").glob("*.json"))
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_memories")]


@pytest.fixture
def key(agent) -> str:
    return keys.issue(agent.pk, "root", {"name": "example"}).text


def tried(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    whole = os.environ | environment
    return subprocess.run(command, env=whole, capture_output=True, text=True, check=False, timeout=60)


def run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("user", ["ann", "小明"])
def test_it_runs_the_calls_of_curl(live_server, key, user):
    output = run([str(EXAMPLES / "curl.sh"), live_server.url, user], MEMORY_KEY=key)
    tools, saved, recalled, prefetched, prompt = (json.loads(line) for line in output.splitlines() if line[:1] == "{")
    assert len(tools["tools"]) == 4
    assert saved["outcome"] == "created"
    assert recalled["memories"][0]["id"] == saved["id"]
    assert prefetched["block"] in prompt["systemPrompt"]
    assert search.get(Scope("helper", user), saved["id"]).content == "早上喝绿茶。Drinks green tea."


def test_it_says_what_the_calls_of_curl_lack(live_server):
    for environment, said in (({"MEMORY_KEY": ""}, "make a key"), ({"MEMORY_KEY": "nck_x"}, "no key of this")):
        done = tried([str(EXAMPLES / "curl.sh"), live_server.url], **environment)
        assert done.returncode != 0
        assert said in done.stdout + done.stderr


class Model(BaseHTTPRequestHandler):
    """A model behind OpenAI's chat completions: saves what it is told, then answers from its system prompt."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        call = {"name": "memory_save", "arguments": '{"action": "create", "content": "Drinks green tea."}'}
        calls = [{"id": "c1", "type": "function", "function": call}]
        saved = body["messages"][-1]["role"] == "tool" or "Drinks green tea" in body["messages"][0]["content"]
        message = (
            {"role": "assistant", "content": "Green tea."} if saved else {"role": "assistant", "tool_calls": calls}
        )
        choice = {"index": 0, "finish_reason": "stop" if saved else "tool_calls", "message": message}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def model():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.requests = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_it_runs_an_agent_that_learns_in_one_session_and_knows_in_the_next(live_server, key, model):
    environment = {
        "MEMORY_URL": live_server.url,
        "MEMORY_KEY": key,
        "MEMORY_USER": "小明",
        "MODEL": "openai-chat:m",
        "OPENAI_API_KEY": "x",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1",
    }
    for message in ("I drink green tea.", "Which tea do I drink?"):
        output = run([sys.executable, str(EXAMPLES / "agent.py"), message], **environment)
        assert output.strip() == "Green tea."
    first, second, third = model.requests
    assert {tool["function"]["name"] for tool in first["tools"]} >= {"memory_save", "memory_recall"}
    assert json.loads(second["messages"][-1]["content"])["outcome"] == "created"
    assert [message["role"] for message in third["messages"]] == ["system", "user"]
    assert "<memory-context>" in third["messages"][0]["content"]


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_it_names_commands_and_addresses_that_exist(path):
    for server in json.loads(path.read_text(encoding="utf-8"))["mcpServers"].values():
        if "url" in server:
            assert Client().get(server["url"].removeprefix("http://127.0.0.1:8000")).status_code != 404
            assert set(server["headers"]) == {"Authorization", keys.USER_HEADER}
            continue
        script, name, *options = server["args"]
        assert (ROOT / Path(script).name).exists()
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parsed = parser.parse_args(options)
        assert (parsed.agent, parsed.user) == ("desk", "ann")
