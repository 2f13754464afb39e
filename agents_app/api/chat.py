"""`POST /api/netaclaw/chat`: a turn in a conversation (first document, section 6), whole or as server-sent events."""

from collections.abc import Mapping
from typing import Any, cast

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from agents_app import conversation
from agents_app.exceptions import TooManyChats
from memory_app import keys
from memory_app.acting import Door, become
from memory_app.api.keys import AgentKeyAuthentication
from memory_app.api.runtime import RuntimeView, refusal
from memory_app.api.runtime import handle as handle_others
from memory_app.exceptions import Refused
from memory_app.models import AgentKey
from netaclaw.cool import BareToken, as_object
from netaclaw.openapi import FLAG, NUMBER, REFUSAL, REFUSALS, TEXT, many, obj

MODEL_FAILED, MODEL_SLOW = 502, 504
STATUSES = {"agent_disabled": 409, "model_unconfigured": 409, "busy": 503}
EITHER: Any = [{"agentKey": []}, {"token": []}]  # the names of both in the OpenAPI document
TIMEOUTS = ("turn_timeout", "model_timeout")


class KeyOrToken(BaseAuthentication):
    """An agent's key, or the token of an operator."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        text = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if text.startswith(keys.SIGN):
            return AgentKeyAuthentication().authenticate(request)
        try:
            return BareToken().authenticate(request)
        except exceptions.AuthenticationFailed:
            message = _("This is neither an agent's key nor a good token; send one, as in Authorization: Bearer nck_….")
            raise exceptions.AuthenticationFailed(message) from None

    def authenticate_header(self, request: Request) -> str:
        """Makes DRF answer 401."""
        return "Bearer"


class MayChat(BasePermission):
    """An agent's key, or an operator who may change agents."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.auth is None:
            raise exceptions.NotAuthenticated(_("Send an agent's key, as in Authorization: Bearer nck_…."))
        return isinstance(request.auth, AgentKey) or request.user.has_perm("agents_app.change_agent")


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
FAILED_TURN = obj(
    "error message",
    error={"type": "string", "description": "A code for programs, such as model_timeout or too_many_steps."},
    message={"type": "string", "description": "A sentence for people, in the language of Accept-Language."},
    sessionId=TEXT,
    reply={"type": "string", "description": "What the model had said before."},
    toolCalls=many(CALL),
    memory=RECALLED,
    usage=TOKENS_USED,
    detail={"type": "string", "description": "The provider's own word, for operators only."},
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


class Chat(RuntimeView):
    """Says something to an agent and answers what it says, with its memory before and its tools between.

    Streamed (`stream`, or `Accept: text/event-stream`) the answer is server-sent events: `memory`, then `delta`,
    `tool_call` and `tool_result` as they come, then `done` or `error`; comments between them keep the connection.
    """

    authentication_classes = [KeyOrToken]
    permission_classes = [MayChat]

    def get_exception_handler(self) -> Any:
        return handle

    def become_caller(self) -> None:
        key = self.request.auth
        become(Door.CHAT, key.name if isinstance(key, AgentKey) else self.request.user.get_username())

    @extend_schema(
        request={"application/json": BODY},
        responses={
            (200, "application/json"): ANSWER,
            (200, "text/event-stream"): {"type": "string"},
            **dict.fromkeys(REFUSALS, REFUSAL),
            **dict.fromkeys((MODEL_FAILED, MODEL_SLOW), FAILED_TURN),
        },
        examples=[
            OpenApiExample(
                "Request",
                value={"agentName": "demo", "userId": "ann", "message": "I drink green tea in the morning."},
                request_only=True,
            ),
            OpenApiExample(
                "Answer", value=EXAMPLE, response_only=True, status_codes=["200"], media_type="application/json"
            ),
            OpenApiExample(
                "Events", value=EVENTS, response_only=True, status_codes=["200"], media_type="text/event-stream"
            ),
        ],
        tags=["agents"],
        auth=EITHER,
    )
    def post(self, request: Request) -> Response | StreamingHttpResponse:
        # Loading the model library takes a second or more: those who never chat don't wait for it.
        from agents_app import telling
        from agents_app.runtime import Asking, Turn

        body = as_object(request.data)
        streamed = body.get("stream") is True or "text/event-stream" in request.headers.get("Accept", "")
        key = request.auth if isinstance(request.auth, AgentKey) else None
        session = session_for(key, body, request.headers.get(keys.USER_HEADER, ""))
        message = conversation.clean_message(body.get("message"))
        turn = Turn(Asking(session, message, read_only=key is not None and key.read_only))
        if streamed:
            return streaming(telling.Stream(turn, for_operator=key is None))
        answer, code = telling.whole(turn, for_operator=key is None)
        return Response(answer, status=_status(code) if code else 200)


def session_for(key: AgentKey | None, body: Mapping[str, Any], header: str) -> conversation.Session:
    """The session of a request; raises Refused where a key is of another agent or user."""
    agent, user = body.get("agentName"), body.get("userId")
    if key is not None:
        name = cast(Any, key.agent).name
        if agent not in (None, "", name):
            raise Refused(_("This key is of another agent; leave agentName out, or use that agent's key."))
        if key.user_id and user not in (None, "", key.user_id):
            raise Refused(_("This key is bound to another user; leave userId out, or use another key."))
        agent = name
        user = keys.scope_of(key, header).user_id if user in (None, "") and (header or key.user_id) else user
    return conversation.session_of(agent, "" if user is None else user, body.get("sessionId"))


def streaming(stream: Any) -> StreamingHttpResponse:
    """The response for a stream; nothing on the way is to hold it back."""
    return StreamingHttpResponse(
        stream, content_type="text/event-stream; charset=utf-8", headers={"X-Accel-Buffering": "no"}
    )


def _status(code: str) -> int:
    return MODEL_SLOW if code in TIMEOUTS else MODEL_FAILED


def handle(error: Exception, context: Any) -> Response:
    """As all calls of agents answer, and for a full house when to come back."""
    code = getattr(error, "code", "")
    if code not in STATUSES:
        return handle_others(error, context)
    again = {"Retry-After": str(error.retry_after)} if isinstance(error, TooManyChats) else None
    return refusal(code, str(error), STATUSES[code], again)
