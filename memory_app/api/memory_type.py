"""`/admin/netaclaw/memory_type/` (second document, section 3.5)."""

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory_app import services
from memory_app.filters import TypeFilter
from memory_app.models import MemoryType
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
    ANY_OBJECT,
    FLAG,
    ID,
    IDS,
    NUMBER,
    PAGING,
    TEXT,
    TYPE,
    described,
    many,
    nullable,
    obj,
    on,
    one_or_many,
    page_of,
)

FIELDS = {
    "key": "key",
    "name": "name",
    "description": "description",
    "icon": "icon",
    "color": "color",
    "metadataSchema": "metadata_schema",
}


def type_row(item: MemoryType) -> dict[str, Any]:
    """A type's fields in camelCase; isSystem is 1 or 0, as the document has it."""
    return {
        "id": item.pk,
        **{name: getattr(item, field) for name, field in FIELDS.items()},
        "isSystem": int(item.is_system),
        "createTime": shown_time(item.create_time),
        "updateTime": shown_time(item.update_time),
    }


class _Types(ModelView):
    model = MemoryType
    filters = TypeFilter
    row = staticmethod(type_row)
    sortable = {
        "id": "id",
        "key": "key",
        "name": "name",
        "createTime": "create_time",
        "updateTime": "update_time",
    }
    permission = "memory_app.view_memorytype"


EXAMPLE: dict[str, Any] = {
    "id": 5,
    "key": "environment",
    "name": "环境信息",
    "description": "系统与工具",
    "icon": "server",
    "color": "#0891b2",
    "isSystem": 0,
    "metadataSchema": None,
    "createTime": "2026-05-06 09:30:00.123456",
    "updateTime": "2026-05-06 09:30:00.123456",
}
WRITABLE = dict.fromkeys(("key", "name", "description", "icon", "color"), TEXT) | {
    "metadataSchema": nullable(ANY_OBJECT)
}
FILTERS = {"key": one_or_many(TEXT), "isSystem": FLAG, "keyWord": TEXT}


@on(
    post=described(
        body=obj(**PAGING, **FILTERS),
        data=page_of(TYPE),
        example={"page": 1, "size": 20},
        answer={"list": [EXAMPLE], "pagination": {"page": 1, "size": 20, "total": 1}},
    )
)
class Page(_Types, ModelPage):
    """One page of memory types."""


@on(post=described(body=obj(**FILTERS), data=many(TYPE), example={}, answer=[EXAMPLE]))
class List(_Types, ModelList):
    """All memory types, for a choice."""


@on(get=described(query={"id": ID}, data=TYPE, answer=EXAMPLE))
class Info(_Types, ModelInfo):
    """One memory type."""


@on(
    post=described(
        body=one_or_many(obj("key name", **WRITABLE)),
        data=obj("id", id=one_or_many(ID)),
        example={"key": "environment", "name": "环境信息"},
        answer={"id": 5},
    )
)
class Add(ModelAdd):
    """Makes a type, or several."""

    permission = "memory_app.add_memorytype"

    def made(self, given: Sequence[dict[str, Any]]) -> Sequence[MemoryType]:
        return services.add_types([_fields(item) for item in given])


class Update(_Types):
    """Edits a type; its key never changes, and fields left out stay as they are."""

    permission = "memory_app.change_memorytype"

    @described(body=obj("id", id=ID, **WRITABLE), data=None, example={"id": 5, "name": "环境"})
    def post(self, request: Request) -> Response:
        body = self.body()
        services.update_type(self.one(required_id(body)), _fields(body))
        return ok()


class Delete(_Types):
    """Deletes types that are not built in and not in use."""

    permission = "memory_app.delete_memorytype"

    @described(
        body=obj("ids", ids=IDS),
        data=obj("deleted", deleted=NUMBER),
        example={"ids": [5]},
        answer={"deleted": 1},
    )
    def post(self, request: Request) -> Response:
        doomed = self.rows().filter(pk__in=ids_of(self.body()))
        return ok({"deleted": services.delete_types(doomed)})


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    given = {field: body[name] for name, field in FIELDS.items() if name in body}
    return {field: "" if value is None and field != "metadata_schema" else value for field, value in given.items()}


ENTITY = Entity(
    name="memory_type",
    description="记忆类型",
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
        Column("key", "varchar", "标识", "50"),
        Column("name", "varchar", "名称", "100"),
        Column("description", "varchar", "描述", "500"),
        Column("icon", "varchar", "图标", "50", nullable=True),
        Column("color", "varchar", "颜色", "20", nullable=True),
        Column("isSystem", "tinyint", "系统内置"),
        Column("metadataSchema", "json", "元数据结构", nullable=True),
        Column("createTime", "datetime", "创建时间"),
        Column("updateTime", "datetime", "更新时间"),
    ),
    equal=("key", "isSystem"),
    like=("key", "name", "description"),
)
