"""The overview: figures that are links to as many memories, charts that follow the theme."""

from urllib.parse import urljoin

from tests.browser.console import Console
from tests.browser.looks import every_language

DRAWN = "[...document.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL())"
ROWS = "#result_list tbody tr"


@every_language
def test_it_counts_what_its_links_lead_to(console: Console, memories, look):
    memories.fill(5)
    memories.fill(3, user="bob", agent="other")
    console.open("/admin/")
    links = [
        (link.get_attribute("href"), link.locator("strong").inner_text())
        for link in console.find(".tiles a").all()
        if "memory_app/memory/" in (link.get_attribute("href") or "") and "status" not in link.get_attribute("href")
    ]
    assert "8" in [number for _path, number in links]
    assert len(links) >= 3
    for path, number in links:
        console.open(urljoin("/admin/", path))
        assert console.find(ROWS).count() == int(number), path


def test_it_redraws_its_charts_in_another_theme(console: Console, memories):
    memories.fill(5)
    console.open("/admin/")
    console.page.wait_for_function("typeof Chart !== 'undefined' && Object.keys(Chart.instances).length > 0")
    light = console.page.evaluate(DRAWN)
    assert light
    console.page.emulate_media(color_scheme="dark")
    console.page.wait_for_function(f"(before) => JSON.stringify({DRAWN}) !== before", arg=str_of(console, light))
    assert console.page.evaluate(DRAWN) != light


def str_of(console: Console, drawn: list[str]) -> str:
    """As JSON.stringify writes it."""
    return str(console.page.evaluate("drawn => JSON.stringify(drawn)", drawn))
