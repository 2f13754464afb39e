"""Forgetting a user: every memory and every trace of them in the history, with a receipt."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from memory_app import history, registry, services
from memory_app.contracts import MAX_USER_ID, PageQuery, clean_key
from memory_app.exceptions import InvalidInput, StoreUnavailable
from memory_app.models import MemoryChange, MemoryConfig
from memory_app.providers import transfer


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased of a user in one agent; `problem` says why not all of it was."""

    agent_name: str
    memories: int
    changes: int
    problem: str = ""


def forget(user_id: str, agent_name: str | None = None) -> list[Receipt]:
    """Erases a user's memories and their history in one agent, or in all of them; a receipt for each that had any.

    Raises InvalidInput without a user: the shared memories belong to nobody. A store that can't be reached is told in
    its receipt; run it again for the rest.
    """
    user = clean_key(user_id, "userId", MAX_USER_ID, required=False)
    if not user:
        raise InvalidInput(_("Name the user to forget; shared memories belong to no user."))
    receipts = [_forget_in(name, user) for name in _agents(agent_name)]
    return [receipt for receipt in receipts if receipt.memories or receipt.changes or receipt.problem]


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
    if memories or changes:
        history.erased(agent_name, f"forgot {memories}+{changes}")
    return Receipt(agent_name, memories, changes, problem)


def traces(user_id: str, agent_name: str | None = None) -> list[Receipt]:
    """What `forget` would erase at the moment."""
    found = [_traces_in(name, user_id) for name in _agents(agent_name)]
    return [receipt for receipt in found if receipt.memories or receipt.changes or receipt.problem]


def _traces_in(agent_name: str, user_id: str) -> Receipt:
    kept = MemoryChange.objects.filter(agent_name=agent_name, user_id=user_id).count()
    try:
        owned = PageQuery(agent_names=(agent_name,), user_ids=(user_id,))
        memories = registry.provider_for(agent_name).count(owned)
    except StoreUnavailable as error:
        return Receipt(agent_name, 0, kept, error.message)
    return Receipt(agent_name, memories, kept)
