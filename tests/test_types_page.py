"""Memory types in the console: their list, the form with its schema, and what stands in the way of deleting one."""

import json

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from agents_app.services import create_agent
from memory_app import services
from memory_app.admin.icons import ICONS
from memory_app.contracts import Scope
from memory_app.exceptions import StoreUnavailable
from memory_app.models import MemoryType
from memory_app.providers.rows import RowProvider
from tests.conftest import ROOT, draft
from tests.test_admin import TYPES, form

pytestmark = pytest.mark.django_db
SCHEMA = {"type": "object", "properties": {"os": {"type": "string"}}, "required": ["os"]}
MEMORIES = "/admin/memory_app/memory/"


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def own(db) -> MemoryType:
    return MemoryType.objects.create(key="environment", name="环境", icon="server", color="#0891b2")


@pytest.fixture
def stores(db) -> None:
    create_agent("helper")
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})


def path_of(item: MemoryType) -> str:
    return f"{TYPES}{item.pk}/change/"


def shown(console: Client, path: str, **parameters) -> str:
    response = console.get(path, parameters)
    assert response.status_code == 200, response.headers
    return response.content.decode()


def sent(console: Client, path: str, **changes) -> str:
    response = console.post(path, form(console.get(path)) | changes)
    assert response.status_code == 200, response.headers
    return response.content.decode()


@pytest.fixture
def dead_store(stores, data_dir):
    """The store of agent own can't be read."""
    services.save(draft("x", Scope("own", "ann")))

    def break_it(monkeypatch) -> None:
        stats, count = RowProvider.stats, RowProvider.count

        def dead(self):  # fmt: skip
            if self.label == "memory/own.db":
                raise StoreUnavailable("memory/own.db is gone")

        monkeypatch.setattr(RowProvider, "stats", lambda self, *names: dead(self) or stats(self, *names))
        monkeypatch.setattr(RowProvider, "count", lambda self, query: dead(self) or count(self, query))

    return break_it


# the list


def test_it_lists_types_with_their_looks_and_uses(console, stores, own):
    services.save_many(
        [draft("a", Scope("helper", "ann"), type="environment"), draft("b", Scope("own", "x"), type="environment")]
    )
    text = shown(console, TYPES)
    assert f'<a href="{MEMORIES}?type=environment">2</a>' in text
    assert f'<a href="{MEMORIES}?type=project">0</a>' in text
    assert 'fill="#0891b2"' in text
    assert "icons.svg#server" in text
    assert text.count("Built in: it can&#x27;t be deleted.</span>") == 4


def test_it_counts_nothing_while_a_store_cannot_be_read(console, dead_store, monkeypatch):
    dead_store(monkeypatch)
    text = shown(console, TYPES)
    assert text.count('title="A store can&#x27;t be read."') == 4
    assert "?type=user" not in text


def test_it_shows_looks_that_another_door_stored_as_text(console, own):
    MemoryType.objects.filter(pk=own.pk).update(color='"><script>', icon="el-icon<b>")
    text = shown(console, TYPES)
    assert "&quot;&gt;&lt;script&gt;" in text
    assert "el-icon&lt;b&gt;" in text
    assert "fill=&quot;" not in text


def test_it_draws_every_icon_that_it_offers():
    sprite = (ROOT / "netaclaw/static/netaclaw/icons.svg").read_text()
    assert [name for name in ICONS if f'<symbol id="{name}"' not in sprite] == []
    assert sprite.count("<symbol") == len(ICONS)


# the form


def test_it_makes_a_type(console):
    looks = {"icon-choice": "server", "icon": "", "color": "#0891b2"}
    values = {"key": "environment", "name": "环境", "description": "", "metadata_schema": json.dumps(SCHEMA)}
    assert console.post(f"{TYPES}add/", values | looks).status_code == 302
    made = MemoryType.objects.get(key="environment")
    assert (made.icon, made.color, made.metadata_schema, made.is_system) == ("server", "#0891b2", SCHEMA, False)


