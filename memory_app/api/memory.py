"""`/admin/netaclaw/memory/` (second document, section 3.5): memories of all stores, identified by {agentName, id}."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from memory_app import search, services
from memory_app.contracts import AgentStatistics, Backend, MemoryChanges, MemoryDraft, MemoryEntry, Scope
from memory_app.exceptions import InvalidInput
from memory_app.filters import filtered
from memory_app.tools import title_of
from netaclaw.cool import CoolView, memory_row, ok, shown_time, sorting, version_of
from netaclaw.crud import Action, Column, Entity, each, ids_of, page_numbers, required_id
from netaclaw.openapi import (
    ANY_OBJECT,
    FLAG,
    ID,
    IDS,
    MEMORY,
    NUMBER,
    PAGING,
    TEXT,
    TIME,
    described,
    many,
    nullable,
    obj,
    one_or_many,
    page_of,
)

SORTABLE = {
    "id": "id",
    "agentName": "agent_name",
    "userId": "user_id",
    "type": "type",
    "name": "name",
    "content": "content",
    "description": "description",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "createTime": "created_at",
    "updateTime": "updated_at",
}
EXAMPLE: dict[str, Any] = {
    "id": 12,
    "agentName": "demo",
    "userId": "demo-user",
    "type": "user",
    "name": "花生过敏",
    "content": "用户对花生过敏。",
    "description": "饮食禁忌",
    "metadata": {"source": "chat"},
    "createdAt": "2026-05-06 09:30:00.123456",
    "updatedAt": "2026-05-06 09:30:00.123456",
}
WRITABLE = {
    "agentName": TEXT,
    "userId": TEXT,
    "type": TEXT,
    "name": TEXT,
    "content": TEXT,
    "description": TEXT,
    "metadata": nullable(ANY_OBJECT),
}
DAYS = (
    "Days in the installation's time zone: today, 7d, 30d, 90d, a day such as 2026-11-03, or a range such as"
    " 2026-11-01..2026-11-30, of which either end may be left out."
)
CHANGEABLE = ("name", "content", "description", "type", "metadata")


class Page(CoolView):
    """One page of memories, of one agent or over all stores; stores that can't be read are named in `unavailable`."""

    permission = "memory_app.view_memory"

    @described(
        body=obj(
            **PAGING,
            agentName=one_or_many(TEXT),
            userId=one_or_many(TEXT),
            type=one_or_many(TEXT),
            backend=one_or_many({"type": "string", "enum": list(Backend)}),
            shared=nullable(FLAG) | {"description": "The shared memories alone, or everything but them."},
            updated=nullable(TEXT) | {"description": DAYS},
            created=nullable(TEXT) | {"description": DAYS},
            keyWord={"type": "string", "description": "Every word must occur in title, text or description."},
        ),
        data=page_of(MEMORY),
        example={"agentName": "demo", "keyWord": "花生", "page": 1, "size": 20},
        answer={"list": [EXAMPLE], "pagination": {"page": 1, "size": 20, "total": 1}},
    )
    def post(self, request: Request) -> Response:
        body = self.body()
        order, descending = sorting(body, SORTABLE, "updated_at")
        number, size = page_numbers(body)
        wanted = replace(filtered(body).wanted, page=number, size=size, order=order, descending=descending)
        page = search.page(wanted)
        data: dict[str, Any] = {
            "list": [memory_row(entry) | {"_backend": backend} for backend, entry in page.rows],
            "pagination": {"page": page.page, "size": page.size, "total": page.total},
        }
        return ok(data | ({"unavailable": list(page.unavailable)} if page.unavailable else {}))


class Info(CoolView):
    """One memory; without agentName the id must be the only one of its number."""

    permission = "memory_app.view_memory"

    @described(query={"agentName": TEXT, "id": ID}, data=MEMORY, answer=EXAMPLE)
    def get(self, request: Request) -> Response:
        backend, memory = addressed(request.query_params)
        return ok(memory_row(memory) | {"_backend": backend})


class Add(CoolView):
    """Saves a memory, or an array of them, all or none of one agent's."""

    permission = "memory_app.add_memory"

    @described(
        body=one_or_many(obj("agentName type content", **WRITABLE)),
        data=obj("id", id=one_or_many(ID), outcome={"type": "string", "enum": ["created", "duplicate"]}),
        example={name: EXAMPLE[name] for name in ("agentName", "userId", "type", "name", "content")},
        answer={"id": 12, "outcome": "created"},
    )
    def post(self, request: Request) -> Response:
        results = services.save_many([draft(item) for item in each(request.data)])
        if isinstance(request.data, list):
            return ok({"id": [result.memory.id for result in results]})
        return ok({"id": results[0].memory.id, "outcome": results[0].outcome.value})


