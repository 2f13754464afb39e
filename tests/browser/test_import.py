"""Importing and copying in a browser."""

import json

from memory_app import search
from memory_app.contracts import PageQuery
from tests.browser.console import LIST, Console
from tests.browser.looks import every_look, on_phones

IMPORT = f"{LIST}import/"
REFUSED = "void (navigator.clipboard.writeText = () => Promise.reject(new Error('refused')))"


def check(console: Console, text: str) -> None:
    console.open(IMPORT)
    console.find("#id_file").set_input_files({"name": "m.jsonl", "mimeType": "text/plain", "buffer": text.encode()})
    console.find("#id_agent").select_option("helper")
    console.follow(console.find(".submit-row input"))


def test_it_imports_a_file_after_a_dry_run(console: Console, memories):
    memories.agent("helper")
    check(console, '{"content": "一"}\n{"content": "two"}\n{"content": ""}\n')
    assert "2 memories would be created" in console.messages()
    assert "content must not be empty" in console.find(".not-done").inner_text()
    assert search.page(PageQuery()).total == 0
    console.follow(console.button("Import 2 memories"))
    assert "2 memories created" in console.messages()
    console.page.reload()
    assert search.page(PageQuery()).total == 2


@every_look
def test_it_breaks_no_rule_of_accessibility(console: Console, memories, look):
    memories.agent("helper")
    console.open(IMPORT)
    assert console.violations() == []
    check(console, '{"content": "一"}\n{}\n')
    assert console.violations() == []


@on_phones
def test_it_fits_a_phone(console: Console, memories, look):
    memories.agent("helper")
    check(console, json.dumps({"content": "x" * 300}) + "\n" + json.dumps({"content": "x", "type": "y" * 300}) + "\n")
    assert console.overflow() == 0


def add_copy_button(console: Console) -> None:
    console.open(IMPORT)
    script = """() => {
      const made = document.createElement("button");
      made.dataset.copy = "helper:12 花生";
      made.textContent = "Copy it";
      document.querySelector("#content-main").append(made);
    }"""
    console.page.evaluate(script)


def pasted(console: Console) -> str:
    console.find("#id_text").fill("")
    console.find("#id_text").focus()
    console.page.keyboard.press("Control+v")
    return console.find("#id_text").input_value()


def test_it_copies_and_says_so(console: Console):
    add_copy_button(console)
    console.button("Copy it").click()
    console.page.get_by_text("Copied.", exact=True).wait_for()
    assert pasted(console) == "helper:12 花生"


def test_it_copies_where_the_clipboard_is_refused(console: Console):
    add_copy_button(console)
    console.page.evaluate(REFUSED)
    console.button("Copy it").click()
    console.page.get_by_text("Copied.", exact=True).wait_for()
    assert pasted(console) == "helper:12 花生"


def test_it_says_when_nothing_can_copy(console: Console):
    add_copy_button(console)
    console.page.evaluate(REFUSED)
    console.page.evaluate("void (document.execCommand = () => false)")
    console.button("Copy it").click()
    console.page.get_by_text("The browser refuses copying").wait_for()
