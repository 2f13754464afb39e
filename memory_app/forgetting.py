"""Forgetting a user: every memory, every trace of them in the history, and what other apps keep, with a receipt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from django.utils.translation import gettext as _

from memory_app import history, registry, services
from memory_app.contracts import MAX_USER_ID, PageQuery, clean_key
from memory_app.exceptions import InvalidInput, StoreUnavailable
from memory_app.models import MemoryChange, MemoryConfig
from memory_app.providers import transfer


@dataclass(frozen=True, slots=True)
class Trace:
    """What another app keeps of users; both functions take the agent's name and the user, and return a number."""

    name: str
    label: Any
    count: Callable[[str, str], int]
    erase: Callable[[str, str], int]


TRACES: dict[str, Trace] = {}  # apps add theirs when they are ready


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased of a user in one agent, `others` by the name of their trace; `problem` says why not all was."""

    agent_name: str
    memories: int
    changes: int
    problem: str = ""
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def found_something(self) -> bool:
        """Whether it has anything to tell."""
        return bool(self.memories or self.changes or self.problem or any(self.others.values()))

    @property
    def numbers(self) -> dict[str, int]:
        """Every count by its name."""
        others = {name: self.others.get(name, 0) for name in TRACES}
        return {"memories": self.memories, "changes": self.changes, **others}


def forget(user_id: str, agent_name: str | None = None) -> list[Receipt]:
    """Erases everything of a user in one agent, or in all of them; a receipt for each that had anything.

    Raises InvalidInput without a user: the shared memories belong to nobody. A store that can't be reached is told in
    its receipt; run it again for the rest.
    """
    user = clean_key(user_id, "userId", MAX_USER_ID, required=False)
    if not user:
        raise InvalidInput(_("Name the user to forget; shared memories belong to no user."))
    receipts = [_forget_in(name, user) for name in _agents(agent_name)]
    return [receipt for receipt in receipts if receipt.found_something]


def _agents(agent_name: str | None) -> Sequence[str]:
    if agent_name is not None:
        return [registry.config_for(agent_name).agent.name]
    return list(MemoryConfig.objects.order_by("agent__name").values_list("agent__name", flat=True))


def _forget_in(agent_name: str, user_id: str) -> Receipt:
    memories, problem = 0, ""
    for place in services.places_of(agent_name):
        try:
            memories += transfer.remove_all(registry.store_at(place), agent_name, user_id=user_id)
        except StoreUnavailable as error:
            problem = error.message
    changes = history.erase_user(agent_name, user_id)
    others = _others(agent_name, user_id, attrgetter("erase"))
    if memories or changes or others:
        numbers = (memories, changes, *others.values())
        history.erased(agent_name, "forgot " + "+".join(str(number) for number in numbers))
    return Receipt(agent_name, memories, changes, problem, others)


def _others(agent_name: str, user_id: str, ask: Any) -> dict[str, int]:
    """By trace, where it is anything."""
    numbers = {name: ask(trace)(agent_name, user_id) for name, trace in TRACES.items()}
    return {name: number for name, number in numbers.items() if number}


def traces(user_id: str, agent_name: str | None = None) -> list[Receipt]:
    """What `forget` would erase at the moment."""
    found = [_traces_in(name, user_id) for name in _agents(agent_name)]
    return [receipt for receipt in found if receipt.found_something]


def _traces_in(agent_name: str, user_id: str) -> Receipt:
    kept = MemoryChange.objects.filter(agent_name=agent_name, user_id=user_id).count()
    others = _others(agent_name, user_id, attrgetter("count"))
    try:
        owned = PageQuery(agent_names=(agent_name,), user_ids=(user_id,))
        memories = registry.provider_for(agent_name).count(owned)
    except StoreUnavailable as error:
        return Receipt(agent_name, 0, kept, error.message, others)
    return Receipt(agent_name, memories, kept, others=others)
