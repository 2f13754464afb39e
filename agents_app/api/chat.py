"""`POST /api/netaclaw/chat`: a turn in a conversation (first document, section 6), whole or as server-sent events."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from agents_app import conversation
from agents_app.exceptions import AgentDisabled, ModelUnconfigured, TooManyChats
from memory_app import keys
from memory_app.acting import Door, become
from memory_app.exceptions import InvalidInput, NetaclawError, Refused, StoreUnavailable, UnknownAgent
from memory_app.models import AgentKey
from netaclaw.cool import FAILED, INVALID, BareToken, CoolView, failed, ok
from netaclaw.cool import handle as cool_handle
from netaclaw.openapi import ANY_OBJECT, FLAG, NUMBER, TEXT, many, obj

STATUSES: tuple[tuple[type[NetaclawError], int], ...] = (
    (TooManyChats, 503),
    (StoreUnavailable, 503),
    (UnknownAgent, 404),
    (AgentDisabled, 409),
    (ModelUnconfigured, 409),
    (Refused, 403),
    (InvalidInput, 400),
)
TIMEOUTS = ("turn_timeout", "model_timeout")


class KeyOrToken(BareToken):
    """An agent's key, or the token of an operator; both as `Authorization: Bearer …`."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        text = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if not text.startswith(keys.SIGN):
            return super().authenticate(request)
        key = keys.authenticate(text)
        if key is None:
            raise exceptions.AuthenticationFailed
        return AnonymousUser(), key


class KeyOrTokenScheme(OpenApiAuthenticationExtension):
    """The key or token in the OpenAPI document."""

    target_class = KeyOrToken
    name = "agentKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An agent's key (nck_…), or an operator's token."}


class MayChat(BasePermission):
    """An agent's key, or an operator who may change agents."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.auth, AgentKey) or request.user.has_perm("agents_app.change_agent")


class AsAsked(BaseContentNegotiation):
    """The view itself knows a wish for a stream; everything else is JSON."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


TOKENS_USED = obj("inputTokens outputTokens", inputTokens=NUMBER, outputTokens=NUMBER)
CALL = obj("id name arguments", id=TEXT, name=TEXT, arguments={}, result={})
RECALLED = obj("enabled", enabled=FLAG, hits=NUMBER, characters=NUMBER, milliseconds={"type": "number"}, failure=TEXT)
ANSWER = obj(
    "sessionId reply toolCalls memory usage model",
    sessionId=TEXT,
    reply=TEXT,
    toolCalls=many(CALL),
    memory=RECALLED,
    usage=TOKENS_USED,
    model=TEXT,
)
PROBLEM = obj(
    "code message",
    code={"type": "integer", "description": "1001: refused or failed; 1002: invalid."},
    message={"type": "string", "description": "A sentence for people, in the language of Accept-Language."},
    data=ANY_OBJECT
    | {"description": "`reason`: the stable code, for programs; after a failed turn what there was of the answer too."},
)
BODY = obj(
    "message",
    agentName={"type": "string", "description": "Needed with an operator's token; a key has its agent."},
    userId={"type": "string", "description": "Whose conversation it is; a key that is bound to a user has it."},
    sessionId={"type": "string", "description": "Goes on with a session; without it, a new one begins."},
    message={"type": "string", "minLength": 1, "maxLength": 65536},
    stream={"type": "boolean", "default": False, "description": "Server-sent events instead of a whole answer."},
)
EXAMPLE = {
    "sessionId": "5f0c…",
    "reply": "Noted: green tea in the morning.",
    "toolCalls": [
        {
            "id": "call_1",
            "name": "memory_save",
            "arguments": {"action": "create", "type": "user", "name": "Tea", "content": "Drinks green tea."},
            "result": {
                "outcome": "created",
                "id": 12,
                "name": "Tea",
                "type": "user",
                "updatedAt": "2026-05-06T09:30:00",
            },
        }
    ],
    "memory": {"enabled": True, "hits": 2, "characters": 210, "milliseconds": 3.1},
    "usage": {"inputTokens": 812, "outputTokens": 64},
    "model": "openai:gpt-5-mini",
}
EVENTS = (
    'event: memory\ndata: {"enabled": true, "hits": 2, "characters": 210, "milliseconds": 3.1}\n\n'
    'event: delta\ndata: {"text": "Noted", "step": 1}\n\n'
    'event: done\ndata: {"sessionId": "5f0c…", "model": "openai:gpt-5-mini", '
    '"usage": {"inputTokens": 812, "outputTokens": 64}}\n\n'
)