class Update(CoolView):
    """Edits a memory that is still as it was read: `updatedAt` must come back. Fields left out stay as they are."""

    permission = "memory_app.change_memory"

    @described(
        body=obj("id updatedAt", id=ID, updatedAt=TIME, **WRITABLE),
        data=obj("id updatedAt", id=ID, updatedAt=TIME),
        example={name: EXAMPLE[name] for name in ("agentName", "id", "updatedAt", "content")},
        answer={name: EXAMPLE[name] for name in ("id", "updatedAt")},
    )
    def post(self, request: Request) -> Response:
        body = self.body()
        _backend, current = addressed(body, certainly=True)
        given = {name: _cleared(name, body[name]) for name in CHANGEABLE if name in body}
        scope = Scope.all_users(current.agent_name)
        memory = services.update(scope, current.id, MemoryChanges(**given), version_of(body.get("updatedAt"), current))
        return ok({"id": memory.id, "updatedAt": shown_time(memory.updated_at)})


class Delete(CoolView):
    """Deletes an agent's memories by id, and tells how many there were; ids of other agents are left alone."""

    permission = "memory_app.delete_memory"

    @described(
        body=obj("ids", agentName=TEXT, ids=IDS),
        data=obj("deleted", deleted=NUMBER),
        example={"agentName": "demo", "ids": [12, 13]},
        answer={"deleted": 2},
    )
    def post(self, request: Request) -> Response:
        body = self.body()
        ids = ids_of(body)
        agents = (
            dict.fromkeys(ids, _agent_name(body)) if body.get("agentName") else search.agents_of(ids, certainly=True)
        )
        by_agent: dict[str, list[int]] = defaultdict(list)
        for memory_id, name in agents.items():
            by_agent[name].append(memory_id)
        return ok({"deleted": sum(services.delete(Scope.all_users(name), own) for name, own in by_agent.items())})


class Stats(CoolView):
    """A row for each agent, with its counts; agents without memories have 0."""

    permission = "memory_app.view_memory"

    @described(
        data=many(
            obj(
                "agentName backend count byType users lastUpdatedAt",
                agentName=TEXT,
                backend=TEXT,
                count=NUMBER,
                byType={"type": "object", "additionalProperties": NUMBER},
                users=NUMBER,
                lastUpdatedAt=nullable(TIME),
            )
        ),
        answer=[{"agentName": "demo", "backend": "sqlite", "count": 9, "byType": {"user": 9}, "users": 2}],
    )
    def get(self, request: Request) -> Response:
        return ok([stats_row(row) for row in search.stats()])


def addressed(values: Mapping[str, Any], *, certainly: bool = False) -> tuple[str, MemoryEntry]:
    """The memory of {agentName, id} with its backend, or of the id alone where only one agent has it."""
    number = required_id(values)
    return search.one(number, _agent_name(values) if values.get("agentName") else None, certainly=certainly)


def _agent_name(values: Mapping[str, Any]) -> str:
    name = values.get("agentName")
    if not isinstance(name, str):
        raise InvalidInput(_("%(field)s must be text.") % {"field": "agentName"})
    return name


def draft(body: Mapping[str, Any]) -> MemoryDraft:
    """The memory behind a form: no userId means shared; a missing title is taken from the text."""
    content = body.get("content")
    return MemoryDraft(
        agent_name=_given(body, "agentName"),
        user_id=_given(body, "userId"),
        type=_given(body, "type"),
        name=body.get("name") or (title_of(content) if isinstance(content, str) else ""),
        content=_given(body, "content"),
        description=_given(body, "description"),
        metadata=_cleared("metadata", body.get("metadata")) or {},
    )


def _cleared(name: str, value: Any) -> Any:
    """A form sends null for an empty text, and "" for empty metadata."""
    if name == "metadata":
        return None if value == "" else value
    return "" if value is None else value


def _given(body: Mapping[str, Any], name: str) -> Any:
    value = body.get(name)
    return "" if value is None else value


def stats_row(row: AgentStatistics) -> dict[str, Any]:
    """An agent's statistics in the document's names, and more of them."""
    return {
        "agentName": row.agent_name,
        "backend": row.backend,
        "count": row.count,
        "byType": dict(row.by_type),
        "users": row.users,
        "lastUpdatedAt": shown_time(row.last_updated_at),
    }


ENTITY = Entity(
    name="memory",
    description="记忆",
    actions=(
        Action("page", Page, "分页查询"),
        Action("info", Info, "单个信息", "get"),
        Action("add", Add, "新增"),
        Action("update", Update, "修改"),
        Action("delete", Delete, "删除"),
        Action("stats", Stats, "统计", "get"),
    ),
    columns=(
        Column("id", "bigint", "ID"),
        Column("agentName", "varchar", "智能体", "100"),
        Column("userId", "varchar", "用户", "100"),
        Column("type", "varchar", "类型", "50"),
        Column("name", "varchar", "标题", "255"),
        Column("content", "longtext", "正文"),
        Column("description", "varchar", "描述", "500"),
        Column("metadata", "json", "元数据", nullable=True),
        Column("createdAt", "datetime", "创建时间"),
        Column("updatedAt", "datetime", "更新时间"),
    ),
    equal=("agentName", "userId", "type"),
    like=("name", "content", "description"),
)
