"""The API's OpenAPI document: the envelope around every answer, and the shapes of what is in it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_view

Schema = dict[str, Any]
on = extend_schema_view
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANY_OBJECT: Schema = {"type": "object", "additionalProperties": True}
TIME: Schema = {
    "type": "string",
    "description": "Local time, YYYY-MM-DD HH:mm:ss.ffffff.",
    "example": "2026-05-06 09:30:00.123456",
}
ID: Schema = {"type": "integer", "minimum": 1}


def obj(required: str = "", /, **properties: Schema) -> Schema:
    """An object; `required` names its required members, with spaces between them."""
    found: Schema = {"type": "object", "properties": properties}
    return found | ({"required": required.split()} if required else {})


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    return schema | {"type": [schema["type"], "null"]}


def many(schema: Schema) -> Schema:
    """An array of it."""
    return {"type": "array", "items": schema}


def one_or_many(schema: Schema) -> Schema:
    """One, or an array of them."""
    return {"oneOf": [schema, many(schema)]}


MEMORY = obj(
    "id agentName userId type name content description metadata createdAt updatedAt",
    id=ID,
    agentName=TEXT,
    userId={"type": "string", "description": "Empty: shared by all users of the agent."},
    type=TEXT,
    name=TEXT,
    content=TEXT,
    description=TEXT,
    metadata=ANY_OBJECT,
    createdAt=TIME,
    updatedAt={**TIME, "description": "The version: an update must bring it back as it is."},
    _backend={"type": "string", "enum": ["sqlite", "mysql"]},
)
TYPE = obj(
    "id key name description icon color isSystem metadataSchema createTime updateTime",
    id=ID,
    key=TEXT,
    name=TEXT,
    description=TEXT,
    icon=TEXT,
    color=TEXT,
    isSystem={"type": "integer", "enum": [0, 1]},
    metadataSchema=nullable(ANY_OBJECT),
    createTime=TIME,
    updateTime=TIME,
)
AGENT_MEMORY = obj(
    enabled=FLAG,
    backend={"type": "string", "enum": ["sqlite", "mysql"]},
    sqlitePath=TEXT,
    database=TEXT,
    prefetchLimit={"type": "integer", "minimum": 1, "maximum": 50},
)
AGENT = obj(
    "id name label config createTime updateTime",
    id=ID,
    name=TEXT,
    label=TEXT,
    description=TEXT,
    systemPrompt=TEXT,
    provider=TEXT,
    model=TEXT,
    baseUrl=TEXT,
    enabled=FLAG,
    config={"type": "object", "properties": {"memory": AGENT_MEMORY}},
    createTime=TIME,
    updateTime=TIME,
)
PAGING: dict[str, Schema] = {
    "page": {"type": "integer", "minimum": 1, "default": 1},
    "size": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20},
    "order": {"type": "string", "description": "The field to sort by."},
    "sort": {"type": "string", "enum": ["asc", "desc"]},
}
TOKENS = obj(
    "expire token refreshExpire refreshToken", expire=NUMBER, token=TEXT, refreshExpire=NUMBER, refreshToken=TEXT
)
IDS = {"oneOf": [many(ID), ID, {"type": "string", "pattern": "^[1-9][0-9]{0,9}(,[1-9][0-9]{0,9})*$"}]}
REFUSAL = obj(
    "error message",
    error={"type": "string", "description": "A code for programs, such as invalid, not_found or refused."},
    message={"type": "string", "description": "A sentence for people, in the language of Accept-Language."},
)
REFUSALS = (400, 401, 403, 404, 409, 422, 429, 503)
FAILURE = obj(
    "code message",
    code={"type": "integer", "description": "1001: refused or failed; 1002: invalid; 404: no such address."},
    message={"type": "string", "description": "A sentence for people, in the language of Accept-Language."},
    data=ANY_OBJECT,
)


def page_of(schema: Schema) -> Schema:
    """A page's `data`."""
    pagination = obj("page size total", page=NUMBER, size=NUMBER, total=NUMBER)
    return obj("list pagination", list=many(schema), pagination=pagination, unavailable=many(TEXT))


def envelope(data: Schema | None) -> Schema:
    """A success with its data, or a failure: both are HTTP 200."""
    code, message = {"type": "integer", "enum": [1000]}, {"type": "string", "enum": ["success"]}
    success = (
        obj("code message data", code=code, message=message, data=data) if data else obj("code message", code=code)
    )
    return {"oneOf": [success, FAILURE | {"properties": FAILURE["properties"] | {"code": {"not": {"const": 1000}}}}]}


def described(
    *,
    data: Schema | None,
    body: Schema | None = None,
    query: Mapping[str, Schema] | None = None,
    example: Any = None,
    answer: Any = None,
    open_to_all: bool = False,
) -> Callable[[Any], Any]:
    """Says what a call takes (a JSON `body`, or a `query`) and what `data` its envelope holds."""
    examples = [OpenApiExample("Request", value=example, request_only=True)] if example is not None else []
    whole = {"code": 1000, "message": "success"} | ({} if answer is None else {"data": answer})
    examples += [OpenApiExample("Answer", value=whole, response_only=True, status_codes=["200"])]
    denied = {} if open_to_all else {401: FAILURE, 403: FAILURE}
    return extend_schema(
        request={"application/json": body} if body else None,
        responses={200: envelope(data)} | denied,
        parameters=[
            OpenApiParameter(name, schema, required=bool(schema.get("minimum")))
            for name, schema in (query or {}).items()
        ],
        examples=examples,
        auth=[] if open_to_all else None,
    )


def plain(
    *,
    answer: Schema,
    body: Schema | None = None,
    parameters: Sequence[OpenApiParameter] = (),
    requests: Mapping[str, Any] | None = None,
    example: Any = None,
) -> Callable[[Any], Any]:
    """Says what a call without an envelope takes (a JSON `body`, with examples of it) and answers."""
    examples = [OpenApiExample(name, value=value, request_only=True) for name, value in (requests or {}).items()]
    examples.append(OpenApiExample("Answer", value=example, response_only=True, status_codes=["200"]))
    return extend_schema(
        request={"application/json": body} if body else None,
        responses={200: answer} | dict.fromkeys(REFUSALS, REFUSAL),
        parameters=list(parameters),
        examples=examples,
        tags=["agents"],
    )
