"""Text that would run, overflow or turn a page around is shown as text everywhere, and changes nowhere."""

import pytest

from memory_app import search
from memory_app.contracts import Scope
from tests.browser.console import LIST, PREVIEW, Console
from tests.browser.looks import ENGLISH, PHONE
from tests.browser.test_editing import address, save, stored

TEXTS = {
    "script": "<script>alert(1)</script> tea",
    "attribute": "\"><img src=x onerror=alert(1)> tea ' onfocus=alert(1) x='",
    "direction": "tea \u202eevil\u202c \u2066abc\u2069 \u200f שלום مرحبا",
    "emoji": "tea 👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇳 e\u0301",
    "formula": "=1+1 tea",
    "template": "{{ 7 }}{% now %} ${7} tea &amp; &lt;b&gt;",
    "unbroken": "tea " + "x" * 8_188,
}
PAGES = ["change", "history", "delete"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_shows_any_text_as_it_is(console: Console, memories, text):
    dialogs: list[str] = []
    console.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    memory = memories.save(text, name=text[:255], description=text[:500], metadata={text[:100]: text})
    pages = [LIST, f"{LIST}?q=tea", *(address(memory, page) for page in PAGES)]
    for path in [*pages, f"{PREVIEW}?agent=helper&user=ann&message=tea"]:
        console.open(path)
        assert console.overflow() == 0, path
    assert console.find(".candidates .content").first.text_content() in (text, text[:1_200] + " …")
    assert dialogs == []


@pytest.mark.parametrize("look", [ENGLISH, PHONE], ids=str)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_saves_any_text_unchanged(console: Console, memories, look, text):
    memory = memories.save(text, name="name", metadata={text[:100]: [text, None]})
    before = stored(memory)
    console.open(address(memory))
    assert console.overflow() == 0
    assert console.find("#id_content").input_value() == text
    console.find("#id_name").fill("other")
    save(console)
    after = stored(memory)
    assert (after.name, after.content, after.metadata) == ("other", before.content, before.metadata)
    assert after.content == text
    assert search.count_by_type(Scope.all_users("helper")) == {"user": 1}
