"""What axe-core finds serious or critical on the pages of the console: nothing."""

from tests.browser.console import AGENTS, AUDIT, LIST, TYPES, Console
from tests.browser.looks import every_theme

PAGES = {
    "overview": "/admin/",
    "list": LIST,
    "found": f"{LIST}?q=tea",
    "add": f"{LIST}add/",
    "edit": f"{LIST}helper_3A1/change/",
    "history": f"{LIST}helper_3A1/history/",
    "delete": f"{LIST}helper_3A1/delete/",
    "import": f"{LIST}import/",
    "status": f"{LIST}status/",
    "audit": AUDIT,
    "change": f"{AUDIT}1/change/",
    "types": TYPES,
    "type": f"{TYPES}add/",
    "system type": f"{TYPES}1/change/",
    "agents": AGENTS,
    "agent": f"{AGENTS}add/",
    "keys": "/admin/memory_app/agentkey/",
    "tokens": "/admin/memory_app/apitoken/",
}


@every_theme
def test_it_has_no_serious_violation(console: Console, memories, look):
    assert memories.save("Drinks tea in the morning", metadata={"cups": 2}) == "helper:1"
    found = {}
    for name, path in PAGES.items():
        console.open(path)
        found[name] = console.violations()
    assert {name: violations for name, violations in found.items() if violations} == {}
