from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from agents_app.models import Agent
from agents_app.services import create_agent
from memory_app import search, services
from memory_app.contracts import PageQuery, Scope
from memory_app.models import MemoryConfig, MemoryType, default_backend
from memory_app.providers.pool import POOL
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


def test_it_lists_the_memories_of_all_stores(console, two_stores):
    text = page(console, LIST)
    assert "title helper" in text
    assert "title own" in text
    assert "2 memories" in text


@pytest.mark.parametrize(
    ("parameters", "shown", "hidden"),
    [
        ({"agentName": "own"}, "title own", "title helper"),
        ({"q": "of own 花"}, "title own", "title helper"),
        ({"q": '" OR *'}, "0 memories", "title own"),
        ({"type": "project"}, "0 memories", "title own"),
        ({"agentName": "ghost"}, "0 memories", "title own"),
    ],
)
def test_it_filters_and_searches(console, two_stores, parameters, shown, hidden):
    text = page(console, LIST, **parameters)
    assert shown in text
    assert hidden not in text


def test_it_sorts_and_pages(console, agent):
    services.save_many([draft(f"memory {n:03}") for n in range(120)])
    assert page(console, LIST, o="2").index("memory 000") < page(console, LIST, o="2").index("memory 001")
    last = page(console, LIST, p="3", o="2")
    assert last.count("memory 119") >= 1
    assert "memory 099" not in last


def test_it_opens_the_memory_of_its_agent(console, two_stores):
    for name in NAMES:
        assert f"text of {name}" in page(console, f"{LIST}{two_stores[name]}/change/")


@pytest.mark.parametrize("reference", ["helper_3A999999", "ghost_3A1", "1", "helper_3Ax", "_3A1", f"helper_3A{10**30}"])
def test_it_says_that_a_memory_does_not_exist(console, two_stores, reference):
    response = console.get(f"{LIST}{reference}/change/", follow=True)
    assert "doesn’t exist" in response.content.decode()


def test_it_escapes_stored_text(console, agent):
    memory = services.save(draft("<script>alert(1)</script>", name="<b>name</b>")).memory
    for path in (LIST, f"{LIST}helper_3A{memory.id}/change/"):
        text = page(console, path)
        assert "<script>alert(1)" not in text
        assert "<b>name" not in text


def test_it_says_when_a_store_cannot_be_read(console, two_stores, data_dir):
    POOL.close_all()
    (data_dir / "memory" / "own.db").write_bytes(b"damaged " * 999)
    text = page(console, LIST)
    assert "title helper" in text
    assert "memory/own.db" in text
    response = console.get(f"{LIST}{two_stores['own']}/change/", follow=True)
    assert "restore it from a backup" in response.content.decode()


def test_it_makes_an_agent_with_its_memory_section(console):
    sent = form(console.get(f"{AGENTS}add/")) | {"name": "sales", "label": "销售"}
    assert console.post(f"{AGENTS}add/", sent).status_code == 302
    config = MemoryConfig.objects.get(agent__name="sales")
    assert (config.enabled, config.backend, config.sqlite_path, config.prefetch_limit) == (
        True,
        default_backend(),
        "",
        5,
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", " sales", "doesn"),
        ("memory-0-sqlite_path", "../x.db", "relative to the data directory"),
        ("memory-0-sqlite_path", "x.txt", "must end in .db"),
        ("memory-0-prefetch_limit", "51", "Choose 1 to 50"),
        ("memory-0-prefetch_limit", "0", "Choose 1 to 50"),
        ("memory-0-backend", "oracle", "Select a valid choice"),
    ],
)
def test_it_refuses_bad_settings(console, field, value, message):
    sent = form(console.get(f"{AGENTS}add/")) | {"name": "sales", field: value}
    response = console.post(f"{AGENTS}add/", sent)
    if field == "name":
        assert Agent.objects.get().name == "sales"
    else:
        assert message in response.content.decode()
        assert not Agent.objects.exists()


def test_it_keeps_the_name_of_an_agent(console, agent):
    path = f"{AGENTS}{agent.pk}/change/"
    console.post(path, form(console.get(path)) | {"name": "renamed", "label": "new label"})
    agent.refresh_from_db()
    assert (agent.name, agent.label) == ("helper", "new label")


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """The commands that the console started in processes of their own."""
    commands: list[list[str]] = []
    monkeypatch.setattr("agents_app.move_view.subprocess.Popen", lambda command, **options: commands.append(command))
    return commands


def ask_for_another_file(console: Client, agent: Agent) -> str:
    path = f"{AGENTS}{agent.pk}/change/"
    sent = form(console.get(path)) | {"memory-0-backend": "sqlite", "memory-0-sqlite_path": "memory/new.db"}
    return console.post(path, sent | {"label": "new label"}).headers["Location"]


