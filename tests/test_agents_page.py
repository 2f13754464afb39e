"""Agents in the console: their list, the form with its memory section, moves, and what goes with an agent."""

from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.test import Client

from agents_app.models import Agent
from agents_app.services import create_agent, update_agent
from memory_app import keys, search, services
from memory_app.contracts import PageQuery, Scope
from memory_app.exceptions import StoreUnavailable
from memory_app.models import MemoryConfig, default_backend
from memory_app.providers.pool import POOL
from memory_app.providers.rows import RowProvider
from tests.conftest import draft
from tests.test_admin import AGENTS, form

pytestmark = pytest.mark.django_db
NAMES = ("helper", "own")


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def two_stores(db) -> None:
    """One agent in the default store, one in a file of its own, each with a memory."""
    create_agent("helper")
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    services.save_many([draft(f"text of {name}", Scope(name, "ann")) for name in NAMES])


@pytest.fixture
def dead_store(two_stores, monkeypatch) -> None:
    """The store of agent own can't be read."""
    stats = RowProvider.stats

    def read(provider, *names):
        if provider.label == "memory/own.db":
            raise StoreUnavailable("memory/own.db is gone")
        return stats(provider, *names)

    monkeypatch.setattr(RowProvider, "stats", read)


def page(console: Client, path: str, **parameters) -> str:
    response = console.get(path, parameters)
    assert response.status_code == 200, (response.status_code, response.headers)
    return response.content.decode()


def path_of(name: str, view: str = "change") -> str:
    return f"{AGENTS}{Agent.objects.get(name=name).pk}/{view}/"


def row_of(console: Client, name: str) -> str:
    """An agent's row in the list."""
    return next(row for row in page(console, AGENTS).split("<tr>") if f'/change/">{name}</a>' in row)


# the list


def test_it_lists_agents_with_counts_that_lead_to_their_memories(console, two_stores):
    create_agent("R&D 花")
    assert '<a href="/admin/memory_app/memory/?agentName=helper">1</a>' in row_of(console, "helper")
    empty = row_of(console, "R&amp;D 花")
    assert '?agentName=R%26D+%E8%8A%B1">0</a>' in empty
    assert "/admin/memory_app/memory/preview/?agent=R%26D+%E8%8A%B1" in empty
    assert '<td class="field-last_updated">—</td>' in empty


def test_it_counts_an_agent_that_was_made_a_moment_ago(console, agent):
    assert "agentName=helper" in row_of(console, "helper")
    create_agent("new")
    assert '?agentName=new">0</a>' in row_of(console, "new")


def test_it_counts_nothing_of_a_store_that_cannot_be_read(console, dead_store):
    row = row_of(console, "own")
    assert "The store can&#x27;t be read." in row
    assert "agentName=own" not in row
    assert "agentName=helper" in row_of(console, "helper")


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"q": "own"}, ["own"]),
        ({"enabled__exact": "0"}, ["helper"]),
        ({"memory__enabled__exact": "0"}, ["own"]),
        ({"memory__backend__exact": "sqlite", "q": "own"}, ["own"]),
    ],
)
def test_it_filters_agents(console, two_stores, parameters, shown):
    update_agent(Agent.objects.get(name="helper"), enabled=False)
    MemoryConfig.objects.filter(agent__name="own").update(enabled=False)
    listed = console.get(AGENTS, parameters).context["cl"].result_list
    assert [agent.name for agent in listed] == shown


def test_it_disables_and_enables_an_agent_and_keeps_the_filters(console, agent):
    path = f"{path_of('helper', 'switch')}?_changelist_filters=q%3Dhel"
    assert f'formaction="{path}" name="enabled" value="0">Disable<' in page(console, AGENTS, q="hel")
    response = console.post(path, {"enabled": "0"})
    assert response.headers["Location"] == f"{AGENTS}?q=hel"
    assert not Agent.objects.get().enabled
    assert ">Enable<" in page(console, AGENTS)
    console.post(path, {"enabled": "1"})
    assert Agent.objects.get().enabled


def test_it_switches_no_agent_for_a_reader_or_by_a_link(client, console, django_user_model, agent):
    assert console.get(path_of("helper", "switch")).status_code == 405
    reader = django_user_model.objects.create_user("clerk", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename="view_agent"))
    client.force_login(reader)
    assert client.post(path_of("helper", "switch"), {"enabled": "0"}).status_code == 403
    assert "formaction" not in page(client, AGENTS)
    assert Agent.objects.get().enabled


