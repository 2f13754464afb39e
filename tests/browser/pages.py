"""The pages of the console that have an address, for an installation whose first memory is helper:1."""

from agents_app.models import Agent
from tests.browser.console import AGENTS, AUDIT, LIST, PREVIEW, TYPES

PAGES = {
    "overview": "/admin/",
    "list": LIST,
    "filtered": f"{LIST}?q=茶&agentName=helper&updated=30d",
    "nothing found": f"{LIST}?q=无此内容&type=user",
    "choose an agent": f"{LIST}add/",
    "add": f"{LIST}add/?agentName=helper",
    "edit": f"{LIST}helper_3A1/change/",
    "history": f"{LIST}helper_3A1/history/",
    "delete": f"{LIST}helper_3A1/delete/",
    "preview": f"{PREVIEW}?agent=helper&user=ann&message=茶&compare=on&limit2=1&why=1",
    "import": f"{LIST}import/",
    "status": f"{LIST}status/",
    "audit": AUDIT,
    "change": f"{AUDIT}1/change/",
    "types": TYPES,
    "type": f"{TYPES}add/",
    "system type": f"{TYPES}1/change/",
    "agents": AGENTS,
    "agent": f"{AGENTS}add/",
    "chat": f"{AGENTS}<agent>/chat/",
    "keys": "/admin/memory_app/agentkey/",
    "tokens": "/admin/memory_app/apitoken/",
    "password": "/admin/password_change/",
}


def addresses() -> dict[str, str]:
    """The pages, with the number that agent helper has."""
    number = str(Agent.objects.get(name="helper").pk)
    return {name: path.replace("<agent>", number) for name, path in PAGES.items()}
