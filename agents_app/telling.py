"""A turn told in JSON: event by event in a stream, or as a whole."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agents_app.runtime import Called, Delta, Done, Failed, Recalled, Returned, Turn, TurnEvent

PULSE = b": \n\n"  # a comment, which shows whether the client is still there
CONTENT_TYPE = "text/event-stream; charset=utf-8"


class Stream:
    """A turn as server-sent events: memory, delta, tool_call, tool_result, and done or error at the end.

    Whoever closes it closes the turn. `for_operator` shows the memory block and the provider's own word on a failure.
    """

    def __init__(self, turn: Turn, *, for_operator: bool) -> None:
        self._turn = turn
        self._for_operator = for_operator

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        event = next(self._turn)
        if event is None:
            return PULSE
        name, data = told(event, self._turn, for_operator=self._for_operator)
        return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()

    def close(self) -> None:
        """Ends the turn."""
        self._turn.close()


def told(event: TurnEvent, turn: Turn, *, for_operator: bool) -> tuple[str, dict[str, Any]]:
    """An event's name and its data."""
    match event:
        case Recalled():
            return "memory", recalled(event, for_operator=for_operator)
        case Delta(text=text, step=step):
            return "delta", {"text": text, "step": step}
        case Called(id=key, name=name, arguments=arguments):
            return "tool_call", {"id": key, "name": name, "arguments": arguments}
        case Returned(id=key, name=name, result=result):
            return "tool_result", {"id": key, "name": name, "result": result}
        case Done():
            return "done", finished(turn, event)
        case Failed():
            return "error", failed(turn, event, for_operator=for_operator)


def recalled(event: Recalled, *, for_operator: bool) -> dict[str, Any]:
    """How the prefetch went; the block itself is for operators."""
    given = event.prefetched
    if given is None:
        return {"enabled": False}
    shown: dict[str, Any] = {
        "enabled": True,
        "hits": len(given.hits),
        "characters": len(given.block),
        "milliseconds": round(given.milliseconds, 1),
    }
    shown |= {"failure": given.failure} if given.failure else {}
    return shown | ({"block": given.block} if for_operator else {})


def finished(turn: Turn, event: Done) -> dict[str, Any]:
    """The end of a turn that went well."""
    return {"sessionId": turn.asking.session.id, "model": event.answer.model, "usage": usage(event)}


def failed(turn: Turn, event: Failed, *, for_operator: bool) -> dict[str, Any]:
    """The end of a turn that didn't."""
    told: dict[str, Any] = {
        "error": event.error.code,
        "message": event.error.message,
        "sessionId": turn.asking.session.id,
        "usage": usage(event),
    }
    return told | ({"detail": event.error.detail} if for_operator else {})


def usage(event: Done | Failed) -> Mapping[str, int]:
    """The tokens of a turn."""
    used = event.answer.usage
    return {"inputTokens": used.input_tokens, "outputTokens": used.output_tokens}


def whole(turn: Turn, *, for_operator: bool) -> tuple[dict[str, Any], str]:
    """Runs a turn to its end and closes it: everything that it told, and the code of its failure, "" for none."""
    answer: dict[str, Any] = {}
    code = ""
    try:
        for event in turn:
            name, data = told(event, turn, for_operator=for_operator) if event else ("", {})
            if name == "memory":
                answer["memory"] = data
            elif isinstance(event, Done | Failed):
                steps = event.answer.steps
                answer |= {"reply": event.answer.text, "toolCalls": [call for step in steps for call in step.calls]}
                answer |= data
                code = event.answer.error
    finally:
        turn.close()
    return answer, code