# the form


def test_it_says_what_an_agent_keeps(console, two_stores):
    services.save(draft("another", Scope("own", "bob"), type="project"))
    text = page(console, path_of("own"))
    assert "In memory/own.db, which can be read." in text
    assert '<a href="/admin/memory_app/memory/?agentName=own">2</a>' in text
    assert '<a href="/admin/memory_app/memory/?agentName=own&amp;type=project">1</a>' in text


def test_it_says_why_it_cannot_tell_what_an_agent_keeps(console, dead_store):
    text = page(console, path_of("own"))
    assert "memory/own.db is gone" in text
    assert "which can be read" not in text


def test_it_says_that_a_name_never_changes(console, agent):
    for path in (f"{AGENTS}add/", path_of("helper")):
        assert "it never changes once the agent is made" in page(console, path)


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


# deleting


def test_it_says_before_an_agent_is_deleted_what_goes_with_it(console, two_stores):
    services.save(draft("another", Scope("own", "bob"), type="project"))
    keys.issue(Agent.objects.get(name="own").pk, "root", {"name": "crm"})
    one = page(console, path_of("own", "delete"))
    chosen = list(Agent.objects.values_list("pk", flat=True))
    several = console.post(AGENTS, {"action": "delete_selected", "_selected_action": chosen}).content.decode()
    for text in (one, several):
        assert "2 memories of 2 users" in text
        assert "(project): 1" in text
        assert "agent keys: 1" in text
    assert "agents: 1 · memories: 2" in one
    assert "agents: 2 · memories: 3" in several
    assert Agent.objects.count() == 2


def test_it_deletes_no_agent_whose_store_cannot_be_reached(console, dead_store):
    chosen = list(Agent.objects.values_list("pk", flat=True))
    for response in (
        console.get(path_of("own", "delete")),
        console.post(path_of("own", "delete"), {"post": "yes"}),
        console.post(AGENTS, {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}),
    ):
        assert "memory/own.db is gone" in response.content.decode()
    assert Agent.objects.count() == 2
    assert search.page(PageQuery()).total == 2


def test_it_leaves_alone_a_file_that_is_no_store(console, two_stores, data_dir):
    POOL.close_all()
    (data_dir / "memory/own.db").write_bytes(b"not a database, but long enough to be looked at" * 50)
    assert "memory/own.db is left alone" in page(console, path_of("own", "delete"))
    console.post(path_of("own", "delete"), {"post": "yes"})
    assert list(Agent.objects.values_list("name", flat=True)) == ["helper"]
    assert (data_dir / "memory/own.db").read_bytes().startswith(b"not a database")


def test_it_tells_what_went_when_a_store_fails_in_the_middle(console, two_stores, monkeypatch):
    delete = services.delete_memories_of

    def fail(name, places, **options):
        if name == "own":
            raise StoreUnavailable("memory/own.db is gone")
        return delete(name, places, **options)

    monkeypatch.setattr(services, "delete_memories_of", fail)
    chosen = {"action": "delete_selected", "_selected_action": list(Agent.objects.values_list("pk", flat=True))}
    text = console.post(AGENTS, chosen | {"post": "yes"}, follow=True).content.decode()
    assert "1 memory went with it." in text
    assert "Memory/own.db is gone" in text
    assert [agent.name for agent in Agent.objects.all()] == ["own"]
    assert [entry.object_repr for entry in LogEntry.objects.all()] == ["helper"]


def test_it_says_nothing_of_memories_when_no_agent_went(console, two_stores, monkeypatch):
    def fail(name, places, **options):
        raise StoreUnavailable("memory/own.db is gone")

    monkeypatch.setattr(services, "delete_memories_of", fail)
    text = console.post(path_of("own", "delete"), {"post": "yes"}, follow=True).content.decode()
    assert "Memory/own.db is gone" in text
    assert "went with it" not in text
    assert Agent.objects.filter(name="own").exists()


def test_it_deletes_no_memories_for_those_who_may_not(client, django_user_model, two_stores):
    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__in=["view_agent", "delete_agent"]))
    client.force_login(clerk)
    assert "your account doesn" in page(client, path_of("own", "delete"))
    assert client.post(path_of("own", "delete"), {"post": "yes"}).status_code == 403
    assert Agent.objects.count() == 2


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
