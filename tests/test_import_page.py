"""Importing JSON Lines in the console."""

import json
import os

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from agents_app.services import create_agent
from memory_app import search, services
from memory_app.acting import Door
from memory_app.admin import importing_view
from memory_app.contracts import PageQuery, Scope
from memory_app.models import MemoryChange
from tests.conftest import draft
from tests.test_admin import LIST
from tests.test_bulk import broken

pytestmark = pytest.mark.django_db
IMPORT = f"{LIST}import/"
METADATA = {"n": 2**70, "x": {"y": 1.5, "中": None}, "key with space": "🙂", "user": "kept"}
HARD = 'a\u2028b\x85c\x0bd\r\ne "q" =1+1 <script>alert(1)</script> \u202e🙂\n'


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


def lines(*items: object) -> str:
    return "".join((item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)) + "\n" for item in items)


def check(console: Client, text: str | bytes, agent: str = "helper", **fields):
    """Sends text, or bytes as a file; the page of the dry run."""
    content = {"text": text} if isinstance(text, str) else {"file": SimpleUploadedFile("m.jsonl", text)}
    return console.post(IMPORT, {"agent": agent, "type": "user"} | content | fields, follow=True)


def write(console: Client, page):
    return console.post(page.request["PATH_INFO"], follow=True)


def counts(page) -> dict[str, int]:
    names = ("created", "duplicate", "refused", "failed")
    return {name: page.context["report"][name] for name in names if page.context["report"][name]}


def total() -> int:
    return search.page(PageQuery()).total


def test_it_says_what_it_would_do_and_writes_nothing(console, agent):
    services.save(draft("known"))
    known = {"user": "ann", "content": "known"}
    page = check(console, lines(known, {"content": "new"}, {"content": "new"}, "", "{", {"content": "x", "type": "no"}))
    assert counts(page) == {"created": 1, "duplicate": 2, "refused": 2}
    assert [number for number, _problem in page.context["problems"]] == [5, 6]
    assert 'value="Import 1 memory"' in page.content.decode()
    assert page.context["level"] == "warning"
    assert total() == 1


def test_it_writes_what_it_foresaw_and_says_who_did_it(console, agent):
    page = check(console, lines({"user": "ann", "content": "one"}, {"content": "two"}).encode())
    result = write(console, page)
    assert counts(result) == counts(page) == {"created": 2}
    assert result.context["level"] == "success"
    assert [hit.memory.content for hit in search.recall(Scope("helper", "zoe"), "two")] == ["two"]
    assert {(change.door, change.actor) for change in MemoryChange.objects.all()} == {(Door.IMPORT, "root")}


def test_it_reads_back_what_an_export_wrote(console, agent):
    create_agent("other")
    saved = services.save(draft(HARD, name=HARD.strip()[:50], description="=d", metadata=METADATA)).memory
    chosen = {"action": "export_json", "_selected_action": f"helper:{saved.id}"}
    exported = b"".join(console.post(LIST, chosen).streaming_content)
    write(console, check(console, exported, "other"))
    read = search.page(PageQuery(agent_names=("other",))).rows[0][1]
    for name in ("user_id", "type", "name", "content", "description", "metadata", "created_at"):
        assert getattr(read, name) == getattr(saved, name)
    assert list(read.metadata) == list(METADATA)
    assert counts(check(console, exported)) == {"duplicate": 1}


def test_it_sends_lines_to_the_agents_that_they_name_only_when_asked(console, agent):
    create_agent("other")
    text = lines({"agentName": "other", "content": "a"}, {"content": "b"}, {"agent": "ghost", "content": "c"})
    assert counts(check(console, text)) == {"created": 3}
    page = check(console, text, importing_view.AS_IN_FILE)
    assert counts(page) == {"created": 1, "refused": 2}
    assert "names no agent" in page.context["problems"][0][1]
    assert "There is no agent &quot;ghost&quot;" in page.content.decode()
    write(console, page)
    assert [entry.agent_name for _backend, entry in search.page(PageQuery()).rows] == ["other"]


