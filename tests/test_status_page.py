import django
import pytest
from django.db import connection
from django.test import Client

from agents_app.services import create_agent
from memory_app import missed
from memory_app.admin import status
from memory_app.providers.pool import POOL
from tests.test_overview import console, damage, staff, two_stores

__all__ = ["console", "staff", "two_stores"]
pytestmark = pytest.mark.django_db
STATUS = "/admin/memory_app/memory/status/"


def text_of(client: Client, path: str = STATUS) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def test_it_tells_how_every_store_does(console, two_stores):
    reports = {report.label: report for report in console.get(STATUS).context["reports"]}
    assert len(reports) == 2
    own = reports["memory/own.db"]
    assert (own.health.rows, own.health.full_text, own.health.schema, own.agents) == (2, True, "version 1", 1)
    assert own.health.size > 0
    assert own.error == ""


def test_it_says_what_is_wrong_without_a_path(console, two_stores, data_dir):
    damage(data_dir)
    text = text_of(console)
    assert "unavailable" in text
    assert "The file is no readable SQLite database; restore it from a backup." in text
    assert str(data_dir) not in text


def test_it_remembers_what_was_wrong_with_a_store_that_answers_again(console, two_stores, data_dir):
    path = data_dir / "memory" / "own.db"
    POOL.close_all()
    path.rename(data_dir / "backup")
    damage(data_dir)
    console.get(STATUS)
    (data_dir / "backup").replace(path)
    report = next(report for report in console.get(STATUS).context["reports"] if report.label == "memory/own.db")
    assert report.health.rows == 2
    assert report.error == "The file is no readable SQLite database; restore it from a backup."
    assert report.failed_at is not None


def test_it_shows_a_file_that_is_not_made_yet_as_empty(console, data_dir):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    report = console.get(STATUS).context["reports"][0]
    assert (report.health.rows, report.health.size) == (0, None)
    assert not (data_dir / "memory" / "own.db").exists()


def test_it_counts_the_turns_that_went_on_without_their_memories(console):
    assert "0 today, 0 in 7 days" in text_of(console)
    missed.note("<b>helper</b>", "The answer takes too long.")
    text = text_of(console)
    assert "1 today, 1 in 7 days" in text
    assert "&lt;b&gt;helper&lt;/b&gt;: The answer takes too long." in text


def test_it_names_versions_and_the_main_database(console):
    text = text_of(console)
    assert django.get_version() in text
    assert connection.display_name in text


def test_it_names_migrations_that_wait(console, monkeypatch):
    class Waiting(status.MigrationExecutor):
        def migration_plan(self, targets, clean_start=False):
            return [(self.loader.graph.nodes["memory_app", "0001_initial"], False)]

    monkeypatch.setattr(status, "MigrationExecutor", Waiting)
    assert "memory_app.0001_initial" in text_of(console)


def test_it_is_for_those_who_may_see_memories(staff):
    response = staff("view_agent").get(STATUS)
    assert response.status_code == 403
    assert "the permission to view memories" in response.content.decode()


def test_it_is_shown_to_those_who_may_only_look(staff, two_stores):
    assert "memory/own.db" in text_of(staff("view_memory"))


def test_it_names_the_permission_that_is_missing(staff):
    response = staff("view_agent").get("/admin/memory_app/memorytype/add/")
    assert response.status_code == 403
    assert "memory_app.add_memorytype" in response.content.decode()


@pytest.mark.parametrize("path", ["/admin/nowhere/", "/nowhere", "/admin/memory_app/nothing/"])
def test_it_answers_an_unknown_address_in_the_consoles_dress(console, path):
    response = console.get(path)
    assert response.status_code == 404
    assert "Page not found" in response.content.decode()


def test_it_answers_a_failure_without_the_database(client, monkeypatch):
    monkeypatch.setattr("netaclaw.urls.User", None)
    client.raise_request_exception = False
    response = client.get("/healthz")
    assert response.status_code == 500
    assert "Something failed" in response.content.decode()
    assert "NoneType" not in response.content.decode()


def test_it_says_that_a_form_has_expired(django_user_model):
    client = Client(enforce_csrf_checks=True)
    response = client.post("/admin/login/", {"username": "x", "password": "y"})
    assert response.status_code == 403
    assert "The form has expired" in response.content.decode()
