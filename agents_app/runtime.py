"""The chat loop (first document, section 6): prefetch, one system prompt, the model with the memory's tools, the reply.

A turn runs in the thread of its request; see stepping.py for how the model's event loop fits in there.
"""

import json
import logging
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from pydantic_ai import Agent as ModelAgent
from pydantic_ai import AgentRunResultEvent, RunContext, UsageLimits
from pydantic_ai.agent import AgentRunEvents
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agents_app import conversation
from agents_app.conversation import Answer, Session, Step, Usage
from agents_app.exceptions import ModelFailed
from agents_app.failures import explained
from agents_app.language_models import choice_of, opened
from agents_app.models import Message
from agents_app.slots import Slot
from agents_app.stepping import Asked, Desk, steps
from memory_app import registry, search, tools
from memory_app.acting import Door, acting_as
from memory_app.contracts import Scope
from memory_app.models import MemoryType
from memory_app.prompt import system_prompt
from memory_app.search import Prefetched

CALLS_PER_STEP = 8
PULSE_SECONDS = 1.0
ARGUMENTS = SchemaValidator(
    core_schema.no_info_after_validator_function(lambda value: {} if value is None else value, core_schema.any_schema())
)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asking:
    """What a door asks for: a message in a session; `read_only` leaves out the tools that write."""

    session: Session
    message: str
    read_only: bool = False

    @property
    def scope(self) -> Scope:
        """Whose memories the turn reads and writes."""
        return Scope(self.session.agent.name, self.session.user_id)


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the memory gave to the turn; None for an agent whose memory is off."""

    prefetched: Prefetched | None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the reply; `step` is the number of the model's answer that it belongs to."""

    text: str
    step: int


@dataclass(frozen=True, slots=True)
class Called:
    """A tool that the model calls."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool gave back."""

    id: str
    name: str
    result: Any


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a turn that went well."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """The end of a turn that didn't; what there was of the answer is kept."""

    error: ModelFailed
    answer: Answer


TurnEvent = Recalled | Delta | Called | Returned | Done | Failed


