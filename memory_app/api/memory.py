"""`/admin/netaclaw/memory/` (second document, section 3.5)."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory_app import search, services
from memory_app.contracts import MemoryDraft, PageQuery
from memory_app.tools import title_of
from netaclaw.cool import CoolView, as_object, memory_row, ok, sorting, values_of, whole_number

PAGE_SIZE = 20
SORTABLE = {
    "id": "id",
    "agentName": "agent_name",
    "userId": "user_id",
    "type": "type",
    "name": "name",
    "description": "description",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "createTime": "created_at",
    "updateTime": "updated_at",
}


class MemoryPage(CoolView):
    """One page of memories, of one agent or over all stores."""

    permission = "memory_app.view_memory"

    def post(self, request: Request) -> Response:
        query = page_query(self.body())
        page = search.page(query)
        data: dict[str, Any] = {
            "list": [memory_row(entry) | {"_backend": backend} for backend, entry in page.rows],
            "pagination": {"page": page.page, "size": page.size, "total": page.total},
        }
        return ok(data | ({"unavailable": list(page.unavailable)} if page.unavailable else {}))


class MemoryAdd(CoolView):
    """Saves one memory, or an array of them."""

    permission = "memory_app.add_memory"

    def post(self, request: Request) -> Response:
        if isinstance(request.data, list):
            results = services.save_many([draft(as_object(item)) for item in request.data])
            return ok({"id": [result.memory.id for result in results]})
        result = services.save(draft(self.body()))
        return ok({"id": result.memory.id, "outcome": result.outcome.value})


def page_query(body: Mapping[str, Any]) -> PageQuery:
    """The list request behind a body as cl-crud sends it."""
    order, descending = sorting(body, SORTABLE, "updated_at")
    return PageQuery(
        agent_names=values_of(body.get("agentName"), "agentName"),
        user_ids=values_of(body.get("userId"), "userId"),
        types=values_of(body.get("type"), "type"),
        keyword=" ".join(values_of(body.get("keyWord"), "keyWord")),
        page=whole_number(body.get("page"), 1),
        size=whole_number(body.get("size"), 0) or PAGE_SIZE,
        order=order,
        descending=descending,
    )


def draft(body: Mapping[str, Any]) -> MemoryDraft:
    """The memory behind a form: no userId means shared; a missing title is taken from the text."""
    content = body.get("content")
    name = body.get("name")
    return MemoryDraft(
        agent_name=_given(body, "agentName"),
        user_id=_given(body, "userId"),
        type=_given(body, "type"),
        name=name or (title_of(content) if isinstance(content, str) else ""),
        content=_given(body, "content"),
        description=_given(body, "description"),
        metadata=body.get("metadata") or {},
    )


def _given(body: Mapping[str, Any], name: str) -> Any:
    value = body.get(name)
    return "" if value is None else value
