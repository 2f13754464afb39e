"""The product in Chromium: a server in this process, with the files of a real installation, and a browser per worker.

Both are kept for the package only: Playwright's event loop would be in the way of other tests of the worker.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.test.testcases import LiveServerThread
from playwright.sync_api import Browser, sync_playwright

from agents_app.models import Agent
from agents_app.services import create_agent
from memory_app import services
from memory_app.contracts import MemoryDraft
from memory_app.models import Memory, MemoryType
from tests.browser.console import Console
from tests.browser.looks import ENGLISH, Look

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = "NETACLAW_TEST_CHROMIUM"  # a path; or `required`, to fail where there is none
MANIFEST = {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"}


def chromium() -> str:
    """The browser's path; tests are skipped where there is none, and fail where one is asked for."""
    named = os.environ.get(CHROMIUM, "")
    path = named if named not in ("", "required") else shutil.which("chromium") or ""
    if path and shutil.which(path):
        return path
    missing = f"There is no Chromium {path}: install Debian's package chromium, or name its path in {CHROMIUM}."
    if named:
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = chromium()
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # the loop is Playwright's; no query is made in it
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    static_root: Path

    def settings(self) -> dict[str, Any]:
        """Static files as an installation has them: collected, under hashed names."""
        from django.conf import settings

        return {"STATIC_ROOT": self.static_root, "STORAGES": settings.STORAGES | {"staticfiles": MANIFEST}}


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Served]:
    """The product's WSGI application with all its middleware, which also serves the static files."""
    served = Served("", tmp_path_factory.mktemp("static"))
    with override_settings(**served.settings()):
        call_command("collectstatic", interactive=False, verbosity=0)
        server = LiveServerThread("127.0.0.1", static_handler=lambda application: application)
        server.daemon = True
        server.start()
        server.is_ready.wait()
    if server.error:
        raise server.error
    yield Served(f"http://127.0.0.1:{server.port}", served.static_root)
    server.terminate()


@pytest.fixture
def site(served: Served, data_dir: Path, settings: Any, transactional_db: None) -> str:
    """The server's address; it works with the test's own data directory and an emptied main database."""
    for name, value in served.settings().items():
        setattr(settings, name, value)
    if connection.vendor == "mysql":  # Django empties its own tables only
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE TABLE {Memory._meta.db_table}")
    if not MemoryType.objects.exists():
        MemoryType.seed()
    return served.url


@pytest.fixture
def look() -> Look:
    """English, light, 1280 by 800, unless the test is parametrised."""
    return ENGLISH


@pytest.fixture
def operator(site: str) -> User:
    """A superuser, whom `console` is logged in as; password `root`."""
    return User.objects.create_superuser("root", password="root")


OpenConsole = Callable[..., Console]


@pytest.fixture
def open_console(browser: Browser, site: str, look: Look) -> Iterator[OpenConsole]:
    """Opens browsers: `open_console(user, look)`; each one must end without problems. User None isn't logged in."""
    consoles: list[Console] = []

    def open_console(user: User | None, look: Look = look) -> Console:
        context = browser.new_context(
            viewport={"width": look.width, "height": look.height},
            locale=look.locale,
            color_scheme=look.theme,
            reduced_motion="reduce",
            has_touch=look.width < 600,
        )
        if user is not None:
            client = Client()
            client.force_login(user)
            context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site}])
        consoles.append(Console(context, site))
        return consoles[-1]

    yield open_console
    for console in consoles:
        console.context.close()
    assert [problem for console in consoles for problem in console.problems] == []


@pytest.fixture
def console(open_console: OpenConsole, operator: User) -> Console:
    """A browser of the test's look, logged in as a superuser."""
    return open_console(operator)


@dataclass
class Memories:
    """Fills the stores over the services."""

    names: set[str] = field(default_factory=set)

    def agent(self, name: str, memory: Mapping[str, Any] | None = None, **fields: Any) -> Agent:
        """An agent; `memory` are its memory settings."""
        self.names.add(name)
        return create_agent(name, memory=memory or {}, **fields)

    def save(self, content: str, user: str = "ann", agent: str = "helper", **fields: Any) -> str:
        """Saves a memory, makes its agent if need be, and answers the memory's reference."""
        if agent not in self.names:
            self.agent(agent)
        values = {"type": "user", "name": content[:50]} | fields
        memory = services.save(MemoryDraft(agent, user, content=content, **values)).memory
        return f"{agent}:{memory.id}"

    def fill(self, count: int, user: str = "ann", agent: str = "helper", text: str = "Memory number %d") -> None:
        """Saves many memories at once."""
        if agent not in self.names:
            self.agent(agent)
        texts = [text % number for number in range(1, count + 1)]
        services.save_many([MemoryDraft(agent, user, "user", line, line) for line in texts])


@pytest.fixture
def memories(site: str) -> Memories:
    return Memories()