class Chat(CoolView):
    """Says something to an agent and answers what it says, with its memory before and its tools between.

    Streamed (`stream`, or `Accept: text/event-stream`) the answer is server-sent events: `memory`, then `delta`,
    `tool_call` and `tool_result` as they come, then `done` or `error`; comments between them keep the connection.
    """

    authentication_classes = [KeyOrToken]
    permission_classes = [MayChat]
    content_negotiation_class = AsAsked

    def get_exception_handler(self) -> Any:
        return handle

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        become(Door.CHAT, request.user.get_username())

    @extend_schema(
        request={"application/json": BODY},
        responses={
            (200, "application/json"): obj(
                "code message data", code={"type": "integer", "enum": [1000]}, message=TEXT, data=ANSWER
            ),
            (200, "text/event-stream"): {"type": "string"},
            **dict.fromkeys((400, 401, 403, 404, 409, 502, 503, 504), PROBLEM),
        },
        examples=[
            OpenApiExample(
                "Request",
                value={"agentName": "demo", "userId": "ann", "message": "I drink green tea in the morning."},
                request_only=True,
            ),
            OpenApiExample(
                "Answer",
                value={"code": 1000, "message": "success", "data": EXAMPLE},
                response_only=True,
                status_codes=["200"],
                media_type="application/json",
            ),
            OpenApiExample(
                "Events", value=EVENTS, response_only=True, status_codes=["200"], media_type="text/event-stream"
            ),
        ],
    )
    def post(self, request: Request) -> Response | StreamingHttpResponse:
        # Loading the model library takes a second or more: those who never chat don't wait for it.
        from agents_app import sse
        from agents_app.runtime import Asking, Turn

        body = self.body()
        streamed = body.get("stream", False) is True or "text/event-stream" in request.headers.get("Accept", "")
        key = request.auth if isinstance(request.auth, AgentKey) else None
        session, message = session_for(key, body), conversation.clean_message(body.get("message"))
        turn = Turn(Asking(session, message, read_only=key is not None and key.read_only))
        if streamed:
            return streaming(sse.Stream(turn, for_operator=key is None))
        answer, failure = sse.whole(turn, for_operator=key is None)
        if failure is None:
            return ok(answer)
        status = 504 if failure.error.code in TIMEOUTS else 502
        return failed(failure.error.message, status=status, data=answer)


def session_for(key: AgentKey | None, body: dict[str, Any]) -> conversation.Session:
    """The session of a request; raises Refused where a key is bound to another agent or user."""
    agent, user = body.get("agentName") or "", body.get("userId") or ""
    if key is not None:
        if agent not in ("", key.agent.name):
            raise Refused(_("This key is of another agent; leave agentName out, or use that agent's key."))
        if key.user_id and user not in ("", key.user_id):
            raise Refused(_("This key is bound to another user; leave userId out, or use another key."))
        agent, user = key.agent.name, key.user_id or user
    return conversation.session_of(agent, user, body.get("sessionId"))


def streaming(stream: Any) -> StreamingHttpResponse:
    """The response for a stream; nothing on the way is to hold it back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(stream, content_type="text/event-stream; charset=utf-8", headers=headers)


def handle(error: Exception, context: Any) -> Response:
    """As the contract answers, but with the HTTP status that programs go by, and the reason's code."""
    if not isinstance(error, NetaclawError):
        return cool_handle(error, context)
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 400)
    code = INVALID if isinstance(error, InvalidInput) else FAILED
    response = failed(error.message, code=code, status=status, data={"reason": error.code})
    if isinstance(error, TooManyChats):
        response["Retry-After"] = str(error.retry_after)
    return response
