"""The agent tools (first document, section 5; second document, section 5): one record each, for every door.

Labels, descriptions and parameters are the documents'. The scope comes from the door, never from the arguments: extra
arguments are ignored. `run` always returns a JSON-ready object; a refusal is {"error": code, "message": sentence}.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from memory_app import registry, search, services
from memory_app.acting import Door, acting_as
from memory_app.contracts import SHARED, MemoryChanges, MemoryDraft, MemoryEntry, Scope, clean_text
from memory_app.exceptions import InvalidInput, MemoryNotFound, NetaclawError, Refused
from memory_app.models import MemoryType

Arguments = Mapping[str, Any]
Result = dict[str, Any]
NAME_FROM_CONTENT = 60
EXAMPLE = '{"action": "create", "type": "user", "name": "Tea", "content": "Drinks green tea in the morning."}'


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as models see it; `parameters` is a plain JSON Schema (no unions, no references)."""

    name: str
    label: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[[Scope, Arguments], Result]
    read_only: bool
    destructive: bool = False


def run(name: str, scope: Scope, arguments: Arguments | str | None) -> Result:
    """Runs a tool for the scope of its door; never raises for what a model sent or a store did."""
    try:
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            raise InvalidInput(
                _("There is no tool %(name)s; use one of: %(known)s.") % {"name": name, "known": ", ".join(TOOLS)}
            )
        if not registry.config_for(scope.agent_name).enabled:
            raise Refused(_("This agent's memory is switched off."))
        with acting_as(Door.TOOL, scope.agent_name):
            return tool.function(scope, _object(arguments, "arguments", EXAMPLE))
    except NetaclawError as error:
        return {"error": error.code, "message": error.message}


def dump(result: Result) -> str:
    """A tool's result as the compact JSON that models read; Chinese and emoji as themselves."""
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def memory_save(scope: Scope, arguments: Arguments) -> Result:
    """Creates, updates or deletes one of the user's own memories; tells honestly which of these happened."""
    if scope.user_id == SHARED:
        raise Refused(_("This conversation names no user, so nothing can be saved for one."))
    action = _text(arguments, "action") or "create"
    actions = {"create": _create, "update": _update, "delete": _delete}
    if action not in actions:
        message = _("action must be create, update or delete, as in %(example)s.")
        raise InvalidInput(message % {"example": EXAMPLE})
    return actions[action](scope, arguments)


def _create(scope: Scope, arguments: Arguments) -> Result:
    content = _text(arguments, "content") or _text(arguments, "description")
    if not content:
        raise InvalidInput(_("content is missing, as in %(example)s.") % {"example": EXAMPLE})
    draft = MemoryDraft(
        agent_name=scope.agent_name,
        user_id=scope.user_id,
        type=_text(arguments, "type") or "user",
        name=_text(arguments, "name") or title_of(content),
        content=content,
        description=_text(arguments, "description"),
        metadata=_object(arguments.get("metadata"), "metadata", '{"source": "chat"}'),
    )
    result = services.save(draft)
    return {"outcome": result.outcome.value, **_reference(result.memory)}


def _update(scope: Scope, arguments: Arguments) -> Result:
    given: dict[str, Any] = {
        name: text for name in ("name", "content", "description", "type") if (text := _text(arguments, name))
    }
    if arguments.get("metadata") is not None:
        given["metadata"] = _object(arguments["metadata"], "metadata", '{"source": "chat"}')
    memory = services.update(scope, _id(arguments), MemoryChanges(**given) if given else _nothing_to_change())
    return {"outcome": "updated", **_reference(memory)}


def _nothing_to_change() -> MemoryChanges:
    raise InvalidInput(
        _('Nothing to change: give the id and the new text, as in {"action": "update", "id": 12, "content": "…"}.')
    )


def _delete(scope: Scope, arguments: Arguments) -> Result:
    memory_id = _id(arguments)
    if not services.delete(scope, [memory_id]):
        _explain_undeleted(scope, memory_id)
    return {"outcome": "deleted", "id": memory_id}


def _explain_undeleted(scope: Scope, memory_id: int) -> None:
    if search.get(scope, memory_id):
        raise Refused(_("Memory %(id)s is shared by all users; only an operator may change it.") % {"id": memory_id})
    raise MemoryNotFound(_("This user has no memory %(id)s; nothing was deleted.") % {"id": memory_id})


def memory_recall(scope: Scope, arguments: Arguments) -> Result:
    """The memories for a query, best first, or the one of an id."""
    if arguments.get("id") not in (None, ""):
        memory = search.get(scope, _id(arguments))
        return {"memories": [_shown(memory)] if memory else []}
    if not isinstance(arguments.get("query"), str):
        raise InvalidInput(_('query is missing, as in {"query": "favourite tea", "limit": 5}.'))
    limit = _number(arguments, "limit", default=5)
    hits = search.recall(scope, _text(arguments, "query"), _text(arguments, "type"), limit)
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


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        value = str(value)
    return clean_text(value, name, limit=10**6).strip()


def _id(arguments: Arguments) -> int:
    if arguments.get("id") in (None, ""):
        raise InvalidInput(
            _('id is missing: give the id that memory_recall showed, as in {"action": "delete", "id": 12}.')
        )
    return _number(arguments, "id")


def _number(arguments: Arguments, name: str, default: int | None = None) -> int:
    """Models send 5, 5.0 and "5"; all mean five."""
    value = arguments.get(name)
    if value in (None, "") and default is not None:
        return default
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None or not number.is_integer() or not 0 < number < 2**53:
        raise InvalidInput(_("%(field)s must be a whole number from 1 on, such as 5.") % {"field": name})
    return int(number)


def _object(value: Any, name: str, example: str) -> Mapping[str, Any]:
    """An object, also when it comes as JSON text; None is an empty one."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = False
    if value in (None, ""):
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            _("%(field)s must be a JSON object, as in %(example)s.") % {"field": name, "example": example}
        )
    return value


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