def test_it_writes_once_however_often_it_is_asked(console, agent):
    page = check(console, lines({"content": "one"}))
    first = write(console, page)
    services.delete(Scope.all_users("helper"), [search.page(PageQuery()).rows[0][1].id])
    second = write(console, page)
    assert second.request["PATH_INFO"] == first.request["PATH_INFO"]
    assert total() == 0
    assert "This was imported: see the result." in console.get(page.request["PATH_INFO"]).content.decode()


def test_it_removes_the_content_when_it_is_written(console, agent, data_dir):
    page = check(console, lines({"content": "secret"}))
    assert [oct(path.stat().st_mode & 0o777) for path in (data_dir / "console").iterdir()] == ["0o600"] * 2
    write(console, page)
    assert not [path for path in (data_dir / "console").iterdir() if "secret" in path.read_text()]


def test_it_removes_the_content_after_a_day(console, agent, data_dir):
    page = check(console, lines({"content": "secret"}))
    for file in (data_dir / "console").iterdir():
        os.utime(file, (0, 0))
    check(console, lines({"content": "next"}))
    assert not [path for path in (data_dir / "console").iterdir() if "secret" in path.read_text()]
    assert console.get(page.request["PATH_INFO"]).status_code == 404


def test_it_tells_lines_of_a_dead_store_and_tries_them_again(console, agent, data_dir):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    services.save(draft("there", Scope("own", "ann")))
    page = check(console, lines({"agent": "own", "content": "a"}, {"agent": "helper", "content": "b"}), "-")
    with broken(data_dir / "memory" / "own.db"):
        result = write(console, page)
        assert counts(result) == {"created": 1, "failed": 1}
        assert result.context["level"] == "warning"
        assert 'value="Retry 1 failed line"' in result.content.decode()
    assert counts(write(console, result)) == {"created": 1, "duplicate": 1}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"text": ""}, "Choose a file or paste text"),
        ({"text": "{}", "file": SimpleUploadedFile("m.jsonl", b"{}")}, "Choose a file or paste text"),
        ({"text": "{}", "agent": "ghost"}, "Select a valid choice"),
        ({"text": "{}", "agent": ""}, "This field is required"),
        ({"text": "{}", "type": "nope"}, "Select a valid choice"),
        ({"text": "{}", "user": "a\nb"}, "control characters"),
        ({"text": "x" * 500_001}, "at most 500000 characters"),
    ],
)
def test_it_refuses_a_form_that_can_not_be(console, agent, data_dir, fields, problem):
    page = console.post(IMPORT, {"agent": "helper", "type": "user"} | fields)
    assert problem in page.content.decode()
    assert not (data_dir / "console").exists()


def test_it_refuses_a_file_that_is_too_large(console, agent, monkeypatch):
    assert "at most 20 MB" in console.get(IMPORT).content.decode()
    monkeypatch.setattr(importing_view, "MAX_MEGABYTES", 0)
    assert "The file is over 0 MB" in check(console, b"{}").content.decode()


def test_it_imports_nothing_from_what_is_no_text(console, agent):
    page = check(console, b"\xff\xfe{\x00}\x00\n\x00\x01")
    assert counts(page) == {"refused": 2}
    assert "There is nothing to import." in page.content.decode()
    assert write(console, page).context["report"]["created"] == 0


def test_it_shows_an_import_to_its_owner_alone(console, agent, django_user_model):
    path = check(console, lines({"content": "one"})).request["PATH_INFO"]
    console.force_login(django_user_model.objects.create_superuser("other"))
    assert console.get(path).status_code == 404
    assert console.post(path).status_code == 404
    assert console.get(f"{IMPORT}{'0' * 32}/").status_code == 404


def test_it_needs_the_right_to_add(client, agent, django_user_model):
    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="change_memory"))
    client.force_login(clerk)
    assert client.get(IMPORT).status_code == 403
    assert check(client, lines({"content": "one"})).status_code == 403
