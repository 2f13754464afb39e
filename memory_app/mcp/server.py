"""The MCP server for one caller: the table of tools, and the memory context as resources and as a prompt.

Whose memories they are, the door has settled before; nothing that a client sends changes it.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import unquote

import mcp_types as mcp
from django.conf import settings
from django.utils.translation import gettext as _
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from memory_app import prompt, search, tool_shapes, tools
from memory_app.acting import Door, acting_as
from memory_app.contracts import Scope
from memory_app.exceptions import InvalidInput, NetaclawError, StoreUnavailable
from memory_app.models import MemoryType

NAME: Final = "netaclaw-memory"
TYPES: Final = "memory://types"
CONTEXT: Final = "memory://context"
PROMPT: Final = "memory"
TEXT, JSON = "text/plain", "application/json"
Found = TypeVar("Found")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who speaks MCP: whose memories, whether for reading alone, and the name that the history shows."""

    scope: Scope
    read_only: bool
    name: str


class Worker(Protocol):
    """Runs what reads and writes in a thread where that may wait, outside of the event loop."""

    def __call__(self, work: Callable[[], Found], /) -> Awaitable[Found]: ...


def server_for(caller: Caller, worker: Worker) -> Server[Any]:
    """A server that speaks for this caller alone."""
    answers = _Answers(caller, worker)
    return Server(
        NAME,
        title="NetaClaw Memory",
        version=str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        instructions=None if caller.read_only else prompt.extension(),
        on_list_tools=answers.list_tools,
        on_call_tool=answers.call_tool,
        on_list_resources=answers.list_resources,
        on_list_resource_templates=answers.list_templates,
        on_read_resource=answers.read_resource,
        on_list_prompts=answers.list_prompts,
        on_get_prompt=answers.get_prompt,
    )


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the server answers, by method of the protocol."""

    caller: Caller
    worker: Worker

    async def list_tools(self, context: Any, params: Any) -> mcp.ListToolsResult:
        shapes = tool_shapes.shaped("mcp", read_only=self.caller.read_only)
        return mcp.ListToolsResult(tools=[mcp.Tool.model_validate(shape) for shape in shapes])

    async def call_tool(self, context: Any, params: mcp.CallToolRequestParams) -> mcp.CallToolResult:
        """What goes wrong is told in the result, where the model reads it, and not as an error of the protocol."""
        try:
            result = await self._work(lambda: self._run(params))
        except MCPError as error:
            result = {"error": NetaclawError.code, "message": error.message}
        return mcp.CallToolResult(content=[_text(tools.dump(result))], is_error="error" in result)

    async def list_resources(self, context: Any, params: Any) -> mcp.ListResourcesResult:
        return mcp.ListResourcesResult(
            resources=[
                mcp.Resource(
                    uri=CONTEXT,
                    name="memory-context",
                    title=_("Memory context"),
                    description=_("The newest memories of this user, as a block for the system prompt."),
                    mime_type=TEXT,
                ),
                mcp.Resource(
                    uri=TYPES,
                    name="memory-types",
                    title=_("Memory types"),
                    description=_("The types that a memory may have."),
                    mime_type=JSON,
                ),
            ]
        )

    async def list_templates(self, context: Any, params: Any) -> mcp.ListResourceTemplatesResult:
        template = mcp.ResourceTemplate(
            uri_template=f"{CONTEXT}/{{message}}",
            name="memory-context-for-message",
            title=_("Memory context for a message"),
            description=_("The memories that a message needs, as a block for the system prompt; empty for none."),
            mime_type=TEXT,
        )
        return mcp.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, context: Any, params: mcp.ReadResourceRequestParams) -> mcp.ReadResourceResult:
        kind, text = await self._work(lambda: self._resource(params.uri))
        return mcp.ReadResourceResult(contents=[mcp.TextResourceContents(uri=params.uri, mime_type=kind, text=text)])

    async def list_prompts(self, context: Any, params: Any) -> mcp.ListPromptsResult:
        argument = mcp.PromptArgument(name="message", description=_("the user's message, as it is"), required=False)
        memory = mcp.Prompt(
            name=PROMPT,
            title=_("Memory"),
            description=_("How to use the memory, and what it holds for a message."),
            arguments=[argument],
        )
        return mcp.ListPromptsResult(prompts=[memory])

    async def get_prompt(self, context: Any, params: mcp.GetPromptRequestParams) -> mcp.GetPromptResult:
        message = (params.arguments or {}).get("message", "")
        text = await self._work(lambda: self._prompt(params.name, message))
        parts = [part for part in (text, message) if part]
        return mcp.GetPromptResult(messages=[mcp.PromptMessage(role="user", content=_text(part)) for part in parts])

    def _run(self, params: mcp.CallToolRequestParams) -> tools.Result:
        return tools.run(params.name, self.caller.scope, params.arguments, read_only=self.caller.read_only)

    def _resource(self, uri: str) -> tuple[str, str]:
        if uri == TYPES:
            return JSON, tools.dump(tools.memory_list_types(self.caller.scope, {}))
        if uri.rstrip("/") == CONTEXT:
            return TEXT, search.recent(self.caller.scope)
        if uri.startswith(f"{CONTEXT}/"):
            return TEXT, self._block(unquote(uri.removeprefix(f"{CONTEXT}/")))
        known = ", ".join([CONTEXT, f"{CONTEXT}/{{message}}", TYPES])
        raise InvalidInput(_("There is no such resource; read one of: %(known)s.") % {"known": known})

    def _prompt(self, name: str, message: str) -> str:
        if name != PROMPT:
            raise InvalidInput(_("There is no such prompt; get: %(known)s.") % {"known": PROMPT})
        block = self._block(message) if message else ""
        usable = search.turn_of(self.caller.scope.agent_name).enabled and not self.caller.read_only
        return prompt.system_prompt("", block, MemoryType.available()) if usable else block

    def _block(self, message: str) -> str:
        found = search.prefetch(self.caller.scope, message)
        if found.failure:
            raise StoreUnavailable(found.failure)
        return found.block

    async def _work(self, work: Callable[[], Found]) -> Found:
        """The one place where errors become the protocol's; what nobody foresaw is told in the log alone."""

        def acting() -> Found:
            with acting_as(Door.MCP, self.caller.name):
                return work()

        try:
            return await self.worker(acting)
        except NetaclawError as error:
            code = mcp.INVALID_PARAMS if isinstance(error, InvalidInput) else mcp.INTERNAL_ERROR
            raise MCPError(code, error.message) from None
        except Exception:
            logger.exception("The MCP server failed")
            message = _("Something went wrong on the server; nothing was changed. Its log has the details.")
            raise MCPError(mcp.INTERNAL_ERROR, message) from None


def _text(text: str) -> mcp.TextContent:
    return mcp.TextContent(text=text)
