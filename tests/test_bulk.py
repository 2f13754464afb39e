"""Bulk actions on the list of all stores."""

import json

import pytest
from django.test import Client

from agents_app.services import create_agent
from memory_app import search, services
from memory_app.admin import bulk
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.importing import read_lines
from tests.conftest import draft
from tests.test_admin import LIST

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def memories(agent) -> dict[str, object]:
    """Two memories in each of two stores."""
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    drafts = [draft(f"{name} {n}", Scope(name, "ann")) for name in ("helper", "own") for n in (1, 2)]
    return {result.memory.content: result.memory for result in services.save_many(drafts)}


def reference(memory) -> str:
    return f"{memory.agent_name}:{memory.id}"


def ask(console: Client, action: str, chosen, **more):
    sent = {"action": action, "_selected_action": [reference(memory) for memory in chosen]} | more
    return console.post(LIST, sent)


def confirm(console: Client, page, **more):
    context = page.context
    sent = {"action": context["action"], "confirmed": "1", "select_across": "1", "carried": context["carried"]}
    return console.post(LIST, sent | {"_selected_action": "x"} | more, follow=True).content.decode()


def contents() -> set[str]:
    return {entry.content for _backend, entry in search.page(PageQuery(size=100)).rows}


def test_it_deletes_over_stores_after_a_confirmation_with_counts(console, memories):
    page = ask(console, "delete_chosen", [memories["helper 1"], memories["own 2"]])
    assert page.context["total"] == 2
    assert dict(page.context["by_agent"]) == {"helper": 1, "own": 1}
    assert len(contents()) == 4
    assert "2 memories done" in confirm(console, page)
    assert contents() == {"helper 2", "own 1"}


def test_it_takes_all_that_match_the_filters(console, memories):
    sent = {"action": "delete_chosen", "select_across": "1", "_selected_action": [reference(memories["own 1"])]}
    page = console.post(f"{LIST}?agentName=own", sent)
    assert page.context["total"] == 2
    confirm(console, page)
    assert contents() == {"helper 1", "helper 2"}


def test_it_says_what_was_gone_already(console, memories):
    page = ask(console, "delete_chosen", [memories["helper 1"], memories["helper 2"]])
    services.delete(Scope.all_users("helper"), [memories["helper 1"].id])
    text = confirm(console, page)
    assert "1 memory done" in text
    assert "Agent helper: 1 was changed or deleted meanwhile and left alone" in text


def test_it_deletes_nothing_that_changed_after_the_question(console, memories):
    page = ask(console, "delete_chosen", memories.values())
    services.update(Scope.all_users("own"), memories["own 1"].id, MemoryChanges(content="edited"))
    text = confirm(console, page)
    assert "3 memories done" in text
    assert "Agent own: 1 was changed or deleted meanwhile and left alone" in text
    assert contents() == {"edited"}


def test_it_changes_types_but_not_of_rows_that_changed_meanwhile(console, memories):
    page = ask(console, "retype_chosen", memories.values())
    changed = memories["own 1"]
    services.update(Scope.all_users("own"), changed.id, MemoryChanges(content="edited"))
    text = confirm(console, page, type="project")
    assert "3 memories done" in text
    assert f"Memory own:{changed.id}: changed meanwhile" in text
    types = {entry.content: entry.type for _backend, entry in search.page(PageQuery(size=9)).rows}
    assert types == {"helper 1": "project", "helper 2": "project", "edited": "user", "own 2": "project"}


@pytest.mark.parametrize(
    "carried",
    ["", "[]", "{}", "[[1]]", '{"helper": {"x": "y"}}', "null", '{"helper": [[], {}, 5]}', '{"helper": {"1": 5}}'],
)
def test_it_does_nothing_for_a_confirmation_that_names_nothing(console, memories, carried):
    sent = {"action": "delete_chosen", "confirmed": "1", "_selected_action": "x", "carried": carried}
    assert "0 memories done" in console.post(LIST, sent, follow=True).content.decode()
    assert len(contents()) == 4


def test_it_exports_what_an_import_takes(console, memories):
    response = ask(console, "export_json", memories.values())
    lines = b"".join(response.streaming_content).decode().splitlines()
    drafts = [line.draft for line in read_lines(lines, "other", None, "user")]
    assert {item.content for item in drafts} == contents()
    assert {item.user_id for item in drafts} == {"ann"}
    assert json.loads(lines[0])["metadata"] == {}


@pytest.mark.parametrize("action", ["export_json", "export_csv"])
def test_it_exports_all_that_match_or_says_that_they_are_too_many(console, memories, monkeypatch, action):
    monkeypatch.setattr(bulk, "MAX_SELECTED", 3)
    chosen = {"action": action, "select_across": "1", "_selected_action": [reference(memories["own 1"])]}
    page = console.post(LIST, chosen, follow=True)
    assert "4 memories match; at most 3 are exported at once." in page.content.decode()
    few = console.post(f"{LIST}?agentName=own", chosen)
    assert "attachment" in few["Content-Disposition"]


def test_it_exports_csv_without_formulas(console, agent):
    memory = services.save(draft('=1+1 "q"\n花生', name="@name")).memory
    text = b"".join(ask(console, "export_csv", [memory]).streaming_content).decode()
    assert text.startswith("\ufeffagentName,")
    assert "'=1+1" in text
    assert "'@name" in text


def test_it_offers_only_what_the_operator_may(client, django_user_model, memories):
    from django.contrib.auth.models import Permission

    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client.force_login(clerk)
    page = client.get(LIST).content.decode()
    assert "export_csv" in page
    assert "delete_chosen" not in page
    ask(client, "delete_chosen", memories.values())
    assert len(contents()) == 4
