"""What axe-core finds serious or critical on the pages of the console: nothing."""

from tests.browser.console import AGENTS, AUDIT, LIST, TYPES, Console
from tests.browser.looks import every_theme
from tests.browser.test_editing import address, stale

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


def opened_by_acting(open_console, operator, memories) -> list[Console]:
    """Pages that have no address: a conflict, the question of a bulk action."""
    memory = memories.save("Drinks tea", metadata={"cups": 2})
    conflict = stale(open_console, operator, memory, {"content": "green tea"}, {"content": "black tea", "name": "n"})
    bulk = open_console(operator)
    bulk.open(LIST)
    bulk.find("input.action-select").first.check()
    bulk.follow(bulk.button("Delete"))
    history = open_console(operator)
    history.open(f"{address(memory, 'history')}?a=1&b=2")
    return [conflict, bulk, history]


@every_theme
def test_it_has_no_serious_violation_on_the_way(open_console, operator, memories, look):
    consoles = opened_by_acting(open_console, operator, memories)
    assert [console.violations() for console in consoles] == [[], [], []]
    assert [console.overflow() for console in consoles] == [0, 0, 0]