@pytest.mark.parametrize(
    ("choice", "text", "kept"), [("other", "el-icon-sunny", "el-icon-sunny"), ("", "x", ""), ("star", "x", "star")]
)
def test_it_takes_a_choice_of_icon_or_another_name(console, own, choice, text, kept):
    console.post(path_of(own), form(console.get(path_of(own))) | {"icon-choice": choice, "icon": text})
    assert MemoryType.objects.get(pk=own.pk).icon == kept


@pytest.mark.parametrize("color", ["#12", "blue", "url(http://x)", '"><script>', "#0891b2;x"])
def test_it_refuses_what_is_no_colour(console, own, color):
    assert "Write a colour such as #0891b2." in sent(console, path_of(own), color=color)
    assert MemoryType.objects.get(pk=own.pk).color == "#0891b2"


def test_it_keeps_a_colour_that_another_door_wrote(console, own):
    MemoryType.objects.filter(pk=own.pk).update(color="primary")
    console.post(path_of(own), form(console.get(path_of(own))) | {"name": "renamed"})
    assert MemoryType.objects.values_list("name", "color").get(pk=own.pk) == ("renamed", "primary")


def test_it_keeps_the_key_of_a_type(console, own):
    console.post(path_of(own), form(console.get(path_of(own))) | {"key": "other", "name": "renamed"})
    assert MemoryType.objects.values_list("key", "name").get(pk=own.pk) == ("environment", "renamed")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('{"type": "object",\n "properties": }', "line 2, column 16"),
        ('{"type": "object", "type": "object"}', "A key stands twice"),
        ('{"type": "array"}', "metadata is an object"),
        ('{"type": "banana"}', "This is no JSON Schema"),
        ('{"$ref": "https://example.test/x"}', "This is no JSON Schema"),
        ("[1]", "metadata must be a JSON object"),
        ('{"minimum": NaN}', "NaN"),
    ],
)
def test_it_says_what_is_wrong_with_a_schema_and_keeps_the_text(console, own, schema, message):
    text = sent(console, path_of(own), metadata_schema=schema)
    assert message in text
    assert schema.splitlines()[0].replace('"', "&quot;") in text
    assert MemoryType.objects.get(pk=own.pk).metadata_schema is None


def test_it_clears_a_schema(console, own):
    services.update_type(own, {"metadata_schema": SCHEMA})
    console.post(path_of(own), form(console.get(path_of(own))) | {"metadata_schema": " "})
    assert MemoryType.objects.get(pk=own.pk).metadata_schema is None


# what a schema means


def test_it_previews_a_schema_and_saves_nothing(console, own):
    text = sent(console, path_of(own), metadata_schema=json.dumps(SCHEMA), name="unsaved", _preview="1")
    assert '<th scope="row">os' in text
    assert "unsaved" in text
    assert MemoryType.objects.values_list("name", "metadata_schema").get(pk=own.pk) == ("环境", None)


def test_it_previews_a_type_that_is_not_made_yet(console):
    text = sent(console, f"{TYPES}add/", metadata_schema=json.dumps(SCHEMA), _preview="1")
    assert '<th scope="row">os' in text
    assert "_check" not in text
    assert MemoryType.objects.count() == 4


def test_it_says_where_a_previewed_schema_is_wrong(console, own):
    assert (
        "line 1, column 2" in sent(console, path_of(own), metadata_schema="{", _preview="1").split("schema-result")[1]
    )


def test_it_takes_a_schema_that_no_form_can_be_drawn_of(console, own):
    free = {"type": "object", "properties": {"any": {"anyOf": [{"type": "string"}, {"type": "array"}]}}}
    assert "no form can be drawn" in sent(console, path_of(own), metadata_schema=json.dumps(free), _preview="1")
    console.post(path_of(own), form(console.get(path_of(own))) | {"metadata_schema": json.dumps(free)})
    assert MemoryType.objects.get(pk=own.pk).metadata_schema == free


def checked(console, item: MemoryType, schema=SCHEMA) -> str:
    return sent(console, path_of(item), metadata_schema=json.dumps(schema), _check="1")


