"""Adding, editing and deleting memories in the console, and the recall preview."""

import pytest
from django.test import Client

from agents_app.services import create_agent
from memory_app import search, services
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.models import MemoryChange, MemoryType
from tests.conftest import draft
from tests.test_admin import LIST, form

pytestmark = pytest.mark.django_db
ANN = Scope("helper", "ann")
METADATA = {"n": 59, "t": ["a", "b"], "中": None, "x": {"y": 1.5}, "big": 2**70, "key with space": "🙂", "ok": True}


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def memory(agent):
    text = "first line\nsecond line 花生"
    return services.save(draft(text, name="title", description="kept", metadata=METADATA)).memory


def address(memory) -> str:
    return f"{LIST}{memory.agent_name}_3A{memory.id}/change/"


def opened(console: Client, memory) -> dict[str, object]:
    """What a browser sends back for the page: the fields, and the hidden copies of what they were."""
    page = console.get(address(memory))
    sent = form(page)
    bound = page.context["adminform"].form
    hidden = {f"initial-{name}": sent[name] for name in bound.fields if bound.fields[name].show_hidden_initial}
    shown = {"metadata": bound["metadata"].value(), "initial-metadata": bound["metadata"].value()}
    as_browser = sent | hidden | {name: bound.fields["metadata"].prepare_value(value) for name, value in shown.items()}
    return {name: str(value).replace("\n", "\r\n") for name, value in as_browser.items()}


def now(memory):
    return search.get(ANN, memory.id)


def text_of(response) -> str:
    return response.content.decode()


def test_it_edits_one_field_and_leaves_the_others_to_the_letter(console, memory):
    response = console.post(address(memory), opened(console, memory) | {"description": "new"}, follow=True)
    assert "was changed successfully" in text_of(response)
    changed = now(memory)
    assert (changed.description, changed.content, changed.metadata) == ("new", memory.content, METADATA)
    assert list(changed.metadata) == list(METADATA)
    assert changed.updated_at > memory.updated_at


def test_it_writes_nothing_when_nothing_was_changed(console, memory):
    response = console.post(address(memory), opened(console, memory), follow=True)
    assert "No change: nothing was written." in text_of(response)
    assert now(memory) == memory
    assert not MemoryChange.objects.filter(action="updated").exists()


def test_it_edits_metadata_as_json(console, memory):
    sent = opened(console, memory)
    console.post(address(memory), sent | {"metadata": sent["metadata"].replace('"n": 59', '"n": 60')})
    assert now(memory).metadata == METADATA | {"n": 60}
    assert list(now(memory).metadata) == list(METADATA)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1', "line 1, column 8"),
        ("[1]", "JSON object"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": ' + '"' + "x" * 70_000 + '"}', "over 65536 bytes"),
        ("[" * 5_000, "nested"),
    ],
)
def test_it_refuses_bad_metadata_and_keeps_the_text(console, memory, text, problem):
    response = console.post(address(memory), opened(console, memory) | {"metadata": text, "content": "my new text"})
    assert response.status_code == 200
    assert problem in text_of(response)
    assert "my new text" in text_of(response)
    assert now(memory) == memory


def test_it_shows_both_sides_of_a_conflict_and_merges_what_it_can(console, memory):
    sent = opened(console, memory) | {"description": "mine", "name": "my title"}
    services.update(ANN, memory.id, MemoryChanges(content="theirs", name="their title"))
    response = console.post(address(memory), sent)
    page = text_of(response)
    assert response.status_code == 409
    assert page.count("changed by both") == 1
    assert "their title" in page
    assert now(memory).description == "kept"
    merged = response.context["adminform"].form.data
    assert (merged["content"], merged["description"], merged["name"]) == ("theirs", "mine", "my title")
    assert console.post(address(memory), merged.dict()).status_code == 302
    saved = now(memory)
    assert (saved.content, saved.description, saved.name, saved.metadata) == ("theirs", "mine", "my title", METADATA)
    assert MemoryChange.objects.filter(action="updated", door="console").count() == 1


