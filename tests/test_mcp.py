"""MCP over standard input and output: the SDK's client starts the command, as desktop clients do."""

import json
import sqlite3
import subprocess
import sys
from contextlib import nullcontext
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memory_app import tools
from memory_app.contracts import Scope
from memory_app.mcp import stdio
from memory_app.mcp.server import Caller
from memory_app.models import MemoryChange
from tests.conftest import ROOT
from tests.speaking import ERAS, call, command, environment, gathered, over_stdio, save_the_same, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_memories")]
WHO = ["--agent", "helper", "--user", "ann"]
NOISE = """
import atexit, os, sys
import django
django.setup()
from dataclasses import replace
from django.core.management import execute_from_command_line
from memory_app import tools

def raising(scope, arguments):
    print("a stray line")
    os.system("echo from a child")
    raise RuntimeError("secret detail")

tools.TOOLS["memory_stats"] = replace(tools.TOOLS["memory_stats"], function=raising)
atexit.register(print, "a last word")
execute_from_command_line(["manage.py", "mcp", *sys.argv[1:]])
"""
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
TALK = (
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}},
    {"id": 3, "method": "tools/list"},
    {"id": 4, "method": "no/such"},
)


@pytest.fixture(scope="module")
def first_start(tmp_path_factory):
    """A new installation's first start, on SQLite, with a tool that prints and raises: its home, and what it said."""
    home = tmp_path_factory.mktemp("home")
    env = {"NETACLAW_DATA_DIR": str(home), "NETACLAW_DATABASE_URL": "", "NETACLAW_DEBUG": "1"}
    names = env | {"DJANGO_SETTINGS_MODULE": "netaclaw.settings", "PATH": "/usr/bin:/bin"}
    said = "".join(json.dumps({"jsonrpc": "2.0"} | message) + "\n" for message in TALK) + "nonsense\n"
    arguments = [sys.executable, "-W", "always", "-c", NOISE, *WHO]
    return home, subprocess.run(arguments, cwd=ROOT, env=names, input=said, capture_output=True, text=True, check=False)


def test_it_says_nothing_but_the_protocol_and_ends_with_its_input(first_start):
    _home, process = first_start
    answers = {answer.get("id"): answer for answer in map(json.loads, process.stdout.splitlines())}
    assert {answer["jsonrpc"] for answer in answers.values()} == {"2.0"}
    assert answers.keys() >= {1, 2, 3, 4}
    assert answers[1]["result"]["serverInfo"]["name"] == "netaclaw-memory"
    assert process.returncode == 0


def test_it_keeps_what_others_print_and_why_a_tool_failed_for_the_log(first_start):
    _home, process = first_start
    for line in ("a stray line", "from a child", "a last word", "secret detail"):
        assert line not in process.stdout
        assert line in process.stderr


def test_it_makes_a_new_installation_ready(first_start):
    home, process = first_start
    with sqlite3.connect(home / "netaclaw.sqlite3") as database:
        assert database.execute("SELECT name FROM netaclaw_agent").fetchall() == [("helper",)]
    database.close()
    assert "Agent helper is ready." in process.stderr


def test_it_ends_with_a_sentence_and_an_exit_code_for_an_agent_that_there_is_not(first_start):
    home, _process = first_start
    env = environment(home, NETACLAW_DATABASE_URL="")
    arguments = command("--agent", "ghost", "--user", "ann")
    process = subprocess.run(arguments, cwd=ROOT, env=env, input="", capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (1, "")
    assert 'There is no agent "ghost"' in process.stderr
    assert "Traceback" not in process.stderr


def test_it_gets_ready_once_where_clients_start_it_twice(tmp_path):
    env = environment(tmp_path, NETACLAW_DATABASE_URL="")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    both = [subprocess.Popen(command(*WHO), cwd=ROOT, env=env, text=True, **pipes) for _ in range(2)]
    said = [process.communicate("") for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert "".join(errors for _output, errors in said).count("is ready") == 1


def test_it_ends_quietly_when_its_client_has_gone(first_start):
    home, _process = first_start
    env = environment(home, NETACLAW_DATABASE_URL="")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command(*WHO), cwd=ROOT, env=env, text=True, **pipes) as process:
        process.stdout.close()
        process.stdin.write(json.dumps({"jsonrpc": "2.0"} | TALK[0]) + "\n")
        process.stdin.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("who", "user", "sentence"),
    [("ghost", "ann", 'no agent "ghost"'), (" ", "ann", "agentName"), ("helper", " ", "--user")],
)
def test_it_wants_an_agent_and_a_user(agent, monkeypatch, who, user, sentence):
    monkeypatch.setattr(stdio, "wire", nullcontext)
    with pytest.raises(CommandError, match=sentence):
        call_command("mcp", agent=who, user=user)


def test_it_serves_whom_it_is_told_to(agent, monkeypatch):
    served = []
    monkeypatch.setattr(stdio, "wire", nullcontext)
    monkeypatch.setattr(stdio, "serve", lambda caller, output: served.append(caller))
    call_command("mcp", agent="helper", user="王芳", read_only=True)
    assert served == [Caller(Scope("helper", "王芳"), read_only=True, name="helper")]


@pytest.mark.parametrize("era", ERAS)
def test_it_lets_a_client_use_the_whole_memory(agent, data_dir, era):
    async def talk(client):
        listed = (await client.list_tools()).tools
        assert [(tool.name, tool.input_schema) for tool in listed] == [
            (tool.name, tool.parameters) for tool in tools.TOOLS.values()
        ]
        hints = listed[0].annotations
        assert (hints.title, hints.read_only_hint, hints.destructive_hint) == ("保存记忆", False, True)
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
        saved = json.loads(await call(client, "memory_save", action="create", content="爱喝绿茶 🍵", userId="bob"))
        assert saved["outcome"] == "created"
        assert "爱喝绿茶 🍵" in await call(client, "memory_recall", query="绿茶", limit="5")
        assert '"key":"user"' in await call(client, "memory_list_types")
        assert json.loads(await call(client, "memory_stats"))["total"] == 1
        refused = await client.call_tool("memory_save", {"action": "update", "id": 999, "content": "x"})
        assert (refused.is_error, json.loads(text_of(refused))["error"]) == (True, "not_found")

        assert sorted(await gathered([save_the_same(client) for _ in range(20)])) == ["created"] + ["duplicate"] * 19
        assert json.loads(await call(client, "memory_stats"))["total"] == 2

        uris = [resource.uri for resource in (await client.list_resources()).resources]
        read = [(await client.read_resource(uri)).contents[0].text for uri in uris]
        assert "爱喝绿茶 🍵" in read[uris.index("memory://context")]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://context/{message}"
        block = (await client.read_resource("memory://context/" + quote("喝什么绿茶？"))).contents[0].text
        assert block.startswith("<memory-context>")
        (prompt,) = (await client.list_prompts()).prompts
        (how, message) = (await client.get_prompt(prompt.name, {"message": "绿茶？"})).messages
        assert block in how.content.text
        assert message.content.text == "绿茶？"

    over_stdio(WHO, environment(data_dir), talk, era)
    if connection.vendor == "mysql":
        assert {(change.door, change.actor) for change in MemoryChange.objects.all()} == {("mcp", "helper")}
