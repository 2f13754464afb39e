"""What was said: the only reader and writer of messages, by agent, user and session."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from agents_app.exceptions import AgentDisabled
from agents_app.models import MAX_SESSION_ID, Agent, Message
from memory_app.contracts import MAX_AGENT_NAME, MAX_CONTENT, MAX_USER_ID, clean_key, clean_text
from memory_app.exceptions import UnknownAgent


@dataclass(frozen=True, slots=True)
class Session:
    """Whose conversation it is: three parts, compared byte for byte."""

    agent: Agent
    user_id: str
    id: str


@dataclass(slots=True)
class Step:
    """One answer of the model: its text, and the tools it called, with their results once they are there."""

    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a turn."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Answer:
    """What a turn has brought so far; `error` is the code of what ended it early."""

    model: str
    steps: list[Step] = field(default_factory=list)
    usage: Usage = Usage()
    error: str = ""

    @property
    def text(self) -> str:
        """What the user reads: the texts of all steps."""
        return "\n\n".join(step.text for step in self.steps if step.text)


def session_of(agent_name: Any, user_id: Any, session_id: Any = "") -> Session:
    """The session that a door was asked for, a new one without an id.

    Raises InvalidInput for a bad part, UnknownAgent, or AgentDisabled.
    """
    name = clean_key(agent_name, "agentName", MAX_AGENT_NAME)
    user = clean_key(user_id, "userId", MAX_USER_ID)
    given = "" if session_id is None else session_id
    session = clean_key(given, "sessionId", MAX_SESSION_ID, required=False) or uuid.uuid4().hex
    agent = Agent.objects.filter(name=name, memory__isnull=False).first()
    if agent is None:
        raise UnknownAgent(_('There is no agent "%(name)s"; create it in the console first.') % {"name": name})
    if not agent.enabled:
        raise AgentDisabled(_("Agent %(name)s is disabled.") % {"name": name})
    return Session(agent, user, session)


def clean_message(value: Any) -> str:
    """What a user says; raises InvalidInput for nothing, or too much."""
    return clean_text(value, "message", MAX_CONTENT, required=True)


def said(session: Session, text: str) -> Message:
    """Keeps what the user said."""
    return _rows(session).create(
        agent=session.agent, user_id=session.user_id, session_id=session.id, role=Message.Role.USER, content=text
    )


def answered(session: Session, question: Message, answer: Answer) -> bool:
    """Keeps what the agent answered; False, and nothing is kept, when the question was erased meanwhile."""
    steps = [step for step in answer.steps if step.text or step.calls] or [Step()]
    rows = [_row(session, step) for step in steps]
    rows[-1].model = answer.model
    rows[-1].error = answer.error
    rows[-1].input_tokens, rows[-1].output_tokens = answer.usage.input_tokens, answer.usage.output_tokens
    with transaction.atomic():
        # Locked, so that forgetting the user waits, and then erases these too.
        if not _rows(session).select_for_update().filter(pk=question.pk).exists():
            return False
        for row in rows:  # one by one: their ids are their order
            row.save()
    return True


def _row(session: Session, step: Step) -> Message:
    return Message(
        agent=session.agent,
        user_id=session.user_id,
        session_id=session.id,
        role=Message.Role.ASSISTANT,
        content=step.text,
        tool_calls=step.calls,
    )


def history(session: Session) -> list[Message]:
    """The session's last whole turns within NETACLAW_CHAT_HISTORY_TURNS and _CHARACTERS, oldest first."""
    most, room = settings.CHAT_HISTORY_TURNS, settings.CHAT_HISTORY_CHARACTERS
    starts = _rows(session).filter(role=Message.Role.USER).order_by("-id").values_list("pk", flat=True)[:most]
    first = min(starts, default=None)
    rows = _rows(session).filter(pk__gte=first).order_by("-id") if first is not None else ()
    kept: list[Message] = []
    turn: list[Message] = []
    for row in rows:
        turn.append(row)
        room -= _size(row)
        if room < 0:
            break
        if row.role == Message.Role.USER:
            kept, turn = kept + turn, []
    return kept[::-1]


def messages(session: Session) -> Sequence[Message]:
    """The session from its beginning, for operators."""
    return list(_rows(session).order_by("id")[:1_000])


def count_of_user(agent_name: str, user_id: str) -> int:
    """How many messages a user has in an agent."""
    return Message.objects.filter(agent__name=agent_name, user_id=user_id).count()


def erase_user(agent_name: str, user_id: str) -> int:
    """Erases a user's messages in an agent; returns how many there were."""
    return Message.objects.filter(agent__name=agent_name, user_id=user_id).delete()[0]


def _rows(session: Session) -> Any:
    return Message.objects.filter(agent=session.agent, user_id=session.user_id, session_id=session.id)


def _size(row: Message) -> int:
    calls = sum(len(str(call.get("arguments"))) + len(str(call.get("result"))) for call in row.tool_calls)
    return len(row.content) + calls
