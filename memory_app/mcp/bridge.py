"""One HTTP exchange with the SDK's transport, from a thread of a WSGI server.

Each exchange has an event loop of its own, in a thread of its own, for its few milliseconds; what reads and writes runs
in the WSGI thread meanwhile, on the connections that this thread keeps. So no call waits for another one's loop.
"""

from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

import anyio
from asgiref.sync import async_to_sync, sync_to_async
from django.http import HttpRequest, HttpResponse
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from memory_app.mcp.server import Caller, server_for

Found = TypeVar("Found")
Event = MutableMapping[str, Any]


def exchanged(caller: Caller, request: HttpRequest) -> HttpResponse:
    """The transport's answer to a request of this caller: one JSON body, without a session."""
    return async_to_sync(_exchange)(caller, _scope(request), request.body)


async def _exchange(caller: Caller, scope: Event, body: bytes) -> HttpResponse:
    manager = StreamableHTTPSessionManager(server_for(caller, _in_wsgi_thread), json_response=True, stateless=True)
    wire = _Wire(body)
    async with manager.run():
        await manager.handle_request(scope, wire.receive, wire.send)
    return wire.response()


async def _in_wsgi_thread(work: Callable[[], Found]) -> Found:
    return await sync_to_async(work, thread_sensitive=True)()


class _Wire:
    """The two ends of an ASGI exchange."""

    def __init__(self, body: bytes) -> None:
        self._unread: list[Event] = [{"type": "http.request", "body": body, "more_body": False}]
        self._start: Event = {}
        self._body = bytearray()

    async def receive(self) -> Event:
        """The whole body at once, and then nothing more: nobody hangs up."""
        if self._unread:
            return self._unread.pop()
        await anyio.sleep_forever()
        raise AssertionError("forever has ended")

    async def send(self, event: Event) -> None:
        """Keeps what is answered."""
        if event["type"] == "http.response.start":
            self._start = event
        else:
            self._body += event.get("body", b"")

    def response(self) -> HttpResponse:
        """What was answered."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in self._start["headers"]}
        kind = headers.pop("content-type", "text/plain")
        return HttpResponse(bytes(self._body), status=self._start["status"], content_type=kind, headers=headers)


def _scope(request: HttpRequest) -> Event:
    """The request as ASGI has it, without what authenticates it."""
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in request.headers.items()
        if name not in ("Authorization", "Cookie")
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "client": None,
        "server": None,
    }
