"""Adding, editing and deleting memories in the console: what was stored and what was typed both survive."""

import json

import pytest
from django.test import Client

from agents_app.services import create_agent
from memory_app import search, services
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.models import MemoryChange, MemoryType
from tests.conftest import draft
from tests.pages import fields_of
from tests.test_admin import LIST

pytestmark = pytest.mark.django_db
ANN = Scope("helper", "ann")
METADATA = {
    "n": 59,
    "t": ["a", "b"],
    "中": None,
    "x": {"y": 1.5, "one": 1.0, "tenth": 0.1},
    "big": 2**70,
    "key with space": "🙂",
    "ok": True,
}
HARD = ["<script>alert(1)</script>", "\u202eright to left", "🙂👩‍👩‍👧", "x" * 8_192, "=1+1", " a\n\n  b\t"]
SKILL = {
    "type": "object",
    "required": ["level"],
    "properties": {
        "level": {"type": "integer"},
        "share": {"type": "number"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def memory(agent):
    text = "first line\nsecond line 花生"
    return services.save(draft(text, name="title", description="kept", metadata=METADATA)).memory


@pytest.fixture
def skill(db):
    return MemoryType.objects.create(key="skill", name="技能", metadata_schema=SKILL)


def address(memory, page: str = "change") -> str:
    return f"{LIST}{memory.agent_name}_3A{memory.id}/{page}/"


def opened(console: Client, memory) -> dict[str, str]:
    return fields_of(console.get(address(memory)))


def added(console: Client, **fields: str) -> dict[str, str]:
    """The fields of the page that adds a memory for agent helper, filled in."""
    return fields_of(console.get(f"{LIST}add/?agentName=helper")) | {"type": "user", "content": "c"} | fields


def now(memory):
    return search.get(Scope.all_users(memory.agent_name), memory.id)


def text_of(response) -> str:
    return response.content.decode()


# editing


def test_it_edits_one_field_and_leaves_the_others_to_the_letter(console, memory):
    response = console.post(address(memory), opened(console, memory) | {"description": "new"}, follow=True)
    assert "was changed successfully" in text_of(response)
    changed = now(memory)
    assert (changed.description, changed.content) == ("new", memory.content)
    assert json.dumps(changed.metadata) == json.dumps(METADATA)
    assert changed.updated_at > memory.updated_at


def test_it_does_not_touch_the_column_of_metadata_it_did_not_change(console, memory, monkeypatch):
    seen = []
    update = services.update
    monkeypatch.setattr(services, "update", lambda scope, key, changes, *rest: seen.append(changes) or update(
        scope, key, changes, *rest))  # fmt: skip
    console.post(address(memory), opened(console, memory) | {"description": "new"})
    assert [changes.values() for changes in seen] == [{"description": "new"}]


def test_it_writes_nothing_when_nothing_was_changed(console, memory):
    response = console.post(address(memory), opened(console, memory), follow=True)
    assert "No change: nothing was written." in text_of(response)
    assert now(memory) == memory
    assert not MemoryChange.objects.filter(action="updated").exists()


@pytest.mark.parametrize("text", HARD)
def test_it_carries_any_text_through_the_form(console, agent, text):
    memory = services.save(draft(text, name=text[:100], description=text[:500])).memory
    sent = opened(console, memory)
    console.post(address(memory), sent)
    assert now(memory) == memory
    console.post(address(memory), sent | {"content": text.replace("\n", "\r\n") + "!"})
    assert (now(memory).content, now(memory).name, now(memory).description) == (
        text + "!",
        memory.name,
        memory.description,
    )
    assert "<script>alert" not in text_of(console.get(address(memory)))


def test_it_edits_metadata_as_json(console, memory):
    sent = opened(console, memory)
    console.post(address(memory), sent | {"metadata": sent["metadata"].replace('"n": 59', '"n": 60')})
    assert json.dumps(now(memory).metadata) == json.dumps(METADATA | {"n": 60})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1', "line 1, column 8 (a comma or the end is expected)"),
        ('{\n  "a": 1\n  "b": 2}', "line 3, column 3"),
        ("[1]", "JSON object"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e400}', "Infinity"),
        ('{"a": ' + "1" * 5_000 + "}", "too many digits"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": ' + '"' + "x" * 70_000 + '"}', "over 65536 bytes"),
        ("[" * 5_000, "nested"),
    ],
)
def test_it_refuses_bad_metadata_and_keeps_the_text(console, memory, text, problem):
    response = console.post(address(memory), opened(console, memory) | {"metadata": text, "content": "my new text"})
    assert response.status_code == 200
    assert problem in text_of(response)
    assert fields_of(response)["content"] == "my new text"
    assert fields_of(response)["metadata"].replace("\r\n", "\n") == text
    assert now(memory) == memory


@pytest.mark.parametrize("version", ["", "garbage", "2026-01-01", None])
def test_it_refuses_a_form_without_a_version(console, memory, version):
    sent = opened(console, memory) | {"description": "x"}
    del sent["version"]
    response = console.post(address(memory), sent if version is None else sent | {"version": version})
    assert response.status_code == 200
    assert "lost its version" in text_of(response)
    assert now(memory) == memory


def test_it_says_what_is_too_long_and_keeps_it(console, memory):
    response = console.post(address(memory), opened(console, memory) | {"content": "x" * 65_537})
    assert "at most 65536 characters (it has 65537)" in text_of(response)
    assert len(fields_of(response)["content"]) == 65_537
    assert "maxlength" not in text_of(response)


def test_it_names_a_memory_whose_title_was_emptied_by_its_text(console, memory):
    console.post(address(memory), opened(console, memory) | {"name": "", "content": "fresh beginning"})
    assert now(memory).name == "fresh beginning"


def test_it_never_writes_into_the_other_of_two_tabs(console, agent):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    one = services.save(draft("of helper")).memory
    two = services.save(draft("of own", Scope("own", "ann"))).memory
    first, second = opened(console, one), opened(console, two)
    console.post(address(two), second | {"content": "own, edited"})
    console.post(address(one), first | {"content": "helper, edited"})
    assert (now(one).content, now(two).content) == ("helper, edited", "own, edited")


def test_it_goes_back_to_the_list_as_it_was(console, memory):
    path = address(memory) + "?_changelist_filters=type%3Duser"
    page = console.get(path)
    assert f'href="{LIST}?type=user" class="closelink"' in text_of(page)
    assert console.post(path, fields_of(page)).headers["Location"] == f"{LIST}?type=user"


def test_it_says_whose_memory_it_is(console, agent):
    memory = services.save(draft("for all", Scope("helper", ""))).memory
    page = text_of(console.get(address(memory)))
    assert "all users of the agent (shared)" in page
    assert f"helper:{memory.id}" in page


def test_it_leads_to_the_move_of_a_memory_and_says_who_changed_it(console, memory):
    console.post(address(memory), opened(console, memory) | {"description": "new"})
    page = console.get(address(memory))
    assert "root · console" in text_of(page)
    asked = console.post(LIST, fields_of(page, "move"))
    assert "Move memories" in text_of(asked)
    assert memory.name in text_of(asked)


# adding


def test_it_asks_for_the_agent_first(console, agent):
    page = text_of(console.get(f"{LIST}add/?type=user"))
    assert 'href="?type=user&amp;agentName=helper"' in page
    assert "<textarea" not in page
    assert "There is no agent “ghost”" in text_of(console.get(f"{LIST}add/?agentName=ghost"))


def test_it_takes_the_agent_of_the_list_that_the_operator_came_from(console, agent):
    sent = fields_of(console.get(f"{LIST}add/?_changelist_filters=agentName%3Dhelper%26userId%3Dann"))
    assert (sent["agent_name"], sent["user_id"]) == ("helper", "ann")
    assert f'href="{LIST}add/?agentName="' in text_of(console.get(f"{LIST}add/?agentName=helper"))


def test_it_adds_a_memory_for_all_users(console, agent):
    sent = added(console, type="project", content="for everybody")
    response = console.post(f"{LIST}add/", sent, follow=True)
    assert "was added successfully" in text_of(response)
    found = search.recall(Scope("helper", "zoe"), "everybody")[0].memory
    assert (found.user_id, found.name, found.type) == ("", "for everybody", "project")


def test_it_makes_no_second_of_the_same_memory_and_leads_to_the_first(console, agent):
    sent = added(console, content="only once", metadata='{"n": 1}')
    console.post(f"{LIST}add/", sent)
    response = console.post(f"{LIST}add/", sent)
    assert "no second one was made" in text_of(response)
    first = search.page(PageQuery()).rows[0][1]
    assert f'href="{address(first)}"' in text_of(response)
    assert fields_of(response)["metadata"] == '{"n": 1}'
    assert MemoryChange.objects.count() == search.page(PageQuery()).total == 1


def test_it_adds_another_for_the_same_agent_and_user(console, agent):
    response = console.post(f"{LIST}add/", added(console, user_id="ann", _addanother="1"), follow=True)
    sent = fields_of(response)
    assert (sent["agent_name"], sent["user_id"], sent["content"]) == ("helper", "ann", "")


@pytest.mark.parametrize("change", [{"agent_name": "ghost"}, {"type": "nope"}, {"content": ""}, {"user_id": "x" * 101}])
def test_it_adds_nothing_bad_and_keeps_the_text(console, agent, change):
    sent = added(console, description="my draft") | change
    response = console.post(f"{LIST}add/", sent)
    assert response.status_code == 200
    assert 'class="errorlist"' in text_of(response)
    assert fields_of(response)["description"] == "my draft"
    assert search.page(PageQuery()).total == 0


# the form of a schema


def test_it_holds_the_form_to_the_types_schema_and_keeps_the_text(console, agent, skill):
    response = console.post(f"{LIST}add/", added(console, type="skill", content="Python"))
    assert "fit the schema" in text_of(response)
    assert fields_of(response)["content"] == "Python"
    assert search.page(PageQuery()).total == 0


def test_it_edits_another_field_of_what_a_later_schema_forbids(console, memory):
    MemoryType.objects.filter(key="user").update(metadata_schema=SKILL)
    console.post(address(memory), opened(console, memory) | {"description": "new"})
    assert now(memory).description == "new"


def in_fields(sent: dict[str, str], shown: object, now: object) -> dict[str, str]:
    """What the script adds when the fields of the schema were used."""
    texts = {"metadata-shown": json.dumps(shown), "metadata-sent": json.dumps(now)}
    return sent | texts | {"metadata-editor": "fields"}


@pytest.fixture
def skilled(agent, skill):
    stored = {"share": 1.0, "odd": {"k": 2**70, "n": None}, "level": 59, "tags": ["a", "b"], "中 文": "🙂"}
    return services.save(draft("Rust", type="skill", metadata=stored)).memory


SHOWN = {"level": 59, "share": 1, "note": "", "tags": ["a", "b"], "place": {"city": ""}}


def test_it_changes_only_what_was_changed_in_the_fields(console, skilled):
    console.post(address(skilled), in_fields(opened(console, skilled), SHOWN, SHOWN | {"level": 60}))
    assert json.dumps(now(skilled).metadata) == json.dumps(dict(skilled.metadata) | {"level": 60})


def test_it_writes_nothing_when_the_fields_are_as_they_were(console, skilled):
    console.post(address(skilled), in_fields(opened(console, skilled), SHOWN, SHOWN))
    assert now(skilled) == skilled


def test_it_takes_an_emptied_field_away_and_makes_what_is_new(console, skilled):
    sent = SHOWN | {"share": None, "tags": ["b", "c", ""], "place": {"city": "Köln"}}
    console.post(address(skilled), in_fields(opened(console, skilled), SHOWN, sent))
    kept = {"odd": skilled.metadata["odd"], "level": 59, "tags": ["b", "c"], "中 文": "🙂", "place": {"city": "Köln"}}
    assert json.dumps(now(skilled).metadata) == json.dumps(kept)


@pytest.mark.parametrize("level", [2**53, 1e400, "many", [1], True, 1.5])
def test_it_refuses_what_the_schema_of_a_field_forbids_and_shows_it(console, skilled, level):
    sent = in_fields(opened(console, skilled), SHOWN, SHOWN | {"level": level, "note": "typed"})
    response = console.post(address(skilled), sent)
    assert response.status_code == 200
    assert 'class="errorlist"' in text_of(response)
    assert '"note": "typed"' in fields_of(response)["metadata"]
    assert now(skilled) == skilled


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"level": 2**60}, "level holds a value"),
        ({"level": 1, "tags": ["a", 2]}, "tags[] holds a value"),
        ({"level": 1, "place": "here"}, "place holds a value"),
    ],
)
def test_it_edits_as_json_what_a_form_would_lose(console, agent, metadata, reason):
    memory = services.save(draft("Rust", metadata=metadata)).memory
    MemoryType.objects.filter(key="user").update(metadata_schema=SKILL)
    page = text_of(console.get(address(memory)))
    assert reason in page
    assert "metadata-schema" not in page
    assert "react" not in page