class Turn:
    """A turn in a conversation: an iterator of its events, and None after each second without any.

    Making it takes a place for a chat and keeps the user's message; raises NetaclawError where either can't be done.
    Closing it ends the run, keeps what there is of the answer, and frees the place; so whoever makes it must close it.
    """

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self._choice = choice_of(asking.session.agent)
        self._slot = Slot()
        try:
            self._past = conversation.history(asking.session)
            self._question = conversation.said(asking.session, asking.message)
        except BaseException:
            self._slot.give_back()
            raise
        self._answer = Answer(self._choice.title)
        self._handle: AgentRunEvents[str] | None = None
        self._kept = False
        self._events = self._turn()

    def __iter__(self) -> Iterator[TurnEvent | None]:
        return self

    def __next__(self) -> TurnEvent | None:
        return next(self._events)

    def close(self) -> None:
        """Ends the turn, wherever it is; the second time does nothing."""
        try:
            self._events.close()
            self._keep("cancelled")
        finally:
            self._slot.give_back()

    def _turn(self) -> Generator[TurnEvent | None, None, None]:
        prompt, recalled, offered = self._prepared()
        yield Recalled(recalled)
        try:
            for event in steps(lambda desk: self._run(desk, prompt, offered), PULSE_SECONDS):
                if isinstance(event, Asked):
                    event.answer(self._tool(*event.question))
                elif event is None:
                    yield None
                else:
                    yield from self._told(event)
        except (AgentRunError, UserError, TimeoutError) as error:
            yield from self._failed(explained(error, self._choice.title), error)
        else:
            self._keep("")
            yield Done(self._answer)

    def _prepared(self) -> tuple[str, Prefetched | None, Sequence[tools.Tool]]:
        """The system prompt, what the memory gave to it, and the tools: the agent's own prompt alone without memory."""
        own = self.asking.session.agent.system_prompt
        if not registry.config_for(self.asking.scope.agent_name).enabled:
            return own, None, ()
        with self._acting():
            recalled = search.prefetch(self.asking.scope, self.asking.message)
        offered = tools.offered(read_only=self.asking.read_only)
        return system_prompt(own, recalled.block, MemoryType.available()), recalled, offered

    @asynccontextmanager
    async def _run(self, desk: Desk, prompt: str, offered: Sequence[tools.Tool]) -> AsyncIterator[AsyncIterator[Any]]:
        async with opened(self._choice) as model:
            agent = ModelAgent(model, instructions=prompt or None, toolsets=[MemoryTools(offered, desk)])
            running = agent.run_stream_events(
                self.asking.message,
                message_history=messages_of(self._past),
                usage_limits=UsageLimits(
                    request_limit=settings.CHAT_STEPS, tool_calls_limit=settings.CHAT_STEPS * CALLS_PER_STEP
                ),
                model_settings=_settings_of_step if offered else None,
                retries={"tools": settings.CHAT_STEPS, "output": 1},
                timeout=settings.CHAT_SECONDS,
                infer_name=False,
            )
            async with running as events:
                self._handle = events
                yield events

    def _tool(self, name: str, arguments: Any) -> str:
        with self._acting():
            result = tools.run(name, self.asking.scope, arguments, read_only=self.asking.read_only)
        return tools.dump(result)

    def _acting(self) -> AbstractContextManager[None]:
        """Only around what uses the memory: a stream gives the thread away between its events."""
        return acting_as(Door.CHAT, self.asking.scope.agent_name)

    def _told(self, event: Any) -> Iterator[TurnEvent]:
        """What a door is told of a model's event; the answer grows by it."""
        match event:
            case PartStartEvent(index=index, part=part):
                if index == 0:
                    self._answer.steps.append(Step())
                if isinstance(part, TextPart) and part.content:
                    yield self._text(part.content)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield self._text(text)
            case FunctionToolCallEvent(part=part):
                call = Called(part.tool_call_id, part.tool_name, _readable(part.args))
                self._step.calls.append({"id": call.id, "name": call.name, "arguments": call.arguments})
                yield call
            case FunctionToolResultEvent(part=part):
                yield self._returned(part)
            case AgentRunResultEvent():
                self._count()

    @property
    def _step(self) -> Step:
        if not self._answer.steps:
            self._answer.steps.append(Step())
        return self._answer.steps[-1]

    def _text(self, text: str) -> Delta:
        self._step.text += text
        return Delta(text, len(self._answer.steps))

    def _returned(self, part: Any) -> Returned:
        result = _readable(part.content if isinstance(part, ToolReturnPart) else part.model_response())
        for call in self._step.calls:
            if call["id"] == part.tool_call_id:
                call["result"] = result
        return Returned(part.tool_call_id, part.tool_name or "", result)

    def _failed(self, failure: ModelFailed, error: Exception) -> Iterator[TurnEvent]:
        agent = self.asking.scope.agent_name
        logger.warning("A turn of agent %s failed (%s): %s: %s", agent, failure.code, error, failure.detail)
        self._keep(failure.code)
        yield Failed(failure, self._answer)

    def _count(self) -> None:
        try:
            used = self._handle.usage if self._handle else None
        except RuntimeError:  # it had not begun
            used = None
        if used is not None:
            self._answer.usage = Usage(used.input_tokens, used.output_tokens)

    def _keep(self, error: str) -> None:
        """Keeps the answer once; a database that fails takes the record, not the reply."""
        if self._kept:
            return
        self._kept = True
        self._count()
        self._answer.error = error
        try:
            conversation.answered(self.asking.session, self._question, self._answer)
        except DatabaseError:
            logger.exception("An answer of agent %s was not kept", self.asking.scope.agent_name)


class MemoryTools(AbstractToolset[Any]):
    """The memory's tools as the model library takes them: their schemas as they are, run by the request's thread."""

    def __init__(self, offered: Sequence[tools.Tool], desk: Desk) -> None:
        self.offered = offered
        self.desk = desk

    @property
    def id(self) -> str | None:
        return "memory"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {tool.name: self._shown(tool) for tool in self.offered}

    def _shown(self, tool: tools.Tool) -> ToolsetTool[Any]:
        shown = ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters), strict=False
        )
        return ToolsetTool(toolset=self, tool_def=shown, max_retries=settings.CHAT_STEPS, args_validator=ARGUMENTS)

    async def call_tool(self, name: str, tool_args: Any, ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Any:
        return await self.desk.ask((name, tool_args))


def _settings_of_step(ctx: RunContext[Any]) -> ModelSettings:
    """The last time the model is asked it must answer: the tools stay named, as some were called, but not for use."""
    return ModelSettings(tool_choice="none") if ctx.run_step >= settings.CHAT_STEPS else ModelSettings()


def messages_of(rows: list[Message]) -> list[ModelMessage]:
    """What was said, as the model library takes it; a call without a result is left out, as models refuse it."""
    found: list[ModelMessage] = []
    for row in rows:
        if row.role == Message.Role.USER:
            found.append(ModelRequest([UserPromptPart(row.content)]))
            continue
        calls = [call for call in row.tool_calls if "result" in call]
        text = [TextPart(row.content)] if row.content else []
        parts = [ToolCallPart(call["name"], _object(call["arguments"]), call["id"]) for call in calls]
        results = [ToolReturnPart(call["name"], tools.dump(call["result"]), call["id"]) for call in calls]
        found += [ModelResponse([*text, *parts])] if text or parts else []
        found += [ModelRequest(results)] if results else []
    return found


def _object(arguments: Any) -> dict[str, Any]:
    return arguments if isinstance(arguments, dict) else {}


def _readable(value: Any) -> Any:
    """JSON text as what it says; other text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
