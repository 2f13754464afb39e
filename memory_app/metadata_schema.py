"""JSON Schemas (2020-12) of metadata: they can't reach out, can't loop, and can't take long, whoever wrote them."""

from collections.abc import Iterator, Mapping
from typing import Any

import regex
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

PATTERN_SECONDS = 0.2
NOT_OFFERED = ("patternProperties", "$dynamicRef", "$recursiveRef")


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    """`pattern`, with a limit: some expressions take for ever on some texts."""
    if not isinstance(value, str):
        return
    try:
        if not regex.search(pattern, value, timeout=PATTERN_SECONDS):
            yield ValidationError(f"{value[:80]!r} does not match {pattern!r}")
    except (TimeoutError, regex.error):
        yield ValidationError(f"the pattern {pattern!r} can't be tried on it")


Validator = extend(Draft202012Validator, {"pattern": _pattern})


def problem_of_schema(schema: Any) -> str:
    """Why metadata can't be held to this schema; "" when it can."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return 'metadata is an object, so the schema must say {"type": "object"}'
    for name, value in _members(schema):
        if name in NOT_OFFERED or (name == "$ref" and not str(value).startswith("#/")):
            return f"{name}: {value}"
    try:
        best_match(_validator(schema).iter_errors({}))
    except (RecursionError, Unresolvable) as error:
        return f"$ref: {type(error).__name__}"
    return ""


def problem_of(metadata: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[str, str]:
    """Where metadata doesn't fit a schema, and why; two empty texts when it fits."""
    try:
        problem = best_match(_validator(schema).iter_errors(dict(metadata)))
    except (RecursionError, Unresolvable) as error:
        return "metadata", type(error).__name__
    if problem is None:
        return "", ""
    return ".".join(["metadata", *(str(part) for part in problem.path)]), problem.message


def _validator(schema: Mapping[str, Any]) -> Any:
    """With an empty registry: nothing is fetched, from nowhere."""
    return Validator(schema, registry=Registry())


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name, item
            yield from _members(item)
    elif isinstance(value, list):
        for item in value:
            yield from _members(item)