def test_it_finds_the_memories_of_all_stores_that_do_not_fit(console, stores, own):
    owners = [Scope("helper", "ann"), Scope("own", "bob")]
    bad = [draft(f"bad {owner.agent_name}", owner, type="environment", metadata={"os": 7}) for owner in owners]
    good = [draft("good", owner, type="environment", metadata={"os": "debian"}) for owner in owners]
    results = services.save_many([*bad, *good, draft("other", owners[0], metadata={})])
    text = checked(console, own)
    assert "2 memories don't fit." in text
    assert "Looked at 4 of 4." in text
    assert f"{MEMORIES}own_3A{results[1].memory.id}/change/" in text
    assert "metadata.os: 7 is not of type" in text


def test_it_says_that_all_fit(console, stores, own):
    services.save(draft("good", type="environment", metadata={"os": "debian"}))
    assert "All memories of this type fit." in checked(console, own)


def test_it_looks_at_a_bounded_number(console, stores, own, monkeypatch):
    services.save_many([draft(f"note {n}", type="environment", metadata={"os": n}) for n in range(7)])
    monkeypatch.setattr("memory_app.misfits.MAX_CHECKED", 5)
    monkeypatch.setattr("memory_app.misfits.BATCH", 2)
    monkeypatch.setattr("memory_app.misfits.MISFITS_SHOWN", 3)
    text = checked(console, own)
    assert "5 memories don't fit." in text
    assert "Looked at 5 of 7." in text
    assert "These are the first ones." in text
    assert text.count("is not of type") == 3


def test_it_does_not_say_that_all_fit_when_it_did_not_look_at_all(console, dead_store, own, monkeypatch):
    services.save(draft("good", type="environment", metadata={"os": "debian"}))
    dead_store(monkeypatch)
    text = checked(console, own)
    assert "All memories that were looked at fit." in text
    assert "memory/own.db can't be read; not all of its memories were looked at." in text


def test_it_shows_a_reader_the_type_and_no_buttons(client, django_user_model, own):
    user = django_user_model.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_memorytype"))
    client.force_login(user)
    text = shown(client, path_of(own))
    assert "environment" in text
    assert "schema-panel" not in text
    assert client.post(path_of(own), {"_check": "1"}).status_code == 403
    assert "?type=" not in shown(client, TYPES)


# deleting


def test_it_refuses_to_delete_a_type_in_use_and_leads_to_its_memories(console, stores, own):
    owners = [Scope("helper", "ann"), Scope("own", "ann"), Scope("own", "bob")]
    services.save_many([draft("x", owner, type="environment") for owner in owners])
    for response in (
        console.get(f"{TYPES}{own.pk}/delete/"),
        console.post(f"{TYPES}{own.pk}/delete/", {"post": "yes"}),
        console.post(TYPES, {"action": "delete_selected", "_selected_action": [own.pk], "post": "yes"}),
    ):
        text = response.content.decode()
        assert "is used by 3 memories (helper: 1, own: 2); give them another type first." in text
        assert f'href="{MEMORIES}?type=environment"' in text
    assert MemoryType.objects.count() == 5


def test_it_deletes_a_type_that_nothing_needs(console, stores, own):
    assert "环境 (environment)" in shown(console, f"{TYPES}{own.pk}/delete/")
    console.post(f"{TYPES}{own.pk}/delete/", {"post": "yes"})
    assert MemoryType.objects.count() == 4


def test_it_never_deletes_a_built_in_type(console, own):
    built_in = MemoryType.objects.get(key="user")
    assert console.post(f"{TYPES}{built_in.pk}/delete/", {"post": "yes"}).status_code == 403
    assert "deletelink" not in shown(console, path_of(built_in))
    chosen = {"action": "delete_selected", "_selected_action": [built_in.pk, own.pk], "post": "yes"}
    assert "is built in and can&#x27;t be deleted." in console.post(TYPES, chosen).content.decode()
    assert MemoryType.objects.count() == 5


def test_it_deletes_no_type_while_a_store_cannot_tell(console, dead_store, own, monkeypatch):
    dead_store(monkeypatch)
    response = console.post(f"{TYPES}{own.pk}/delete/", {"post": "yes"})
    assert "memory/own.db is gone" in response.content.decode()
    assert MemoryType.objects.filter(pk=own.pk).exists()
