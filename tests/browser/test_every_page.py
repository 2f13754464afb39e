"""Every page in every look: no problem in the browser, nothing beside the screen, nothing in the wrong language."""

import re

import pytest

from tests.browser.console import Console
from tests.browser.looks import CHINESE_DARK, CHINESE_PHONE, DARK, ENGLISH, every_theme
from tests.browser.pages import addresses

HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$")
# Two words of English in a row; names, codes, JSON and what a person would type are no language.
ENGLISH_WORDS = re.compile(r"\b[A-Za-z]{2,} [a-z]{2,}\b")
JSON = re.compile(r"\{.*?\}")
TEXTS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const holder = walker.currentNode.parentElement;
    if (!holder.closest('code, pre, script, style, textarea, [lang=en], select[name=timezone]'))
      found.push(walker.currentNode.textContent.trim());
  }
  for (const holder of document.querySelectorAll('[title], [aria-label], [placeholder]'))
    found.push(holder.title, holder.ariaLabel ?? '', holder.placeholder ?? '');
  for (const button of document.querySelectorAll('input[type=submit]')) found.push(button.value);
  return found.filter(Boolean);
}"""


def fill(memories) -> None:
    """Texts in Chinese, so that all English is the console's own."""
    assert memories.save("早上喝绿茶", name="饮茶习惯", metadata={"杯": 2}) == "helper:1"
    memories.fill(60, text="第 %d 条记忆,内容比一列所能显示的要长得多,因此必须被截断,不得撑宽页面")


@pytest.mark.parametrize("look", [ENGLISH, DARK, CHINESE_DARK, CHINESE_PHONE], ids=str)
def test_it_has_no_page_with_a_problem(console: Console, memories, look):
    fill(memories)
    too_wide, foreign = {}, {}
    for name, path in addresses().items():
        console.open(path)
        too_wide[name] = console.overflow()
        if look.language == "zh-hans":
            foreign[name] = [text for text in console.page.evaluate(TEXTS) if ENGLISH_WORDS.search(JSON.sub("", text))]
    assert {name: pixels for name, pixels in too_wide.items() if pixels > 0} == {}
    assert {name: texts for name, texts in foreign.items() if texts} == {}
    assets = [url for url in console.requests if "/static/" in url]
    assert assets
    assert [url for url in assets if not HASHED.search(url)] == []


@every_theme
def test_it_has_no_page_with_a_serious_violation(console: Console, memories, look):
    fill(memories)
    found = {}
    for name, path in addresses().items():
        console.open(path)
        found[name] = console.violations()
    assert {name: violations for name, violations in found.items() if violations} == {}
