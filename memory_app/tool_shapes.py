"""The tools as runtimes take them: OpenAI's, Anthropic's and MCP's shapes of one and the same table."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from memory_app.exceptions import InvalidInput
from memory_app.tools import Tool, offered

Shape = dict[str, Any]


def openai(tool: Tool) -> Shape:
    """As chat completions take it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def anthropic(tool: Tool) -> Shape:
    """As Anthropic's messages take it."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def mcp(tool: Tool) -> Shape:
    """As MCP's tools/list answers it; the tools touch nothing but the memory, which is a closed world."""
    return {
        "name": tool.name,
        "title": tool.label,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "annotations": {
            "title": tool.label,
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


SHAPES: Final[Mapping[str, Callable[[Tool], Shape]]] = {"openai": openai, "anthropic": anthropic, "mcp": mcp}


def shaped(shape: str, *, read_only: bool = False) -> list[Shape]:
    """The tools that a caller may run, in a shape; raises InvalidInput for a shape that there is not."""
    if shape not in SHAPES:
        message = _("shape must be one of: %(known)s, as in /api/tools?shape=openai.")
        raise InvalidInput(message % {"known": ", ".join(SHAPES)})
    return [SHAPES[shape](tool) for tool in offered(read_only=read_only)]