def test_it_can_conflict_again(console, memory):
    sent = opened(console, memory) | {"description": "mine"}
    for number in range(2):
        services.update(ANN, memory.id, MemoryChanges(content=f"theirs {number}"))
        response = console.post(address(memory), sent)
        assert response.status_code == 409
        sent = response.context["adminform"].form.data.dict()
    assert console.post(address(memory), sent).status_code == 302


@pytest.mark.parametrize("version", ["", "garbage", "2026-01-01", None])
def test_it_refuses_a_form_without_a_version(console, memory, version):
    sent = opened(console, memory) | {"description": "x"}
    sent = {name: value for name, value in sent.items() if name != "version"} | (
        {} if version is None else {"version": version}
    )
    response = console.post(address(memory), sent)
    assert response.status_code == 200
    assert "lost its version" in text_of(response)
    assert now(memory) == memory


def test_it_never_writes_into_the_other_of_two_tabs(console, agent):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    one = services.save(draft("of helper")).memory
    two = services.save(draft("of own", Scope("own", "ann"))).memory
    first, second = opened(console, one), opened(console, two)
    console.post(address(two), second | {"content": "own, edited"})
    console.post(address(one), first | {"content": "helper, edited"})
    assert now(one).content == "helper, edited"
    assert search.get(Scope("own", "ann"), two.id).content == "own, edited"


def test_it_adds_a_memory_and_tells_a_duplicate(console, agent):
    blank = form(console.get(f"{LIST}add/?agentName=helper"))
    assert blank["agent_name"] == "helper"
    sent = blank | {"agent_name": "helper", "user_id": "", "type": "project", "content": "for everybody", "name": ""}
    response = console.post(f"{LIST}add/", sent, follow=True)
    assert "was added successfully" in text_of(response)
    added = search.recall(Scope("helper", "zoe"), "everybody")[0].memory
    assert (added.user_id, added.name, added.type) == ("", "for everybody", "project")
    response = console.post(f"{LIST}add/", sent, follow=True)
    assert "no second one was made" in text_of(response)
    assert search.page(PageQuery()).total == 1


@pytest.mark.parametrize("change", [{"agent_name": "ghost"}, {"type": "nope"}, {"content": ""}, {"user_id": "x" * 101}])
def test_it_adds_nothing_bad(console, agent, change):
    sent = form(console.get(f"{LIST}add/")) | {"agent_name": "helper", "type": "user", "content": "c"}
    assert console.post(f"{LIST}add/", sent | change).status_code == 200
    assert search.page(PageQuery()).total == 0


def test_it_holds_the_form_to_the_types_schema(console, agent):
    schema = {"type": "object", "required": ["level"]}
    MemoryType.objects.create(key="skill", name="技能", metadata_schema=schema)
    sent = form(console.get(f"{LIST}add/")) | {"agent_name": "helper", "type": "skill", "content": "Python"}
    response = console.post(f"{LIST}add/", sent, follow=True)
    assert "fit the schema" in text_of(response)
    assert search.page(PageQuery()).total == 0


def test_it_deletes_one_memory_and_remembers_that(console, memory):
    services.save(draft("other"))
    path = address(memory).replace("change", "delete")
    assert "title" in text_of(console.get(path))
    console.post(path, {"post": "yes"})
    assert now(memory) is None
    assert search.page(PageQuery()).total == 1
    assert MemoryChange.objects.get(action="deleted").memory_id == memory.id


def test_it_shows_a_reader_the_same_page_without_a_form(client, django_user_model, memory):
    from django.contrib.auth.models import Permission

    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client.force_login(clerk)
    page = text_of(client.get(address(memory)))
    assert "second line" in page
    assert 'name="_save"' not in page
    assert client.post(address(memory), {"content": "x"}).status_code == 403


def test_it_leads_the_documents_route_to_the_list(console):
    assert console.get("/agent/memory?agentName=x").headers["Location"] == f"{LIST}?agentName=x"
