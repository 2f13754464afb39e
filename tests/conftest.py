import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import translation

from agents_app.services import create_agent
from memory_app import answering
from memory_app.contracts import MemoryDraft, Scope
from memory_app.models import MemoryType
from memory_app.providers.pool import POOL

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings):
    """Every test has a data directory of its own, begins in English, and leaves no file open."""
    translation.activate("en")  # a request leaves its language behind in its thread
    settings.DATA_DIR = tmp_path
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }
    cache.clear()
    yield tmp_path
    POOL.close_all()


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine makes no store silent, and what one test met is no other's."""
    monkeypatch.setattr(answering, "ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(answering, "READ_SECONDS", 60.0)
    monkeypatch.setattr(answering, "_silent_until", {})


@pytest.fixture(autouse=True)
def memory_types(request):
    """The built-in types are there in whatever order tests run: those with real transactions empty the tables."""
    if request.node.get_closest_marker("django_db") or "db" in request.fixturenames:
        request.getfixturevalue("_django_db_helper")
        if not MemoryType.objects.exists():
            MemoryType.seed()


@pytest.fixture
def no_memories(transactional_db):
    """For real transactions: Django's flush leaves the memories' table alone, which it doesn't manage."""
    yield
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM netaclaw_memory")


@pytest.fixture
def agent(db):
    return create_agent("helper")


@pytest.fixture
def file_agent(db):
    """An agent whose memories are in memory/memory.db, whatever the main database is."""
    return create_agent("helper", memory={"backend": "sqlite"})


@pytest.fixture
def ann(agent) -> Scope:
    return Scope("helper", "ann")


@pytest.fixture
def bob(agent) -> Scope:
    return Scope("helper", "bob")


def draft(content: str, scope: Scope | None = None, **fields) -> MemoryDraft:
    """A memory of user ann of agent helper, unless told otherwise."""
    owner = scope or Scope("helper", "ann")
    values = {"agent_name": owner.agent_name, "user_id": owner.user_id, "type": "user", "name": content[:50] or "note"}
    return MemoryDraft(**values | {"content": content} | fields)


@pytest.fixture
def run_in_process(data_dir):
    """Runs code in a process of its own, which can be killed, on a main database that processes share."""
    url = main_url() if connection.vendor == "mysql" else ""
    names = {
        "NETACLAW_DATA_DIR": str(data_dir),
        "NETACLAW_DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "netaclaw.settings",
    }

    def run(code: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", f"import django; django.setup()\n{code}"]
        return subprocess.run(command, cwd=ROOT, env=os.environ | names, capture_output=True, text=True, check=False)

    return run


def main_url() -> str:
    server = connection.settings_dict
    login = f"{server['USER']}:{server['PASSWORD']}@{server['HOST']}:{server['PORT'] or 3306}"
    return f"mysql://{login}/{server['NAME']}"