def test_it_names_the_keys_that_a_form_leaves_alone(console, skilled):
    assert "odd, 中 文" in text_of(console.get(address(skilled)))


def test_it_shows_the_form_of_another_type_and_writes_nothing(console, memory, skill):
    sent = opened(console, memory) | {
        "type": "skill",
        "content": "typed",
        "metadata": '{"level": 1}',
        "_show": "fields",
    }
    response = console.post(address(memory), sent)
    assert "metadata-schema" in text_of(response)
    again = fields_of(response)
    assert (again["content"], again["metadata"], again["type"]) == ("typed", '{"level": 1}', "skill")
    assert now(memory) == memory
    console.post(address(memory), again)
    assert (now(memory).type, now(memory).content, now(memory).metadata) == ("skill", "typed", {"level": 1})


def test_it_shows_the_fields_of_a_new_memory_without_scolding(console, agent, skill):
    response = console.post(f"{LIST}add/", added(console, type="skill", content="", _show="fields"))
    assert "metadata-schema" in text_of(response)
    assert "errorlist" not in text_of(response)
    assert search.page(PageQuery()).total == 0


def test_it_shows_as_json_what_was_changed_in_the_fields(console, skilled):
    sent = in_fields(opened(console, skilled), SHOWN, SHOWN | {"level": 60}) | {"_show": "json"}
    response = console.post(address(skilled), sent)
    assert '"level": 60' in fields_of(response)["metadata"]
    assert 'data-chosen="json"' in text_of(response)


