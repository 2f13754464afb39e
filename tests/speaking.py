"""The SDK's own client, for tests that are no coroutines themselves."""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
from django.db import connection
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.conftest import ROOT, main_url

Found = TypeVar("Found")
Conversation = Callable[[Client], Awaitable[Found]]
SETTINGS = {"DJANGO_SETTINGS_MODULE": "netaclaw.settings"}  # pytest names its own
ERAS = ["legacy", "auto"]  # with the handshake of the versions up to 2025, and without


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    """Of a process that shares the main database of the tests where that is a server, and else has one of its own."""
    url = main_url() if connection.vendor == "mysql" else ""
    return dict(os.environ) | {"NETACLAW_DATA_DIR": str(data_dir), "NETACLAW_DATABASE_URL": url} | SETTINGS | more


def command(*arguments: str) -> list[str]:
    return [sys.executable, "manage.py", "mcp", *arguments]


def over_stdio(
    arguments: list[str], env: dict[str, str], conversation: Conversation[Found], era: str = "auto"
) -> Found:
    program, *rest = command(*arguments)

    async def speak() -> Found:
        with open(os.devnull, "w") as errors:
            transport = stdio_client(StdioServerParameters(command=program, args=rest, cwd=ROOT, env=env), errors)
            async with Client(transport, mode=era) as client:
                return await conversation(client)

    return anyio.run(speak)


def over_http(url: str, headers: dict[str, str], conversation: Conversation[Found], era: str = "auto") -> Found:
    async def speak() -> Found:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=era) as client,
        ):
            return await conversation(client)

    return anyio.run(speak)


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers, which must be no error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


async def save_the_same(client: Client) -> str:
    """The outcome of saving what others save at the same moment."""
    return str(json.loads(await call(client, "memory_save", action="create", content="same"))["outcome"])


async def gathered(calls: Iterable[Awaitable[Found]]) -> list[Found]:
    """What the calls answer, all made at once."""
    found: list[Found] = []

    async def keep(made: Awaitable[Found]) -> None:
        found.append(await made)

    async with anyio.create_task_group() as group:
        for made in calls:
            group.start_soon(keep, made)
    return found
