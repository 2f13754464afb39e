"""An async run, driven step by step from a thread that serves a request.

The loop runs only while the thread waits for the next step. Between the steps the thread is as any other: it queries
the database on its own connection, writes to its client, and sets context variables. So what the run needs of the
database it asks of the thread, and no query is ever made inside a loop.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

Event = TypeVar("Event")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the run asks of the thread; it waits until `answer` is called."""

    question: Any
    future: "asyncio.Future[Any]"

    def answer(self, value: Any) -> None:
        """Lets the run go on with this value."""
        if not self.future.done():
            self.future.set_result(value)


class Desk:
    """Where a run asks its thread."""

    def __init__(self) -> None:
        self.questions: asyncio.Queue[Asked] = asyncio.Queue()

    async def ask(self, question: Any) -> Any:
        """The thread's answer."""
        asked = Asked(question, asyncio.get_running_loop().create_future())
        self.questions.put_nowait(asked)
        return await asked.future


Run = Callable[[Desk], AbstractAsyncContextManager[AsyncIterator[Event]]]


def steps(run: Run[Event], pulse: float) -> Iterator[Event | Asked | None]:
    """The run's events and questions in their order, and None after each `pulse` seconds without any.

    Closing the iterator cancels the run and waits until it has ended; what the run raises is raised here.
    """
    with asyncio.Runner() as runner:
        desk = Desk()
        opened = run(desk)
        events = runner.run(opened.__aenter__())
        try:
            yield from _each(runner, events, desk, pulse)
        finally:
            runner.run(opened.__aexit__(None, None, None))


def _each(
    runner: asyncio.Runner, events: AsyncIterator[Event], desk: Desk, pulse: float
) -> Iterator[Event | Asked | None]:
    waiting: dict[str, asyncio.Task[Any]] = {}
    sources: dict[str, Callable[[], Any]] = {"event": events.__anext__, "question": desk.questions.get}

    async def next_done() -> Any:
        for name in sources.keys() - waiting.keys():
            waiting[name] = asyncio.ensure_future(sources[name]())
        await asyncio.wait(waiting.values(), timeout=pulse, return_when=asyncio.FIRST_COMPLETED)
        # An event comes first: a call is told before it is asked for.
        done = [name for name in sources if waiting[name].done()]
        return await waiting.pop(done[0]) if done else None

    try:
        while True:
            yield runner.run(next_done())
    except StopAsyncIteration:
        return
    finally:
        runner.run(_cancel(list(waiting.values())))


async def _cancel(tasks: list["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
