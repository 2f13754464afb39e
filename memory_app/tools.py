"""The agent tools (first document, section 5; second document, section 5): one record each, for every door.

Labels, descriptions and parameters are the documents'. The scope comes from the door, never from the arguments: extra
arguments are ignored. `run` always returns a JSON-ready object; a refusal is {"error": code, "message": sentence}.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from memory_app import registry, search, services
from memory_app.acting import Door, acting_as, actor
from memory_app.contracts import SHARED, MemoryChanges, MemoryDraft, MemoryEntry, Scope
from memory_app.exceptions import InvalidInput, MemoryNotFound, NetaclawError, Refused, UnknownTool
from memory_app.models import MemoryType
from memory_app.tool_arguments import (
    CREATE,
    DELETE,
    METADATA,
    RECALL,
    UPDATE,
    Arguments,
    id_of,
    is_given,
    json_object,
    text_of,
    type_key,
    whole_number,
)

Result = dict[str, Any]
NAME_FROM_CONTENT = 60


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as models see it; `parameters` is a plain JSON Schema (no unions, no references).

    `idempotent` says that the same call once more changes nothing further; `example` is the arguments of a right call.
    """

    name: str
    label: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[[Scope, Arguments], Result]
    read_only: bool
    destructive: bool = False
    idempotent: bool = True
    example: str = "{}"


def run(name: str, scope: Scope, arguments: Arguments | str | None, *, read_only: bool = False) -> Result:
    """Runs a tool for the scope of its door; never raises for what a model sent or a store did.

    A `read_only` caller is refused the tools that write.
    """
    try:
        tool = _named(name)
        if read_only and not tool.read_only:
            raise Refused(_("This access is read-only: %(name)s is not for it.") % {"name": name})
        if not registry.config_for(scope.agent_name).enabled:
            raise Refused(_("This agent's memory is switched off."))
        with _acting(scope):
            return tool.function(scope, json_object(arguments, "arguments", tool.example))
    except NetaclawError as error:
        return {"error": error.code, "message": error.message}


def offered(*, read_only: bool = False) -> Sequence[Tool]:
    """The tools that a caller may run."""
    return [tool for tool in TOOLS.values() if tool.read_only or not read_only]


def _named(name: str) -> Tool:
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None:
        known = {"name": str(name)[:100], "known": ", ".join(TOOLS)}
        raise UnknownTool(_("There is no tool %(name)s; use one of: %(known)s.") % known)
    return tool


def _acting(scope: Scope) -> AbstractContextManager[None]:
    """The agent itself acts, unless the door has said who does."""
    return acting_as(Door.TOOL, scope.agent_name) if actor().door is Door.SYSTEM else nullcontext()


def dump(result: Result) -> str:
    """A tool's result as the compact JSON that models read; Chinese and emoji as themselves."""
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def memory_save(scope: Scope, arguments: Arguments) -> Result:
    """Creates, updates or deletes one of the user's own memories; tells honestly which of these happened."""
    if scope.user_id == SHARED:
        raise Refused(_("This conversation names no user, so nothing can be saved for one."))
    action = text_of(arguments, "action").lower() or ("" if is_given(arguments, "id") else "create")
    actions = {"create": _create, "update": _update, "delete": _delete}
    if action not in actions:
        message = _("action must be create, update or delete, as in %(example)s.")
        raise InvalidInput(message % {"example": CREATE})
    return actions[action](scope, arguments)


def _create(scope: Scope, arguments: Arguments) -> Result:
    content = text_of(arguments, "content") or text_of(arguments, "description")
    if not content:
        raise InvalidInput(_("content is missing, as in %(example)s.") % {"example": CREATE})
    draft = MemoryDraft(
        agent_name=scope.agent_name,
        user_id=scope.user_id,
        type=type_key(arguments) or "user",
        name=text_of(arguments, "name") or title_of(content),
        content=content,
        description=text_of(arguments, "description"),
        metadata=json_object(arguments.get("metadata"), "metadata", METADATA),
    )
    result = services.save(draft)
    return {"outcome": result.outcome.value, **_reference(result.memory)}


def _update(scope: Scope, arguments: Arguments) -> Result:
    given: dict[str, Any] = {
        name: text for name in ("name", "content", "description") if (text := text_of(arguments, name))
    }
    given |= {"type": key} if (key := type_key(arguments)) else {}
    if is_given(arguments, "metadata"):
        given["metadata"] = json_object(arguments["metadata"], "metadata", METADATA)
    memory_id = id_of(arguments, UPDATE)
    if not given:
        message = _("Nothing to change: give the id and the new text, as in %(example)s.")
        raise InvalidInput(message % {"example": UPDATE})
    memory = services.update(scope, memory_id, MemoryChanges(**given))
    return {"outcome": "updated", **_reference(memory)}


