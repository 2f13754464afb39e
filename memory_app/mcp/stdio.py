"""MCP over standard input and output, for a client that starts us."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from django.db import close_old_connections
from mcp.server.stdio import stdio_server

from memory_app.mcp.server import Caller, server_for

WORKERS = 8
Found = TypeVar("Found")


@contextmanager
def wire() -> Iterator[TextIO]:
    """Takes standard output away from everything but the protocol, for good: what others print goes to the errors.

    Also what stays in a buffer until the process ends.
    """
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    with own:
        yield own


def serve(caller: Caller, output: TextIO) -> None:
    """Answers until the client closes our input."""
    # A thread that waits for input can't be interrupted; writes are transactions, so ending at once loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve, caller, output)


async def _serve(caller: Caller, output: TextIO) -> None:
    limiter = CapacityLimiter(WORKERS)

    async def in_thread(work: Callable[[], Found]) -> Found:
        return await to_thread.run_sync(_with_fresh_connections, work, limiter=limiter)

    server = server_for(caller, in_thread)
    lines = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
    async with stdio_server(anyio.wrap_file(lines), anyio.wrap_file(output)) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _with_fresh_connections(work: Callable[[], Found]) -> Found:
    """As Django does around a request: connections that are broken or too old aren't used again."""
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()
