import pytest
from django.conf import settings
from django.core.checks import run_checks

from memory_app.providers import sqlite_schema

SERVERS = [name for name in ("mysql", "mariadb") if name in settings.DATABASES]


@pytest.mark.django_db(databases=["default", *SERVERS])
def test_it_says_which_server_has_no_ngram_parser():
    found = {message.msg for message in run_checks(databases=SERVERS) if message.id == "memory_app.I001"}
    assert len(found) == ("mariadb" in SERVERS)
    assert all("mariadb" in text for text in found)


def test_it_warns_of_an_sqlite_without_full_text(monkeypatch):
    monkeypatch.setattr(sqlite_schema, "full_text_problem", lambda: "no such module: fts5")
    (message,) = [message for message in run_checks() if message.id == "memory_app.W001"]
    assert "fts5" in message.msg
    assert message.hint


def test_it_has_nothing_to_say_otherwise():
    assert [message for message in run_checks() if message.id.startswith(("memory_app", "agents_app"))] == []