# rows and stores that are gone


def test_it_keeps_the_text_of_a_memory_that_was_deleted_meanwhile(console, memory):
    sent = opened(console, memory) | {"content": "my long text"}
    services.delete(ANN, [memory.id])
    response = console.post(address(memory), sent)
    assert response.status_code == 410
    assert f'action="{LIST}add/"' in text_of(response)
    assert "It was deleted at" in text_of(response)
    assert "Save as a new memory" in text_of(response)
    assert 'data-copy="my long text"' in text_of(response)
    console.post(f"{LIST}add/", fields_of(response))
    saved = search.page(PageQuery()).rows[0][1]
    assert (saved.content, saved.user_id, saved.metadata) == ("my long text", "ann", METADATA)


def test_it_tells_a_memory_that_vanishes_in_the_very_moment_of_saving(console, memory, monkeypatch):
    sent = opened(console, memory) | {"content": "my long text"}
    update = services.update

    def late(*args):
        services.delete(ANN, [memory.id])
        return update(*args)

    monkeypatch.setattr(services, "update", late)
    response = console.post(address(memory), sent)
    assert response.status_code == 410
    assert fields_of(response)["content"] == "my long text"


def test_it_answers_a_missing_memory_with_a_page(console, memory):
    services.delete(ANN, [memory.id])
    for page in ("change", "delete"):
        response = console.get(address(memory, page))
        assert response.status_code == 404
        assert f'href="{LIST}"' in text_of(response)
        assert f'href="{address(memory, "history")}"' in text_of(response)
    assert "history" not in text_of(console.get(f"{LIST}helper_3A99/change/")).partition("<main")[2]