def _delete(scope: Scope, arguments: Arguments) -> Result:
    memory_id = id_of(arguments, DELETE)
    if not services.delete(scope, [memory_id]):
        _explain_undeleted(scope, memory_id)
    return {"outcome": "deleted", "id": memory_id}


def _explain_undeleted(scope: Scope, memory_id: int) -> None:
    if search.get(scope, memory_id):
        raise Refused(_("Memory %(id)s is shared by all users; only an operator may change it.") % {"id": memory_id})
    raise MemoryNotFound(_("This user has no memory %(id)s; nothing was deleted.") % {"id": memory_id})


def memory_recall(scope: Scope, arguments: Arguments) -> Result:
    """The memories for a query, best first, or the one of an id."""
    if is_given(arguments, "id"):
        memory = search.get(scope, id_of(arguments, '{"id": 12}'))
        return {"memories": [_shown(memory)] if memory else []}
    if arguments.get("query") is None:
        raise InvalidInput(_("query is missing, as in %(example)s.") % {"example": RECALL})
    limit = whole_number(arguments, "limit", default=5)
    hits = search.recall(scope, text_of(arguments, "query"), type_key(arguments), limit)
    return {"memories": [_shown(hit.memory) for hit in hits]}


def memory_list_types(scope: Scope, arguments: Arguments) -> Result:
    """The types a memory may have (second document, section 5.2)."""
    return {
        "types": [
            {name: getattr(info, name) for name in ("key", "name", "description")} for info in MemoryType.available()
        ]
    }


def memory_stats(scope: Scope, arguments: Arguments) -> Result:
    """How many memories this user has, by type, shared ones included (second document, section 5.5)."""
    by_type = search.count_by_type(scope)
    return {"total": sum(by_type.values()), "byType": dict(by_type)}


def title_of(content: str) -> str:
    """A title for a memory that came without one: the beginning of its first line."""
    line = next((line.strip() for line in content.splitlines() if line.strip()), content)
    return line if len(line) <= NAME_FROM_CONTENT else line[: NAME_FROM_CONTENT - 1] + "…"


def _reference(memory: MemoryEntry) -> Result:
    return {"id": memory.id, "name": memory.name, "type": memory.type, "updatedAt": memory.updated_at.isoformat()}


def _shown(memory: MemoryEntry) -> Result:
    shown = _reference(memory) | {"content": memory.content}
    optional = {"description": memory.description, "metadata": memory.metadata, "shared": memory.user_id == SHARED}
    return shown | {name: value for name, value in optional.items() if value}


def _schema(required: tuple[str, ...] = (), **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_TYPE = {
    "type": "string",
    "description": "记忆类型，可用类型见 memory_list_types，例如 user、project、feedback、reference",
}

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="memory_save",
            label="保存记忆",
            description="存储、更新或删除长期记忆。记忆会在未来对话中自动召回。",
            parameters=_schema(
                ("action",),
                action={"type": "string", "enum": ["create", "update", "delete"], "description": "操作"},
                name={"type": "string", "description": "记忆标题"},
                type=_TYPE,
                content={"type": "string", "description": "记忆正文"},
                description={"type": "string", "description": "一行描述"},
                id={"type": "number", "description": "更新/删除时的记忆 ID"},
                metadata={"type": "object", "description": "附加信息（JSON 对象）"},
            ),
            function=memory_save,
            read_only=False,
            destructive=True,
            example=CREATE,
        ),
        Tool(
            name="memory_recall",
            label="检索记忆",
            description="搜索长期记忆中的相关信息。",
            parameters=_schema(
                query={"type": "string", "description": "搜索关键词"},
                id={"type": "number", "description": "记忆 ID，精确查询"},
                type=_TYPE,
                limit={"type": "number", "description": "返回条数，默认 5", "default": 5},
            ),
            function=memory_recall,
            read_only=True,
            example=RECALL,
        ),
        Tool(
            name="memory_list_types",
            label="记忆类型",
            description="列出可用的记忆类型。",
            parameters=_schema(),
            function=memory_list_types,
            read_only=True,
        ),
        Tool(
            name="memory_stats",
            label="记忆统计",
            description="统计当前用户已存储的记忆：总数和各类型数量。",
            parameters=_schema(),
            function=memory_stats,
            read_only=True,
        ),
    )
}
