"""MCP over standard input and output, for a client that starts us."""

import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from django.db import close_old_connections
from mcp.server.stdio import stdio_server

from memory_app.mcp.server import Caller, server_for

WORKERS = 8
LAST_SECONDS = 10.0
Found = TypeVar("Found")
logger = logging.getLogger(__name__)


@contextmanager
def wire() -> Iterator[TextIO]:
    """Takes standard output away from everything but the protocol, for good: what others print goes to the errors.

    Also what stays in a buffer until the process ends.
    """
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    try:
        yield own
    finally:
        with suppress(BrokenPipeError):
            own.close()


def serve(caller: Caller, output: TextIO) -> None:
    """Answers until the client closes our input."""
    # A thread that waits for input can't be interrupted; writes are transactions, so ending at once loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, caller, output)
    except* BrokenPipeError:
        logger.info("The client has gone")


async def _serve(caller: Caller, output: TextIO) -> None:
    limiter = CapacityLimiter(WORKERS)

    async def in_thread(work: Callable[[], Found]) -> Found:
        return await to_thread.run_sync(_with_fresh_connections, work, limiter=limiter)

    server = server_for(caller, in_thread)
    exchange: Any = _Exchange(anyio.wrap_file(output))
    lines = anyio.wrap_file(TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace"))
    async with stdio_server(exchange.read(lines), exchange) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Exchange:
    """The lines of both directions, counted, so that the end of the input cuts off no answer: pipes end at once."""

    def __init__(self, output: anyio.AsyncFile[str]) -> None:
        self._output = output
        self._asked = self._answered = 0

    async def read(self, lines: AsyncIterable[str]) -> AsyncIterator[str]:
        """What comes in; its end, once everything is answered or has had its time."""
        async for line in lines:
            self._asked += _has(line, "id", "method")
            yield line
        with anyio.move_on_after(LAST_SECONDS):
            while self._answered < self._asked:
                await anyio.sleep(0.01)

    async def write(self, text: str) -> None:
        """One message."""
        await self._output.write(text)
        await self._output.flush()
        self._answered += _has(text, "id") and not _has(text, "method")

    async def flush(self) -> None:
        """Every message is out already."""


def _has(line: str, *names: str) -> bool:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and all(message.get(name) is not None for name in names)


def _with_fresh_connections(work: Callable[[], Found]) -> Found:
    """As Django does around a request: connections that are broken or too old aren't used again."""
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()