@pytest.fixture
def closed(file_agent, data_dir):
    """A memory whose file can't be read any more, and the file's way back."""
    memory = services.save(draft("in a file", name="title")).memory
    path = data_dir / "memory" / "memory.db"
    content = path.read_bytes()

    def close():
        from memory_app.providers.pool import POOL

        POOL.close_all()
        for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
            (path.parent / name).unlink(missing_ok=True)
        path.write_bytes(b"damaged " * 999)

    return memory, close, content


def test_it_answers_503_for_a_memory_whose_store_is_down(console, closed):
    memory, close, _content = closed
    close()
    for page in ("change", "delete"):
        response = console.get(address(memory, page))
        assert response.status_code == 503
        assert response.headers["Retry-After"] == "10"
        assert "Nothing is lost" in text_of(response)


def test_it_keeps_the_text_of_an_edit_while_the_store_is_down(console, closed):
    memory, close, _content = closed
    sent = opened(console, memory) | {"content": "my long text"}
    close()
    response = console.post(address(memory), sent)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "10")
    again = fields_of(response)
    assert (again["content"], again["version"], again["initial-content"]) == (
        "my long text",
        sent["version"],
        "in a file",
    )


def test_it_keeps_the_text_of_a_new_memory_while_the_store_is_down(console, closed):
    _memory, close, _content = closed
    sent = added(console, content="my long text")
    close()
    response = console.post(f"{LIST}add/", sent)
    assert response.status_code == 503
    assert fields_of(response)["content"] == "my long text"


