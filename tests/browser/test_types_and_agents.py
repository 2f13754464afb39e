"""Types, agents and their keys in a browser."""

import json

import pytest

from agents_app.models import Agent
from memory_app import keys, services
from memory_app.models import AgentKey, MemoryType
from tests.browser.console import AGENTS, TYPES, Console
from tests.browser.looks import every_theme, on_phones

KEYS = "/admin/memory_app/agentkey/"
SCHEMA = {"type": "object", "properties": {"os": {"type": "string"}, "cores": {"type": "integer"}}, "required": ["os"]}


@pytest.fixture
def pages(console: Console, memories) -> list[str]:
    """Every page of this part, with something on it."""
    memories.save("Prefers decaf")
    agent = Agent.objects.get()
    key = keys.issue(agent.pk, "root", {"name": "crm"}).row
    item = MemoryType.objects.get(key="user")
    services.update_type(item, {"metadata_schema": SCHEMA})
    own = MemoryType.objects.create(key="environment", name="环境", color="#0891b2", icon="server")
    return [
        TYPES,
        f"{TYPES}add/",
        f"{TYPES}{item.pk}/change/",
        f"{TYPES}{own.pk}/delete/",
        AGENTS,
        f"{AGENTS}{agent.pk}/change/",
        f"{AGENTS}{agent.pk}/delete/",
        KEYS,
        f"{KEYS}add/",
        f"{KEYS}{key.pk}/revoke/",
    ]


@every_theme
def test_it_can_be_read_by_everybody(console: Console, pages, look):
    found = {}
    for path in pages:
        console.open(path)
        found[path] = console.violations()
    assert found == {path: [] for path in pages}


@on_phones
def test_it_fits_a_phone(console: Console, pages, look):
    for path in pages:
        console.open(path)
        assert console.overflow() == 0, path


def test_it_draws_the_form_of_a_schema_while_it_is_written(console: Console, memories):
    memories.save("fits", metadata={"os": "debian"})
    memories.save("does not fit", metadata={"os": 7})
    item = MemoryType.objects.get(key="user")
    console.open(f"{TYPES}{item.pk}/change/")
    console.label("Metadata schema:").fill(json.dumps(SCHEMA))
    console.button("Preview").click()
    console.find("#schema-form input").nth(1).wait_for()
    assert console.find("#schema-form label").all_inner_texts() == ["os", "cores"]
    console.button("Check existing memories").click()
    console.find("#schema-result .misfits li").wait_for()
    assert "1 memory doesn't fit. Looked at 2 of 2." in console.find("#schema-result").inner_text()
    console.label("Metadata schema:").fill("{")
    console.find("#schema-result .errornote").wait_for()
    item.refresh_from_db()
    assert item.metadata_schema is None


def test_it_saves_a_type_by_the_enter_key(console: Console):
    item = MemoryType.objects.get(key="user")
    console.open(f"{TYPES}{item.pk}/change/")
    console.find('label[title="star"]').click()
    console.find('input[type="color"]').fill("#112233")
    assert console.label("Colour:").input_value() == "#112233"
    with console.page.expect_navigation():
        console.label("Name:").press("Enter")
    item.refresh_from_db()
    assert (item.icon, item.color) == ("star", "#112233")


def test_it_shows_a_key_once_and_copies_it(console: Console, memories):
    memories.agent("helper")
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    console.open(f"{AGENTS}{Agent.objects.get().pk}/change/")
    console.follow(console.link("New key"))
    console.label("Name:").fill("crm")
    console.follow(console.button("Save"))
    text = console.find("#secret").inner_text()
    console.button("Copy").click()
    console.page.wait_for_function("text => navigator.clipboard.readText().then((copied) => copied === text)", arg=text)
    console.follow(console.link("I have copied it"))
    assert text not in console.page.content()
    assert keys.authenticate(text) == AgentKey.objects.get()


def test_it_disables_an_agent_from_the_list(console: Console, memories):
    memories.agent("helper")
    console.open(AGENTS)
    console.follow(console.button("Disable"))
    assert console.messages() == "Agent helper is disabled."
    assert not Agent.objects.get().enabled
    assert console.button("Enable").is_visible()
