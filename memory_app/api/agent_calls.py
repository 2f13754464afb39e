"""`/api/`: the tools, prefetch and the system prompt for any runtime."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from memory_app import keys, search, tools
from memory_app.api.runtime import STATUSES, RuntimeView
from memory_app.contracts import SHARED, Hit, clean_text
from memory_app.exceptions import InvalidInput
from memory_app.models import MemoryType
from memory_app.prompt import extension, system_prompt
from memory_app.tool_arguments import whole_number
from memory_app.tool_shapes import SHAPES, shaped
from netaclaw.cool import as_object
from netaclaw.openapi import ANY_OBJECT, FLAG, ID, NUMBER, TEXT, many, obj, plain

MAX_PROMPT = 1_000_000
USER = OpenApiParameter(
    keys.USER_HEADER,
    {"type": "string", "example": "ann"},
    location=OpenApiParameter.HEADER,
    description="The user whom the call is about, URL-encoded UTF-8; not needed with a key that is bound to a user.",
)
SHAPE = OpenApiParameter("shape", {"type": "string", "enum": list(SHAPES), "default": "openai"})
NAME = OpenApiParameter("name", {"type": "string", "enum": list(tools.TOOLS)}, location=OpenApiParameter.PATH)
AT = {"type": "string", "format": "date-time"}
SHOWN = {"id": ID, "name": TEXT, "type": TEXT, "content": TEXT, "updatedAt": AT, "shared": FLAG}
RESULT = {
    "oneOf": [
        obj(
            "outcome id",
            outcome={"type": "string", "enum": ["created", "updated", "duplicate", "deleted"]},
            id=ID,
            name=TEXT,
            type=TEXT,
            updatedAt=AT,
        ),
        obj(
            "memories",
            memories=many(obj("id name type content updatedAt", **SHOWN, description=TEXT, metadata=ANY_OBJECT)),
        ),
        obj("types", types=many(obj("key name description", key=TEXT, name=TEXT, description=TEXT))),
        obj("total byType", total=NUMBER, byType={"type": "object", "additionalProperties": NUMBER}),
    ]
}
HIT = obj("id name type content score matched shared updatedAt", **SHOWN, score={"type": "number"}, matched=many(TEXT))
EXAMPLE_HIT = {
    "id": 12,
    "name": "花生过敏",
    "type": "user",
    "content": "用户对花生过敏。",
    "score": 3.2,
    "matched": ["花生"],
    "shared": False,
    "updatedAt": "2026-05-06T09:30:00.123456+00:00",
}
BLOCK = "<memory-context>\n以下是与当前对话可能相关的长期记忆：\n\n[user] 花生过敏\n用户对花生过敏。\n</memory-context>"
ENABLED = FLAG | {"description": "Whether the agent's memory is switched on."}
FAILURE = TEXT | {"description": 'Why the memory could not be searched in time; "" when it was. The turn goes on.'}
LIMIT = NUMBER | {"minimum": 1, "description": "At most so many memories; left out: as the agent's settings say."}
CHARACTERS = NUMBER | {"minimum": 1, "description": "At most so long a block; the installation's limit stands."}
PROMPT = obj(
    "systemPrompt extension block failure enabled",
    systemPrompt=TEXT,
    extension=TEXT,
    block=TEXT,
    failure=FAILURE,
    enabled=ENABLED,
)
EXAMPLE_PROMPT = {
    "systemPrompt": "You help.\n\n## 记忆系统\n…\n\n<memory-context>\n…\n</memory-context>",
    "extension": "## 记忆系统\n…",
    "block": BLOCK,
    "failure": "",
    "enabled": True,
}


class Tools(RuntimeView):
    """The tools that the key may run, in the shape that a model's API takes."""

    @plain(
        answer=obj("tools", tools=many(ANY_OBJECT)),
        parameters=[SHAPE],
        example={"tools": [SHAPES["openai"](tools.TOOLS["memory_list_types"])]},
    )
    def get(self, request: Request) -> Response:
        shape = request.query_params.get("shape") or "openai"
        return Response({"tools": shaped(shape, read_only=self.key.read_only)})


