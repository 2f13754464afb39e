"""A browser with the console open, which remembers everything that went wrong in it."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, Request, Response

LIST = "/admin/memory_app/memory/"
PREVIEW = f"{LIST}preview/"
TYPES = "/admin/memory_app/memorytype/"
AGENTS = "/admin/agents_app/agent/"
AUDIT = "/admin/memory_app/memorychange/"
PATIENCE = 15_000  # ms; a busy machine is slow, never wrong
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")


class Console:
    """One page of one browser; `problems` are console errors and warnings, exceptions, and requests that failed or left
    the origin. A test ends with none, except those it expects.
    """

    def __init__(self, context: BrowserContext, base: str) -> None:
        self.base = base
        self.context = context
        self.problems: list[str] = []
        self.requests: list[str] = []
        context.set_default_timeout(PATIENCE)
        self.page: Page = context.new_page()
        self._watch(self.page)

    def _watch(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        page.on("request", self._on_request)
        page.on("requestfailed", self._on_failure)
        page.on("response", self._on_response)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((f"{self.base}/", "data:", "blob:")):
            self.problems.append(f"request to another origin: {request.url}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # by leaving the page, or by a download
            self.problems.append(f"request failed: {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        """Those of pages are what `open` and `expect` are for."""
        if response.status >= 400 and not response.request.is_navigation_request():
            self.problems.append(f"HTTP {response.status}: {response.url}")

    def expect(self, pattern: str) -> None:
        """Takes away the problems that match; the test fails when none does."""
        kept = [problem for problem in self.problems if not re.search(pattern, problem)]
        assert len(kept) < len(self.problems), f"no problem like {pattern!r} among {self.problems}"
        self.problems[:] = kept

    def open(self, path: str, status: int = 200) -> Response:
        """Goes to a path of the product, which must answer with this status."""
        response = self.page.goto(self.base + path)
        assert response is not None
        assert response.status == status, f"{path} answered {response.status}"
        if status >= 400:
            self.expect(f"status of {status}")
        return response

    @property
    def path(self) -> str:
        """Where the page is: path and query, without the origin."""
        return self.page.url.removeprefix(self.base)

    def find(self, selector: str) -> Locator:
        """The elements of a CSS selector; reading text or acting waits for the one element."""
        return self.page.locator(selector)

    def label(self, text: str) -> Locator:
        """The form control of this label."""
        return self.page.get_by_label(text, exact=True)

    def button(self, text: str) -> Locator:
        """The button of exactly this name."""
        return self.page.get_by_role("button", name=text, exact=True)

    def link(self, text: str) -> Locator:
        """The first link of exactly this name within the content."""
        return self.page.get_by_role("link", name=text, exact=True).first

    def follow(self, control: Locator) -> None:
        """Clicks what leads to another page, and waits for it."""
        with self.page.expect_navigation(wait_until="load"):
            control.click()

    def messages(self) -> str:
        """What the page says at its top."""
        return " ".join(self.find("ul.messagelist li").all_inner_texts())

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        size = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        return int(size[0] - size[1])

    def violations(self) -> list[str]:
        """What axe-core finds serious or critical: rule, its help, and the elements."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)  # goes by the debugger, past the Content-Security-Policy
        before = len(self.problems)
        found: list[dict[str, Any]] = self.page.evaluate(
            "async () => (await axe.run(document, {resultTypes: ['violations'], preload: false})).violations"
        )
        own = [problem for problem in self.problems[before:] if "Applying inline style" in problem]  # axe's probes
        self.problems[:] = [problem for problem in self.problems if problem not in own]
        return [
            f"{one['id']} ({one['help']}): {[node['html'][:200] for node in one['nodes'][:5]]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
