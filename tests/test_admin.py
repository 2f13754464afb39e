import pytest
from django.test import Client

from agents_app.services import create_agent
from memory_app import services
from memory_app.contracts import Scope
from tests.conftest import draft

pytestmark = pytest.mark.django_db
LIST = "/admin/memory_app/memory/"
AGENTS = "/admin/agents_app/agent/"
NAMES = ("helper", "own")
TYPES = "/admin/memory_app/memorytype/"


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def two_stores(db) -> dict[str, str]:
    """One agent in the default store, one in a file of its own; the references of their memories."""
    create_agent("helper")
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    saved = [services.save(draft(f"text of {name} 花生", Scope(name, "ann"), name=f"title {name}")) for name in NAMES]
    return {result.memory.agent_name: f"{result.memory.agent_name}_3A{result.memory.id}" for result in saved}


def page(console: Client, path: str, **parameters) -> str:
    response = console.get(path, parameters)
    assert response.status_code == 200, (response.status_code, response.headers)
    return response.content.decode()


def values_of(form) -> dict[str, object]:
    return {name: form[name].value() for name in form.fields}


def form(response) -> dict[str, object]:
    """What a browser would send back for the page's form, unchanged."""
    context = response.context
    fields = values_of(context["adminform"].form)
    for inline in context["inline_admin_formsets"]:
        formset = inline.formset
        fields |= {f"{formset.prefix}-{name}": value for name, value in formset.management_form.initial.items()}
        for item in formset.forms:
            fields |= {f"{item.prefix}-{name}": value for name, value in values_of(item).items()}
    return {name: "" if value is None else value for name, value in fields.items() if value is not False}


def test_it_asks_for_a_sign_in(client):
    assert client.get(LIST).headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("path", ["/admin/", LIST, AGENTS, f"{AGENTS}add/", TYPES, f"{TYPES}add/"])
@pytest.mark.parametrize(("language", "title"), [("en", "NetaClaw Memory"), ("zh-hans", "NetaClaw 记忆")])
def test_it_shows_every_page_in_both_languages(console, two_stores, path, language, title):
    response = console.get(path, headers={"accept-language": language})
    assert response.status_code == 200
    assert title in response.content.decode()


def test_it_opens_the_memory_of_its_agent(console, two_stores):
    for name in NAMES:
        assert f"text of {name}" in page(console, f"{LIST}{two_stores[name]}/change/")


@pytest.mark.parametrize("reference", ["helper_3A999999", "ghost_3A1", "1", "helper_3Ax", "_3A1", f"helper_3A{10**30}"])
def test_it_says_that_a_memory_does_not_exist(console, two_stores, reference):
    response = console.get(f"{LIST}{reference}/change/", follow=True)
    assert response.status_code == 404
    assert "There is no memory" in response.content.decode()


def test_it_escapes_stored_text(console, agent):
    memory = services.save(draft("<script>alert(1)</script>", name="<b>name</b>")).memory
    for path in (LIST, f"{LIST}helper_3A{memory.id}/change/"):
        text = page(console, path)
        assert "<script>alert(1)" not in text
        assert "<b>name" not in text


def test_it_shows_memories_only_to_whom_it_may(client, django_user_model, two_stores):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    assert client.get(LIST).status_code == 403
    assert client.get(f"{LIST}{two_stores['helper']}/change/").status_code == 403
