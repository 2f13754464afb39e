"""What axe-core finds serious or critical on pages that come up while acting: nothing."""

from tests.browser.console import LIST, Console
from tests.browser.looks import every_theme
from tests.browser.test_editing import address, stale


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