class RunTool(RuntimeView):
    """Runs a tool: the body is its arguments as the model sent them, the answer, also a refusal, is for the model."""

    @plain(
        answer=RESULT,
        body=ANY_OBJECT,
        parameters=[NAME, USER],
        requests={tool.name: json.loads(tool.example) for tool in tools.TOOLS.values()},
        example={"outcome": "created", "id": 12, "name": "Tea", "type": "user", "updatedAt": EXAMPLE_HIT["updatedAt"]},
    )
    def post(self, request: Request, name: str) -> Response:
        arguments: Any = request.data
        result = tools.run(name, self.scope(), arguments, read_only=self.key.read_only)
        return Response(result, status=STATUSES.get(result["error"], 400) if "error" in result else 200)


class Prefetch(RuntimeView):
    """What goes before the model for a user's message: the block to append to the system prompt, and its hits.

    It never fails for a store that does: the turn goes on without a block, and `failure` says why.
    """

    @plain(
        answer=obj(
            "block hits milliseconds failure enabled",
            block=TEXT | {"description": 'Fenced and escaped; "" when there is nothing to say.'},
            hits=many(HIT),
            milliseconds={"type": "number"},
            failure=FAILURE,
            enabled=ENABLED,
        ),
        body=obj("message", message=TEXT, limit=LIMIT, characters=CHARACTERS),
        parameters=[USER],
        requests={"Prefetch": {"message": "晚上吃什么？我有什么忌口吗？"}},
        example={"block": BLOCK, "hits": [EXAMPLE_HIT], "milliseconds": 3.1, "failure": "", "enabled": True},
    )
    def post(self, request: Request) -> Response:
        body = as_object(request.data)
        message = _message(body, required=True)
        scope = self.scope()
        turn = search.turn_of(scope.agent_name)
        turn = replace(
            turn,
            limit=whole_number(body, "limit", default=turn.limit),
            characters=min(turn.characters, whole_number(body, "characters", default=turn.characters)),
        )
        found = search.prefetch(scope, message, turn)
        return Response(
            {
                "block": found.block,
                "hits": [hit_row(hit) for hit in found.hits],
                "milliseconds": round(found.milliseconds, 3),
                "failure": found.failure,
                "enabled": turn.enabled,
            }
        )


class SystemPrompt(RuntimeView):
    """The whole system prompt: the agent's own, or the one that is sent, the instructions for the memory tools, and,
    for a message, the block. Without memory it is the prompt alone.
    """

    @plain(answer=PROMPT, example=EXAMPLE_PROMPT)
    def get(self, request: Request) -> Response:
        return Response(self._prompt({}))

    @plain(
        answer=PROMPT,
        body=obj(systemPrompt=TEXT, message=TEXT),
        parameters=[USER],
        requests={"SystemPrompt": {"systemPrompt": "You help.", "message": "晚上吃什么？"}},
        example=EXAMPLE_PROMPT,
    )
    def post(self, request: Request) -> Response:
        return Response(self._prompt(as_object(request.data)))

    def _prompt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        agent: Any = self.key.agent
        given = body.get("systemPrompt")
        base = agent.system_prompt if given is None else clean_text(given, "systemPrompt", MAX_PROMPT)
        message = _message(body, required=False)
        found = search.prefetch(self.scope(), message) if message else search.NOTHING
        enabled = search.turn_of(agent.name).enabled
        types = MemoryType.available()
        return {
            "systemPrompt": system_prompt(base, found.block, types) if enabled else base,
            "extension": extension(types) if enabled else "",
            "block": found.block,
            "failure": found.failure,
            "enabled": enabled,
        }


def _message(body: Mapping[str, Any], *, required: bool) -> str:
    given = body.get("message")
    if given is None and required:
        raise InvalidInput(_("message is missing, as in %(example)s.") % {"example": '{"message": "which tea?"}'})
    return "" if given is None else clean_text(given, "message", MAX_PROMPT)


def hit_row(hit: Hit) -> dict[str, Any]:
    """A hit for a program; scores are comparable within one answer only."""
    memory = hit.memory
    return {
        "id": memory.id,
        "name": memory.name,
        "type": memory.type,
        "content": memory.content,
        "score": hit.score,
        "matched": list(hit.matched),
        "shared": memory.user_id == SHARED,
        "updatedAt": memory.updated_at.isoformat(),
    }


urlpatterns = [
    path("tools", Tools.as_view()),
    path("tools/<str:name>", RunTool.as_view()),
    path("prefetch", Prefetch.as_view()),
    path("system-prompt", SystemPrompt.as_view()),
]