def test_it_keeps_the_text_that_a_service_refused(console, memory, monkeypatch):
    from memory_app.exceptions import Refused

    def refuse(*args):
        raise Refused("not on Sundays")

    monkeypatch.setattr(services, "update", refuse)
    response = console.post(address(memory), opened(console, memory) | {"content": "my long text"})
    assert "not on Sundays" in text_of(response)
    assert fields_of(response)["content"] == "my long text"


# a session that ends


def test_it_brings_the_form_back_when_the_session_had_ended(console, memory, django_user_model):
    sent = opened(console, memory) | {"content": "my long\r\ntext"}
    user = django_user_model.objects.get(username="root")
    user.set_password("secret")
    user.save()
    console.logout()
    page = console.post(address(memory), sent | {"_save": "Save"})
    assert page.status_code == 403
    signed = fields_of(page, "login-form") | {"username": "root", "password": "secret"}
    wrong = console.post(address(memory), signed | {"password": "guess"})
    assert (wrong.status_code, fields_of(wrong, "login-form")["content"]) == (403, "my long\r\ntext")
    form = console.post(address(memory), signed)
    assert "Nothing is saved yet" in text_of(form)
    assert "secret" not in text_of(form)
    assert now(memory) == memory
    console.post(address(memory), fields_of(form))
    assert now(memory).content == "my long\ntext"


def test_it_shows_the_text_of_nobody_without_a_session(client, memory):
    response = client.post(address(memory), {"username": "x", "password": "y", "_sign_in": "1"})
    assert response.status_code == 403
    assert memory.content not in text_of(response)


# deleting


def test_it_deletes_one_memory_and_remembers_that(console, memory):
    services.save(draft("other"))
    page = console.get(address(memory, "delete"))
    assert f"agent helper (helper:{memory.id})" in text_of(page)
    assert "Delete “title”" in text_of(page)
    console.post(address(memory, "delete"), fields_of(page, ""))
    assert now(memory) is None
    assert search.page(PageQuery()).total == 1
    assert MemoryChange.objects.get(action="deleted").memory_id == memory.id


def test_it_does_not_delete_what_was_changed_after_its_question(console, memory):
    sent = fields_of(console.get(address(memory, "delete")), "")
    services.update(ANN, memory.id, MemoryChanges(content="precious now"))
    response = console.post(address(memory, "delete"), sent)
    assert response.status_code == 409
    assert "precious now" in text_of(response)
    assert now(memory).content == "precious now"
    assert not MemoryChange.objects.filter(action="deleted").exists()
    console.post(address(memory, "delete"), fields_of(response, ""))
    assert now(memory) is None


def test_it_deletes_nothing_without_the_version_that_was_shown(console, memory):
    assert console.post(address(memory, "delete"), {"post": "yes"}).status_code == 409
    assert now(memory) == memory


def test_it_tells_a_memory_that_is_deleted_already(console, memory):
    sent = fields_of(console.get(address(memory, "delete")), "")
    services.delete(ANN, [memory.id])
    assert console.post(address(memory, "delete"), sent).status_code == 410
