from pathlib import Path

import pytest
from django.core.cache import cache

from agents_app.services import create_agent
from memory_app.contracts import MemoryDraft, Scope
from memory_app.models import MemoryType
from memory_app.providers.pool import POOL


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings):
    """Every test has a data directory of its own, and leaves no file open."""
    settings.DATA_DIR = tmp_path
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
def memory_types(request):
    """The built-in types are there in whatever order tests run: those with real transactions empty the tables."""
    if request.node.get_closest_marker("django_db") or "db" in request.fixturenames:
        request.getfixturevalue("_django_db_helper")
        if not MemoryType.objects.exists():
            MemoryType.seed()


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