def test_it_asks_before_memories_move(console, file_agent, started):
    services.save(draft("kept"))
    page_of_move = ask_for_another_file(console, file_agent)
    assert Agent.objects.get().label == "new label"
    assert MemoryConfig.objects.get().sqlite_path == ""
    text = page(console, page_of_move)
    assert "From memory/memory.db to memory/new.db." in text
    assert "1 memory moves." in text
    assert started == []


@pytest.mark.django_db(transaction=True)
def test_it_moves_memories_when_that_is_confirmed(console, file_agent, started):
    services.save(draft("kept"))
    page_of_move = ask_for_another_file(console, file_agent)
    waiting = console.post(page_of_move).headers["Location"]
    assert 'http-equiv="refresh"' in page(console, waiting)
    call_command(*started[0][2:], stdout=StringIO())
    response = console.get(waiting, follow=True)
    assert "1 memory is in the new store now." in response.content.decode()
    assert MemoryConfig.objects.get().sqlite_path == "memory/new.db"
    assert search.recall(Scope("helper", "ann"), "kept")[0].memory.content == "kept"


def test_it_offers_to_go_on_with_an_interrupted_move(console, file_agent, started):
    state = {"to": {"backend": "sqlite", "database": "", "sqlite_path": "memory/new.db"}, "phase": "copy"}
    state |= {"from": {"backend": "sqlite", "database": "", "sqlite_path": ""}, "copied": 3, "total": 9}
    MemoryConfig.objects.update(move=state | {"at": "2026-01-01T00:00:00+00:00"})
    text = page(console, f"{AGENTS}{file_agent.pk}/move/", backend="sqlite", sqlite_path="memory/new.db")
    assert "3 of 9 memories copied" in text
    assert "Go on" in text


def test_it_gives_up_an_interrupted_move(console, file_agent, started):
    to = {"backend": "sqlite", "database": "", "sqlite_path": "memory/new.db"}
    state = {"to": to, "from": to | {"sqlite_path": ""}, "phase": "copy", "copied": 3, "total": 9}
    MemoryConfig.objects.update(move=state | {"at": "2026-01-01T00:00:00+00:00"})
    path = f"{AGENTS}{file_agent.pk}/move/"
    page_after = console.post(path, {"cancel": "1"}, query_params=to, follow=True).content.decode()
    assert "The move was given up" in page_after
    assert MemoryConfig.objects.get().move is None
    assert started == []


@pytest.mark.parametrize("place", [{}, {"backend": "oracle"}, {"backend": "sqlite", "sqlite_path": "../x.db"}])
def test_it_refuses_to_move_to_no_place(console, file_agent, place, started):
    path = f"{AGENTS}{file_agent.pk}/move/"
    assert console.post(path, query_params=place).headers["Location"].endswith("/change/")
    assert started == []


def test_it_deletes_memories_with_their_agent_and_says_how_many(console, two_stores):
    agent = Agent.objects.get(name="own")
    response = console.post(f"{AGENTS}{agent.pk}/delete/", {"post": "yes"}, follow=True)
    assert "1 memory went with it" in response.content.decode()
    assert search.page(PageQuery()).total == 1


def test_it_deletes_selected_agents_with_their_memories(console, two_stores):
    keys = list(Agent.objects.values_list("pk", flat=True))
    console.post(AGENTS, {"action": "delete_selected", "_selected_action": keys, "post": "yes"})
    assert not Agent.objects.exists()
    create_agent("helper")
    assert search.page(PageQuery()).total == 0


def test_it_refuses_to_delete_a_type_in_use(console, agent):
    own = MemoryType.objects.create(key="environment", name="环境")
    services.save(draft("x", type="environment"))
    response = console.post(f"{TYPES}{own.pk}/delete/", {"post": "yes"}, follow=True)
    assert "is used by 1 memories" in response.content.decode()
    sent = {"action": "delete_selected", "_selected_action": [own.pk], "post": "yes"}
    assert "is used by 1 memories" in console.post(TYPES, sent, follow=True).content.decode()
    assert MemoryType.objects.count() == 5


def test_it_never_deletes_a_built_in_type(console, db):
    key = MemoryType.objects.get(key="user").pk
    assert console.post(f"{TYPES}{key}/delete/", {"post": "yes"}).status_code == 403


def test_it_shows_memories_only_to_whom_it_may(client, django_user_model, two_stores):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    assert client.get(LIST).status_code == 403
    assert client.get(f"{LIST}{two_stores['helper']}/change/").status_code == 403
