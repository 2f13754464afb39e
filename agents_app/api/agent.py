"""`/admin/netaclaw/agent/`: the agents with `config.memory` in the document's shape (first document, section 8.1)."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from agents_app import services
from agents_app.filters import AgentFilter
from agents_app.models import Agent
from memory_app.exceptions import InvalidInput
from netaclaw.cool import ok, shown_time
from netaclaw.crud import (
    Action,
    Column,
    Entity,
    ModelAdd,
    ModelInfo,
    ModelList,
    ModelPage,
    ModelView,
    ids_of,
    required_id,
)
from netaclaw.openapi import (
    AGENT,
    AGENT_MEMORY,
    FLAG,
    ID,
    IDS,
    NUMBER,
    PAGING,
    TEXT,
    described,
    many,
    obj,
    on,
    one_or_many,
    page_of,
)

FIELDS = {
    "name": "name",
    "label": "label",
    "description": "description",
    "systemPrompt": "system_prompt",
    "provider": "provider",
    "model": "model",
    "baseUrl": "base_url",
    "enabled": "enabled",
}
MEMORY = {
    "enabled": "enabled",
    "backend": "backend",
    "sqlitePath": "sqlite_path",
    "database": "database",
    "prefetchLimit": "prefetch_limit",
}


def agent_row(agent: Any) -> dict[str, Any]:
    """An agent's fields in camelCase, its memory section in `config.memory`."""
    memory = {name: getattr(agent.memory, field) for name, field in MEMORY.items()}
    return {
        "id": agent.pk,
        **{name: getattr(agent, field) for name, field in FIELDS.items()},
        "config": {**agent.config, "memory": memory},
        "createTime": shown_time(agent.create_time),
        "updateTime": shown_time(agent.update_time),
    }


class _Agents(ModelView):
    model = Agent
    filters = AgentFilter
    row = staticmethod(agent_row)
    sortable = {
        "id": "id",
        "name": "name",
        "label": "label",
        "enabled": "enabled",
        "createTime": "create_time",
        "updateTime": "update_time",
    }
    permission: str | tuple[str, ...] = "agents_app.view_agent"

    def rows(self) -> QuerySet[Agent]:
        return Agent.objects.filter(memory__isnull=False).select_related("memory")


EXAMPLE: dict[str, Any] = {
    "id": 1,
    "name": "demo",
    "label": "示例",
    "description": "",
    "systemPrompt": "你是一位贴心的助理。",
    "provider": "openai",
    "model": "",
    "baseUrl": "",
    "enabled": True,
    "config": {"memory": {"enabled": True, "backend": "sqlite", "sqlitePath": "", "database": "", "prefetchLimit": 5}},
    "createTime": "2026-05-06 09:30:00.123456",
    "updateTime": "2026-05-06 09:30:00.123456",
}
WRITABLE = {name: TEXT for name in FIELDS if name != "enabled"} | {
    "enabled": FLAG,
    "config": {"type": "object", "properties": {"memory": AGENT_MEMORY}},
}
FILTERS = {"name": one_or_many(TEXT), "enabled": FLAG, "backend": one_or_many(TEXT), "keyWord": TEXT}


@on(
    post=described(
        body=obj(**PAGING, **FILTERS),
        data=page_of(AGENT),
        example={"page": 1, "size": 20},
        answer={"list": [EXAMPLE], "pagination": {"page": 1, "size": 20, "total": 1}},
    )
)
class Page(_Agents, ModelPage):
    """One page of agents."""


@on(post=described(body=obj(**FILTERS), data=many(AGENT), example={}, answer=[EXAMPLE]))
class List(_Agents, ModelList):
    """All agents, for a choice."""


@on(get=described(query={"id": ID}, data=AGENT, answer=EXAMPLE))
class Info(_Agents, ModelInfo):
    """One agent."""


@on(
    post=described(
        body=one_or_many(obj("name", **WRITABLE)),
        data=obj("id", id=one_or_many(ID)),
        example={"name": "sales", "label": "销售", "config": {"memory": {"prefetchLimit": 5}}},
        answer={"id": 2},
    )
)
class Add(ModelAdd):
    """Makes an agent, or several."""

    permission = "agents_app.add_agent"

    def made(self, given: Sequence[dict[str, Any]]) -> Sequence[Agent]:
        return services.add_agents([_fields(item) for item in given])


class Update(_Agents):
    """Edits an agent; its name never changes, and fields left out stay as they are."""

    permission = "agents_app.change_agent"

    @described(body=obj("id", id=ID, **WRITABLE), data=None, example={"id": 2, "label": "Sales"})
    def post(self, request: Request) -> Response:
        body = self.body()
        services.update_agent(self.one(required_id(body)), **_fields(body))
        return ok()


class Delete(_Agents):
    """Deletes agents with all their memories, and tells how many memories there were."""

    permission = ("agents_app.delete_agent", "memory_app.delete_memory")

    @described(
        body=obj("ids", ids=IDS),
        data=obj("deleted memories", deleted=NUMBER, memories=NUMBER),
        example={"ids": [2]},
        answer={"deleted": 1, "memories": 9},
    )
    def post(self, request: Request) -> Response:
        doomed = list(self.rows().filter(pk__in=ids_of(self.body())))
        memories = sum(services.delete_agent(agent) for agent in doomed)
        return ok({"deleted": len(doomed), "memories": memories})


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    """The agent's own fields, the rest of its `config`, and its memory section under `memory`."""
    given = {field: body[name] for name, field in FIELDS.items() if name in body}
    given = {field: "" if value is None else value for field, value in given.items()}
    config = body.get("config")
    if config in (None, ""):
        return given
    if not isinstance(config, dict) or not isinstance(config.get("memory", {}), dict):
        message = _('config must be an object such as {"memory": {"enabled": true, "backend": "sqlite"}}.')
        raise InvalidInput(message)
    memory = config.get("memory", {})
    given["config"] = {name: value for name, value in config.items() if name != "memory"}
    given["memory"] = {field: memory[name] for name, field in MEMORY.items() if memory.get(name) is not None}
    return given


ENTITY = Entity(
    name="agent",
    description="智能体",
    actions=(
        Action("page", Page, "分页查询"),
        Action("list", List, "列表查询"),
        Action("info", Info, "单个信息", "get"),
        Action("add", Add, "新增"),
        Action("update", Update, "修改"),
        Action("delete", Delete, "删除"),
    ),
    columns=(
        Column("id", "bigint", "ID"),
        Column("name", "varchar", "名称", "100"),
        Column("label", "varchar", "显示名", "100"),
        Column("description", "varchar", "描述", "500"),
        Column("systemPrompt", "longtext", "系统提示词"),
        Column("provider", "varchar", "模型供应商", "50"),
        Column("model", "varchar", "模型", "100"),
        Column("baseUrl", "varchar", "接口地址", "200"),
        Column("enabled", "tinyint", "启用"),
        Column("config", "json", "配置"),
        Column("createTime", "datetime", "创建时间"),
        Column("updateTime", "datetime", "更新时间"),
    ),
    equal=("name", "enabled"),
    like=("name", "label", "description"),
)
