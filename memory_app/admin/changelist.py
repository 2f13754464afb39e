"""Django's ChangeList over the memories of all stores: one read a page, and what stands around the table."""

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext

from memory_app import search
from memory_app.admin.columns import BACKENDS
from memory_app.admin.list_filters import PARAMETERS, Chip
from memory_app.admin.type_tags import TypeLook, looks, stylesheet_url
from memory_app.contracts import AgentStatistics, Backend, Count, Page
from memory_app.merged import ROWS, as_row
from memory_app.models import MemoryConfig

MAX_PAGES = 200
INDEXES = {Backend.SQLITE: "trigram", Backend.MYSQL: "ngram"}


class MemoryList(ChangeList):
    """One page of the merged list. Beyond MAX_PAGES nothing is read: merging costs the more, the further one goes."""

    found: Page

    def get_results(self, request: HttpRequest) -> None:
        self.page_num = max(1, self.page_num)
        self.too_far = self.page_num > MAX_PAGES
        self.may_delete = self.model_admin.has_delete_permission(request)
        self.found = Page((), self.page_num, ROWS, 0) if self.too_far else self._page()
        self.result_list = [self._row(backend, entry) for backend, entry in self.found.rows]
        self.result_count = self.found.total
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = bool(self.result_list)
        self.can_show_all = False
        self.multi_page = self.result_count > ROWS
        self.paginator = Paginator(range(min(self.result_count, MAX_PAGES * ROWS)), ROWS)

    def _page(self) -> Page:
        """The page that was asked for, or the last one."""
        page: Page = self.queryset.page(self.page_num)
        last = min(MAX_PAGES, -(-page.total // ROWS))
        if not page.rows and 0 < last < self.page_num:
            self.page_num = last
            page = self.queryset.page(last)
        return page

    def _row(self, backend: str, entry: Any) -> Any:
        row: Any = as_row(backend, entry)
        row.look = self.looks.get(entry.type)
        row.searched = self.words
        return row

    # what the stores said

    @property
    def partial(self) -> bool:
        """Whether memories of some store are missing."""
        return bool(self.found.unavailable)

    @property
    def words(self) -> Sequence[str]:
        """The words that were searched."""
        return self.query.split()

    @property
    def last_shown(self) -> int:
        """The number of the last row of this page in the whole list."""
        return self.first_shown + len(self.result_list) - 1

    @property
    def first_shown(self) -> int:
        """The number of the first row of this page in the whole list."""
        return (self.page_num - 1) * ROWS + 1

    def matching(self) -> Iterator[str]:
        """How each kind of store found the words."""
        for backend, words in self.found.unindexed.items():
            name, index = BACKENDS[Backend(backend)], INDEXES[Backend(backend)]
            if len(words) < len(self.words):
                yield gettext("%(store)s: by the %(index)s index") % {"store": name, "index": index}
            if words:
                text = gettext("%(store)s: by reading every row for %(words)s, which no index can find")
                yield text % {"store": name, "words": ", ".join(f"“{word}”" for word in words)}

    # what stands beside the table

    @cached_property
    def looks(self) -> Mapping[str, TypeLook]:
        """How the types are shown."""
        return looks()

    @cached_property
    def stylesheet(self) -> str:
        """Where the types' colours are."""
        return stylesheet_url(self.looks)

    def word_of(self, type_key: str) -> str:
        """What a type is called."""
        look = self.looks.get(type_key)
        return look.word if look else type_key

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What the agents are called."""
        return dict(MemoryConfig.objects.values_list("agent__name", "agent__label"))

    @cached_property
    def _stats(self) -> tuple[Sequence[AgentStatistics], datetime]:
        """Counted anew when the list itself has just met a store that can't be read."""
        rows, taken_at = search.cached_stats()
        if self.partial and all(row.count is not None for row in rows):
            search.forget_stats()
            rows, taken_at = search.cached_stats()
        return rows, taken_at

    @property
    def statistics(self) -> Sequence[AgentStatistics]:
        """What each agent keeps."""
        return self._stats[0]

    @property
    def counted_at(self) -> datetime:
        """When the statistics were taken."""
        return self._stats[1]

    def counted(self, others: Collection[str], but: str) -> Sequence[AgentStatistics] | None:
        """The statistics that the filters `others` leave; None where more filters than these narrow the list."""
        active = {name for name in (*PARAMETERS, SEARCH_VAR) if self.params.get(name)} - {but}
        if not active <= set(others):
            return None
        agent, backend = (self.params.get(name) if name in others else None for name in ("agentName", "backend"))
        rows = [
            row
            for row in self.statistics
            if (not agent or row.agent_name == agent) and (not backend or row.backend == backend)
        ]
        return None if any(row.count is None for row in rows) else rows

    # where one can go, and what one can do

    def pages(self) -> Iterator[int | str]:
        """The numbers of the pages to offer."""
        return iter(self.paginator.get_elided_page_range(self.page_num))

    @property
    def first_page(self) -> str:
        """Where the list begins."""
        return str(self.get_query_string())

    @property
    def add_link(self) -> str:
        """Where a memory is added, for the agent and the user whose memories are shown; it leads back to this list."""
        names = ("agentName", "userId", "type")
        given: dict[str, str] = {name: self.params[name] for name in names if name in self.params}
        query = urlencode(given) + ("&" if given and self.preserved_filters else "") + self.preserved_filters
        return reverse("admin:memory_app_memory_add") + (f"?{query}" if query else "")

    @property
    def sample(self) -> str:
        """A first memory for the API, as a word of the shell."""
        agent = self.params.get("agentName") or next(iter(self.labels), "")
        memory = {"agentName": agent, "userId": "ann", "type": "user", "content": gettext("Prefers window seats.")}
        return shlex.quote(json.dumps(memory, ensure_ascii=False))

    # what is filtered

    @cached_property
    def chips(self) -> Sequence[Chip]:
        """Each active filter."""
        filters: Sequence[Any] = self.filter_specs
        found: list[Chip] = [chip for spec in filters for chip in spec.chips(self)]
        if self.query.strip():
            label, link = gettext("search"), self.get_query_string(remove=[SEARCH_VAR])
            found.append(Chip(label, self.query.strip(), link, {"keyword": ""}))
        return found

    @property
    def without_filters(self) -> str:
        """Where the whole list is."""
        return str(self.get_query_string(remove=[*PARAMETERS, SEARCH_VAR]))

    def wider(self) -> Iterator[tuple[Chip, Count]]:
        """For each active filter how many memories there are without it."""
        for chip in self.chips:
            yield chip, search.count(replace(self.queryset.wanted, **chip.cleared))

    @property
    def empty(self) -> bool:
        """Whether there is nothing yet, in the chosen agent or at all, rather than nothing that matches."""
        known = self.params.get("agentName") in (None, *self.labels)
        return known and all("agent_names" in chip.cleared for chip in self.chips)
