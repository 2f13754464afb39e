"""The history of a memory, the audit, and forgetting a user, in the console."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from agents_app.services import create_agent
from memory_app import search, services
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.models import MemoryChange
from tests.conftest import draft
from tests.pages import fields_of
from tests.test_admin import LIST

pytestmark = pytest.mark.django_db
ANN = Scope("helper", "ann")
AUDIT = "/admin/memory_app/memorychange/"
FORGET = f"{LIST}forget/"


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def memory(agent):
    saved = services.save(draft("tea <b>first</b>", name="title")).memory
    return services.update(ANN, saved.id, MemoryChanges(content="tea second", metadata={"n": 1}))


def history_of(memory) -> str:
    return f"{LIST}{memory.agent_name}_3A{memory.id}/history/"


def text_of(response) -> str:
    return response.content.decode()


def test_it_lists_the_versions_with_who_made_them(console, memory):
    console.post(f"{LIST}", {"action": "x"})
    page = text_of(console.get(history_of(memory)))
    assert "tea second" in page
    assert "tea &lt;b&gt;first" in page
    assert page.count(">Restore</a>") == 1


def test_it_names_the_operator_who_edited_in_the_console(console, memory):
    address = history_of(memory).replace("history", "delete")
    console.post(address, fields_of(console.get(address), ""))
    page = text_of(console.get(history_of(memory)))
    assert "root · console" in page
    assert "This memory was deleted." in page


def test_it_compares_two_versions(console, memory):
    page = text_of(console.get(history_of(memory), {"a": "1", "b": "2"}))
    assert "<del>" in page
    assert "Metadata" in page
    assert "No difference." in text_of(console.get(history_of(memory), {"a": "2", "b": "2"}))
    assert console.get(history_of(memory), {"a": "1", "b": "9"}).status_code == 404


def restore_page(memory, number: int) -> str:
    return f"{history_of(memory)}{number}/restore/"


def test_it_restores_a_version_after_showing_what_changes(console, memory):
    question = console.get(restore_page(memory, 1))
    assert "<ins>" in text_of(question)
    response = console.post(restore_page(memory, 1), {"read": question.context["read"]}, follow=True)
    assert "Version 1 was restored" in text_of(response)
    assert search.get(ANN, memory.id).content == "tea <b>first</b>"
    assert MemoryChange.objects.latest("id").actor == "root"


def test_it_asks_again_when_the_memory_was_changed_meanwhile(console, memory):
    read = console.get(restore_page(memory, 1)).context["read"]
    services.update(ANN, memory.id, MemoryChanges(content="third"))
    response = console.post(restore_page(memory, 1), {"read": read})
    assert response.status_code == 409
    assert response.context["subject"].current.content == "third"
    assert response.context["read"] != read
    assert search.get(ANN, memory.id).content == "third"


def test_it_restores_a_deleted_memory(console, memory):
    services.delete(ANN, [memory.id])
    assert "comes back" in text_of(console.get(restore_page(memory, 2)))
    console.post(restore_page(memory, 2), {"read": ""})
    assert search.get(ANN, memory.id).content == "tea second"


@pytest.mark.parametrize("read", ["garbage", "2026-01-01"])
def test_it_restores_nothing_without_the_version_that_was_read(console, memory, read):
    response = console.post(restore_page(memory, 1), {"read": read})
    assert response.status_code == 409
    assert search.get(ANN, memory.id) == memory


@pytest.mark.parametrize("address", ["helper_3A99", "ghost_3A1", "helper", "helper_3Ax", "_3A1", "helper_3A--1"])
def test_it_knows_no_history_of_what_never_was(console, memory, address):
    assert console.get(f"{LIST}{address}/history/").status_code == 404


def test_it_shows_readers_the_history_but_restores_nothing_for_them(client, django_user_model, memory):
    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    client.force_login(clerk)
    assert client.get(history_of(memory)).status_code == 403
    clerk.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client.force_login(django_user_model.objects.get(pk=clerk.pk))
    assert ">Restore</a>" not in text_of(client.get(history_of(memory)))
    assert client.get(restore_page(memory, 1)).status_code == 403


# audit


def test_it_lists_every_change_of_every_store(console, memory):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    services.save(draft("elsewhere", Scope("own", "")))
    page = text_of(console.get(AUDIT))
    assert f"helper:{memory.id}" in page
    assert "elsewhere" in page
    assert "elsewhere" not in text_of(console.get(AUDIT, {"agent": "helper"}))
    assert "elsewhere" not in text_of(console.get(AUDIT, {"door": "console"}))
    assert "elsewhere" in text_of(console.get(AUDIT, {"q": "own"}))


def test_it_opens_a_change_with_what_was_before_and_after(console, memory):
    change = MemoryChange.objects.get(action="updated")
    page = text_of(console.get(f"{AUDIT}{change.pk}/change/"))
    assert "<del>" in page
    assert "history/1/restore/" in page


def test_it_lets_nobody_edit_the_audit(console, memory):
    change = MemoryChange.objects.latest("id")
    assert console.post(f"{AUDIT}{change.pk}/change/", {"name": "x"}).status_code == 403
    assert console.get(f"{AUDIT}add/").status_code == 403
    assert console.post(f"{AUDIT}{change.pk}/delete/", {"post": "yes"}).status_code == 403


# forgetting


def test_it_counts_before_it_forgets_and_gives_a_receipt(console, memory):
    services.save(draft("shared", Scope("helper", "")))
    question = text_of(console.get(FORGET, {"user": "ann", "agent": ""}))
    assert "Erase ann and 1 memory" in question
    assert search.page(PageQuery()).total == 2
    receipt = console.post(FORGET, {"user": "ann", "agent": "", "confirmed": "1"})
    assert "shown only now" in text_of(receipt)
    assert [(one.memories, one.changes) for one in receipt.context["receipts"]] == [(1, 2)]
    assert search.page(PageQuery()).total == 1


@pytest.mark.parametrize("sent", [{"user": ""}, {"user": " "}, {"user": "ann", "agent": "ghost"}, {}])
def test_it_forgets_nobody_by_mistake(console, memory, sent):
    console.post(FORGET, sent | {"confirmed": "1"})
    assert search.page(PageQuery()).total == 1


def test_it_forgets_only_for_those_who_may_delete(client, django_user_model, memory):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    assert client.post(FORGET, {"user": "ann", "confirmed": "1"}).status_code == 403


def test_it_leads_from_a_users_memories_to_forgetting_the_user(console, memory):
    page = text_of(console.get(LIST, {"userId": "ann", "agentName": "helper"}))
    assert f'href="{FORGET}?user=ann&amp;agent=helper"' in page
    assert "Forget this user" not in text_of(console.get(LIST))
