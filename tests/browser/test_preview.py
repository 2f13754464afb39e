"""The recall preview in a browser."""

import pytest

from memory_app import search
from memory_app.contracts import Scope
from tests.browser.console import PREVIEW, Console
from tests.browser.looks import every_language, every_theme, on_phones

HIT = {"en": "Hit", "zh-hans": "命中"}
NONE = {"en": "No result", "zh-hans": "无结果"}
FAILED = {"en": "Failed", "zh-hans": "失败"}


def ask(console: Console, message: str, user: str = "ann") -> None:
    console.open(PREVIEW)
    console.find("#id_agent").select_option("helper")
    console.find("#id_user").fill(user)
    console.find("#id_message").fill(message)
    with console.page.expect_navigation():
        console.find("#id_message").press("Control+Enter")


@every_language
def test_it_shows_the_block_as_it_is_sent_and_marks_other_forms_of_a_word(console: Console, memories, look):
    for text in ("He rewrote it twice; rewriting took days", "Drinks tea", "共享的事实:rewrites are shared"):
        memories.save(text, user="" if "共享" in text else "ann")
    ask(console, "rewrites")
    sent = search.prefetch(Scope("helper", "ann"), "rewrites")
    assert console.find("pre.block").text_content() == sent.block != ""
    assert HIT[look.language] in console.find(".outcome").first.inner_text()
    assert set(console.find(".candidates mark").all_inner_texts()) == {"rewriting", "rewrites"}
    assert "message=rewrites" in console.path


@every_language
def test_it_tells_no_result_from_a_failure(console: Console, memories, look, data_dir):
    memories.agent("helper", memory={"backend": "sqlite"})
    memories.save("Drinks tea")
    ask(console, "zebra")
    assert NONE[look.language] in console.find(".outcome").inner_text()
    for file in (data_dir / "memory").glob("memory.db*"):
        file.unlink()
    (data_dir / "memory" / "memory.db").write_bytes(b"damaged " * 999)
    ask(console, "tea")
    assert FAILED[look.language] in console.find(".errornote").inner_text()
    assert console.find(".outcome").count() == 0


def test_it_explains_why_a_memory_is_not_injected(console: Console, memories):
    late = memories.save("tea " + "and a long story " * 20)
    memories.fill(6, text="tea %d")
    ask(console, "tea")
    console.find("#id_why").fill(late)
    console.follow(console.button("Explain"))
    assert "It is number 7" in console.find(".why .outcome").inner_text()
    console.find("#id_why").fill("nonsense")
    console.follow(console.button("Explain"))
    assert "Write agent:id" in console.find(".why .errorlist").inner_text()


def test_it_compares_two_settings(console: Console, memories):
    memories.fill(6, text="tea %d")
    ask(console, "tea")
    assert not console.find("#id_limit2").is_visible()
    console.find("#id_compare").check()
    console.find("#id_limit2").fill("2")
    console.follow(console.find(".submit-row input"))
    assert [line.split(" · ")[-1] for line in console.find(".side .outcome").all_inner_texts()] == [
        "5 memories injected",
        "2 memories injected",
    ]
    assert console.overflow() == 0


def test_it_sends_a_long_message_without_an_address(console: Console, memories):
    memories.save("Drinks tea")
    ask(console, "tea " + "long " * 500)
    assert console.path == PREVIEW
    assert "Drinks tea" in console.find("pre.block").inner_text()


@every_theme
def test_it_is_accessible(console: Console, memories, look):
    memories.save("Drinks tea in the morning")
    console.open(f"{PREVIEW}?agent=helper&user=ann&message=tea+zebra&compare=on&limit2=1&why=1")
    assert console.find("pre.block").count() == 2
    assert console.violations() == []


@on_phones
@pytest.mark.parametrize("word", ["tea", "茶" * 3_000])
def test_it_fits_a_phone(console: Console, memories, look, word):
    memories.save(word + "x" * 5_000, name=word[:200])
    console.open(PREVIEW)
    console.find("#id_message").fill(word)
    console.find("#id_user").fill("ann")
    console.follow(console.find(".submit-row input"))
    assert console.find(".candidates li").count() == 1
    assert console.overflow() == 0
