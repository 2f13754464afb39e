"""A model's HTTP server for tests: speaks OpenAI's chat completions and Anthropic's messages, streams and all.

What it answers is scripted: `server.script` is called with each Asked, which is the same whichever format it came in,
and gives a Reply. What was asked is kept in `server.asked`.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request in the terms of both formats."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def is_anthropic(self) -> bool:
        return self.path.endswith("/messages")

    @property
    def systems(self) -> list[str]:
        """Every system message; there must never be two."""
        if self.is_anthropic:
            given = self.body.get("system", [])
            texts = [given] if isinstance(given, str) else [block["text"] for block in given]
        else:
            texts = []
        inside = [m["content"] for m in self.body["messages"] if m["role"] in ("system", "developer")]
        return texts + [text if isinstance(text, str) else text[0]["text"] for text in inside]

    @property
    def system(self) -> str:
        [only] = self.systems
        return only

    @property
    def said(self) -> list[tuple[str, str]]:
        """Role and text of every message that is no system message; a tool's call or result in brackets."""
        return [
            (m["role"], text) for m in self.body["messages"] if m["role"] not in ("system", "developer")
            for text in _texts(m)
        ]  # fmt: skip

    @property
    def last(self) -> tuple[str, str]:
        return self.said[-1]

    @property
    def results(self) -> list[str]:
        """The results of tools, as they were sent."""
        return [text[len("[result] ") :] for _role, text in self.said if text.startswith("[result] ")]

    @property
    def tools(self) -> dict[str, Any]:
        """The schemas of the tools by name."""
        if self.is_anthropic:
            return {tool["name"]: tool["input_schema"] for tool in self.body.get("tools", [])}
        return {tool["function"]["name"]: tool["function"]["parameters"] for tool in self.body.get("tools", [])}


def _texts(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content") or []
    if message["role"] == "tool":
        yield f"[result] {content}"
        return
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_use":
            yield f"[call] {block['name']} {json.dumps(block['input'], ensure_ascii=False)}"
        elif block["type"] == "tool_result":
            inner = block["content"]
            yield f"[result] {inner if isinstance(inner, str) else inner[0]['text']}"
    for call in message.get("tool_calls") or []:
        yield f"[call] {call['function']['name']} {call['function']['arguments']}"


@dataclass(frozen=True)
class Reply:
    """What the model answers: text in pieces, calls of tools, or something going wrong.

    `wait` seconds pass before the answer; `broken` ends the stream after the text without its end; `stays_open` keeps
    it open until the client leaves.
    """

    text: tuple[str, ...] = ()
    calls: tuple[tuple[str, Any], ...] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0
    broken: bool = False
    stays_open: bool = False


def says(*text: str, **more: Any) -> Reply:
    return Reply(text=text, **more)


def calls(name: str, /, **arguments: Any) -> Reply:
    return Reply(calls=((name, arguments),))


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True
    script: Callable[[Asked], Reply]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.left = threading.Event()
        self.script = lambda asked: says("ok")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def replies(self, *replies: Reply) -> None:
        """Answers with these in their order, the last one for ever."""
        left = list(replies)
        self.script = lambda asked: left.pop(0) if len(left) > 1 else left[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.left.set()


@contextmanager
def running() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.server.asked.append(asked)
        reply = self.server.script(asked)
        time.sleep(reply.wait)
        if reply.status != 200:
            self._refuse(asked, reply)
        elif not body.get("stream"):
            self._refuse(asked, Reply(text=("this server streams",), status=400))
        else:
            self._stream(asked, reply)

    def _refuse(self, asked: Asked, reply: Reply) -> None:
        kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(
            reply.status, "api_error"
        )
        error = {"type": kind, "message": "".join(reply.text) or "no"}
        body = {"type": "error", "error": error} if asked.is_anthropic else {"error": error | {"code": None}}
        self._send(reply.status, json.dumps(body).encode(), reply.headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, asked: Asked, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in _anthropic_events(asked, reply) if asked.is_anthropic else _openai_events(asked, reply):
            self._chunk(event)
        while reply.stays_open:
            time.sleep(0.02)
            self._chunk(": still here\n\n")
        if reply.broken:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _numbered(reply: Reply) -> Iterator[tuple[str, str, str]]:
    for number, (name, arguments) in enumerate(reply.calls):
        sent = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield f"call_{time.monotonic_ns()}_{number}", name, sent


def _openai_events(asked: Asked, reply: Reply) -> Iterator[str]:
    def event(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": asked.body["model"],
                      "choices": [choice]})  # fmt: skip

    yield event({"role": "assistant", "content": ""})
    for piece in reply.text:
        yield event({"content": piece})
    for number, (key, name, sent) in enumerate(_numbered(reply)):
        yield event({"tool_calls": [{"index": number, "id": key, "type": "function",
                                     "function": {"name": name, "arguments": ""}}]})  # fmt: skip
        for half in (sent[: len(sent) // 2], sent[len(sent) // 2 :]):
            yield event({"tool_calls": [{"index": number, "function": {"arguments": half}}]})
    if reply.broken or reply.stays_open:
        return
    yield event({}, "tool_calls" if reply.calls else "stop")
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    yield _data({"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": asked.body["model"],
                 "choices": [], "usage": usage})  # fmt: skip
    yield "data: [DONE]\n\n"


def _anthropic_events(asked: Asked, reply: Reply) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\n" + _data({"type": kind, **fields})

    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.body["model"], "content": [],
               "stop_reason": None, "stop_sequence": None,
               "usage": {"input_tokens": 100, "output_tokens": 1}}  # fmt: skip
    yield event("message_start", message=message)
    index = 0
    if reply.text:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in reply.text:
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        if reply.broken or reply.stays_open:
            return
        yield event("content_block_stop", index=0)
        index = 1
    for key, name, sent in _numbered(reply):
        block = {"type": "tool_use", "id": key, "name": name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for half in (sent[: len(sent) // 2], sent[len(sent) // 2 :]):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": half})
        yield event("content_block_stop", index=index)
        index += 1
    if reply.broken or reply.stays_open:
        return
    stop = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=stop, usage={"output_tokens": 7})
    yield event("message_stop")


def _data(value: Any) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
