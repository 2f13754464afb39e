"""The list of memories over all stores: what it shows, what it filters, and what it says when it can't."""

import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_app.services import create_agent
from memory_app import answering, search, services
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.exceptions import StoreUnavailable
from memory_app.merged import ROWS
from memory_app.models import BUILTIN_TYPES, MemoryType, default_backend
from memory_app.providers.pool import POOL
from memory_app.providers.sqlite import SqliteProvider
from tests.conftest import draft

pytestmark = pytest.mark.django_db
LIST = "/admin/memory_app/memory/"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def two_stores(db) -> None:
    """One agent in the shared file, one in a file of its own, each with the memory of id 1."""
    create_agent("helper", memory={"backend": "sqlite"})
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    for name in ("helper", "own"):
        services.save(draft(f"text of {name} 花生", Scope(name, "ann"), name=f"title {name}"))


@pytest.fixture
def damaged(two_stores, data_dir) -> None:
    POOL.close_all()
    (data_dir / "memory" / "own.db").write_bytes(b"damaged " * 999)


def page(console: Client, address: str = "", **headers) -> str:
    response = console.get(LIST + address, headers=headers)
    assert response.status_code == 200, (response.status_code, response.headers)
    return response.content.decode()


def shown(console: Client, address: str = "") -> list[str]:
    """The titles of the rows, from the top."""
    titles = re.findall(r"<strong><bdi>(.*?)</bdi></strong>", page(console, address))
    return [unescape(re.sub(r"<[^>]*>", "", title)) for title in titles]


def count(text: str) -> str:
    found = re.search(r'<p class="count" role="status">(.*?)</p>', text)
    assert found
    return found[1]


def chips(text: str) -> dict[str, str]:
    """The words of each active filter, and where the list without it is."""
    part = text.partition('<ul class="chips"')[2].partition("</ul>")[0]
    return {
        unescape(re.sub(r"<[^>]*>", "", words)).removesuffix(" ×"): unescape(link)
        for link, words in re.findall(r'<a href="([^"]*)"[^>]*>(.*?)</a>', part)
    }


# what it shows


def test_it_lists_the_memories_of_all_stores(console, two_stores):
    assert shown(console) == ["title own", "title helper"]
    assert count(page(console)) == "2 memories · 1–2"


def test_it_sorts_over_all_stores_and_pages(console, two_stores):
    for name, shift in (("helper", 0), ("own", 1)):
        times = [BEGINNING + timedelta(minutes=2 * number + shift) for number in range(60)]
        services.save_many([draft(f"{time}", Scope(name, "ann"), created_at=time) for time in times])
    pages = [shown(console, f"?p={number}&created=..2026-02-01") for number in (1, 2, 3)]
    assert [len(titles) for titles in pages] == [ROWS, ROWS, 20]
    titles = [title for one in pages for title in one]
    assert titles == sorted(titles, reverse=True)
    assert len(set(titles)) == 120
    assert shown(console, "?p=99&created=..2026-02-01") == pages[2]
    assert shown(console, "?o=1")[:2] == ["title helper", "title own"]


def test_it_never_confuses_equal_ids(console, two_stores):
    text = page(console)
    assert f"{LIST}helper_3A1/change/" in text
    assert f"{LIST}own_3A1/history/" in text
    assert "/memory/1/" not in text
    assert "text of own" in console.get(f"{LIST}own_3A1/change/").content.decode()
    sent = {"action": "delete_chosen", "_selected_action": ["own:1"]}
    assert "title own" in console.post(LIST, sent).content.decode()
    services.update(Scope.all_users("own"), 1, MemoryChanges(content="changed"))
    assert search.one(1, "helper")[1].content == "text of helper 花生"


def test_it_shows_a_memory_in_a_line(console, two_stores):
    text = page(console)
    assert "text of own 花生</span>" in text
    assert '<span class="type-tag" data-type="user">user</span>' in text
    assert '<span class="backend-tag" data-backend="sqlite">SQLite</span>' in text
    assert re.search(r'<time datetime="[^"]+\+00:00" title="[^"]+ UTC">(now|\d+)', text)
    assert 'data-copy="own:1"' in text
    assert 'data-copy="text of own 花生"' in text
    assert "message=text+of+own" in text


def test_it_shows_text_as_text(console, agent):
    services.save(
        draft("<script>alert(1)</script> \u202e\x07 " + "x" * 9000, name="<b>name</b>", description="<i>d</i>")
    )
    for address in ("", "?q=script", "?q=<b>", "?q=d</i>"):
        text = page(console, address)
        assert "<script>alert(1)" not in text
        assert "<b>name" not in text
        assert "<i>d" not in text


def test_it_names_types_in_the_readers_language(console, agent):
    MemoryType.objects.filter(key="project").update(name="Projects of ours")
    services.save(draft("1"))
    services.save(draft("2", type="project"))
    assert '"user">user</span>' in page(console)
    chinese = page(console, **{"accept-language": "zh-hans"})
    assert f'"user">{BUILTIN_TYPES[0].name}</span>' in chinese
    assert '"project">Projects of ours</span>' in chinese


def test_it_colours_types_as_operators_chose(console, agent):
    MemoryType.objects.create(key='q"} body{', name="x", color="#abc")
    MemoryType.objects.create(key="bad", name="x", color="red;} body{")
    link = re.search(r'href="([^"]*types\.css\?v=\w+)"', page(console))
    response = console.get(link[1])
    text = response.content.decode()
    assert response.headers["Content-Type"].startswith("text/css")
    assert '.type-tag[data-type="user"] { --tag-color: #2563eb; }' in text
    assert r'[data-type="q\22 \7d \20 body\7b "] { --tag-color: #abc; }' in text
    assert "bad" not in text
    again = console.get(link[1], headers={"if-none-match": response.headers["ETag"]})
    assert (again.status_code, "immutable" in response.headers["Cache-Control"]) == (304, True)


def test_it_shows_memories_only_to_whom_it_may(client, django_user_model, two_stores):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    assert client.get(LIST).status_code == 403


# search


def test_it_searches_substrings_and_marks_them(console, two_stores):
    text = page(console, "?q=OWN 花")
    assert shown(console, "?q=OWN 花") == ["title own"]
    assert "title <mark>own</mark>" in text
    assert "text of <mark>own</mark> <mark>花</mark>生" in text
    assert shown(console, '?q=" OR *') == []


def test_it_shows_where_the_text_matches(console, agent):
    services.save(draft("much before it. " * 50 + "The heron. " + "much after it. " * 50))
    assert "…it. The <mark>heron</mark>" in page(console, "?q=heron")


def test_it_says_how_it_matched(console, file_agent):
    services.save(draft("heron 猫"))
    assert "SQLite: by the trigram index" in page(console, "?q=heron")
    text = page(console, "?q=heron 猫 <b")
    assert "SQLite: by reading every row for “猫”, “&lt;b”, which no index can find" in text
    assert "trigram" not in page(console, "?q=猫")


# filters


@pytest.mark.parametrize(
    ("address", "titles"),
    [
        ("?agentName=own", ["own"]),
        ("?agentName=ghost", []),
        ("?type=project", ["shared"]),
        ("?userId=ann", ["own", "helper"]),
        ("?userId=an", []),
        ("?shared=1", ["shared"]),
        ("?backend=sqlite", ["shared", "own", "helper"]),
        ("?backend=mysql", []),
        ("?updated=today", ["shared", "own"]),
        ("?updated=..2026-01-31", ["helper"]),
        ("?created=2026-01-01", ["helper"]),
        ("?created=today&userId=ann&type=user", ["own"]),
    ],
)
def test_it_filters(console, file_agent, address, titles):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    services.save(draft("1", name="helper", created_at=BEGINNING))
    services.save(draft("2", Scope("own", "ann"), name="own"))
    services.save(draft("3", Scope("helper", ""), name="shared", type="project"))
    assert shown(console, address) == titles


def test_it_has_a_chip_for_each_filter_that_removes_it(console, two_stores):
    services.save(draft("other", Scope("own", "bob"), type="project"))
    MemoryType.objects.filter(key="user").update(name="Likes <of> users")
    words = {
        "Agent: own": "type=user&userId=ann&updated=today&created=7d&q=text",
        "Type: Likes <of> users": "agentName=own&userId=ann&updated=today&created=7d&q=text",
        "User: ann": "agentName=own&type=user&updated=today&created=7d&q=text",
        "Updated: Today": "agentName=own&type=user&userId=ann&created=7d&q=text",
        "Created: Last 7 days": "agentName=own&type=user&userId=ann&updated=today&q=text",
        "Search: text": "agentName=own&type=user&userId=ann&updated=today&created=7d",
    }
    found = chips(page(console, "?agentName=own&type=user&userId=ann&updated=today&created=7d&q=text&p=1&o=2"))
    assert list(found) == [*words, "Clear all"]
    for label, rest in words.items():
        assert parse_qs(urlsplit(found[label]).query) == parse_qs(f"{rest}&o=2")
    assert found["Clear all"] == "?o=2"


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("?shared=1", "User: shared"),
        ("?shared=0", "User: not shared"),
        ("?backend=sqlite", "Store: SQLite"),
        ("?updated=2026-01-02", "Updated: 2026-01-02"),
        ("?updated=2026-01-02..2026-01-02", "Updated: 2026-01-02"),
        ("?created=2026-01-02..", "Created: from 2026-01-02"),
        ("?created=..2026-01-02", "Created: to 2026-01-02"),
        ("?created=2026-01-02..2026-01-03", "Created: 2026-01-02 to 2026-01-03"),
    ],
)
def test_it_says_a_filter_in_words(console, agent, address, word):
    assert list(chips(page(console, address))) == [word, "Clear all"]


@pytest.mark.parametrize(
    ("sent", "canonical"),
    [
        ("?updated_from=2026-01-01&updated_to=2026-01-31&type=user", "?updated=2026-01-01..2026-01-31&type=user"),
        ("?updated_from=2026-01-01&updated_to=2026-01-01", "?updated=2026-01-01"),
        ("?updated_from=&updated_to=2026-01-31&updated=7d", "?updated=..2026-01-31"),
        ("?created_from=&created_to=", "?"),
        ("?userId=&agentName=helper&q=+", "?agentName=helper"),
    ],
)
def test_it_ends_in_the_shortest_address(console, agent, sent, canonical):
    location = urlsplit(console.get(LIST + sent).headers["Location"])
    assert parse_qs(location.query) == parse_qs(canonical[1:])
    assert location.path == LIST


@pytest.mark.parametrize(
    ("address", "warning"),
    [
        ("?updated=yesterday", "The filter “updated” was left out. Write today, 7d, 30d"),
        ("?updated_from=2026-02-01&updated_to=2026-01-01", "The range ends before it begins"),
        ("?backend=oracle", "The filter “backend” was left out. Give mysql or sqlite."),
        ("?shared=perhaps", "Give true or false."),
        ("?metadata__x=1", "The list has no filter “metadata__x”; it was left out."),
        ("?<b>=1", "The list has no filter “&lt;b&gt;”"),
        ("?e=1&all=&_facets=True&_to_field=id&o=9.x&p=x", "2 memories"),
        ("?p=-3", "2 memories"),
    ],
)
def test_it_leaves_out_what_is_wrong_with_an_address(console, two_stores, address, warning):
    response = console.get(LIST + address, follow=True)
    text = response.content.decode()
    assert warning in text
    assert count(text) == "2 memories · 1–2"
    assert not response.redirect_chain or "e=1" not in response.redirect_chain[-1][0]


# the panel


def card(text: str, name: str) -> str:
    """The card of an agent without a label."""
    return text.partition(f"<bdi>{name}</bdi></span>\n")[2].partition("</li>")[0]


def test_it_has_a_card_for_each_agent(console, two_stores):
    create_agent("idle", memory={"backend": "sqlite"})
    services.save(draft("shared", Scope("own", ""), type="project"))
    text = page(console)
    assert '<span class="number">2</span>' in card(text, "own")
    assert "user 1</span>" in card(text, "own")
    assert "project 1</span>" in card(text, "own")
    assert '<span class="number">0</span>' in card(text, "idle")
    assert 'href="?agentName=own"' in text
    chosen = page(console, "?agentName=own&type=user")
    assert '<a href="?type=user" aria-current="true"' in chosen
    assert 'href="?agentName=idle&amp;type=user"' in chosen


def test_it_folds_the_cards_of_many_agents(console, agent):
    for number in range(9):
        create_agent(f"z{number}")
    text = page(console)
    assert "<details><summary>2 more…</summary>" in text
    assert "<details open><summary>2 more…</summary>" in page(console, "?agentName=z8")


def choices(text: str) -> dict[str, str]:
    """Each value of the panel's lists and its number, "" for none."""
    part = text.partition('id="changelist-filter"')[2]
    found = re.findall(r"<li[^>]*><a[^>]*>(?:<span[^>]*>)?([^<]+)</span>(?: <span class=\"number\">(\d+))?", part)
    return dict(found)


def test_it_counts_types_and_stores_where_that_is_exact(console, two_stores):
    services.save(draft("p", Scope("own", "bob"), type="project"))
    everything = choices(page(console))
    assert (everything["user"], everything["project"], everything["feedback"], everything["SQLite"]) == (
        "2",
        "1",
        "0",
        "3",
    )
    own = choices(page(console, "?agentName=own&type=project"))
    assert (own["user"], own["project"], own["SQLite"]) == ("1", "1", "1")
    narrowed = choices(page(console, "?userId=ann"))
    assert (narrowed["user"], narrowed["SQLite"]) == ("", "")


def test_it_counts_anew_after_a_post_through_the_console(console, two_stores):
    page(console)
    services.save(draft("unseen", Scope("own", "bob")))
    assert '<span class="number">1</span>' in card(page(console), "own")
    console.post(LIST, {"action": "export_json", "_selected_action": ["own:1"]})
    assert '<span class="number">2</span>' in card(page(console), "own")


def test_it_keeps_the_rest_of_the_address_in_its_forms(console, agent):
    services.save(draft("x"))
    text = page(console, "?type=user&userId=ann&q=x")
    narrow = text.partition('<form class="narrow" method="get">')[2].partition("</form>")[0]
    assert '<input type="hidden" name="type" value="user">' in narrow
    assert '<input type="hidden" name="q" value="x">' in narrow
    assert 'name="userId" value="ann"' in narrow
    assert 'type="hidden" name="userId"' not in narrow


# when there is nothing


def test_it_teaches_the_first_memory(console, agent):
    text = page(console, "?agentName=helper")
    assert "This agent has no memories yet" in text
    assert f"{LIST}add/?agentName=helper" in text
    assert "http://testserver/admin/netaclaw/memory/add" in text
    assert "&quot;agentName&quot;: &quot;helper&quot;" in text


def test_it_says_that_there_is_no_agent(console):
    assert "There is no agent yet" in page(console)


def test_it_offers_to_take_a_filter_off(console, two_stores):
    services.save(draft("text", Scope("own", "bob"), type="project"))
    text = page(console, "?type=project&userId=ann")
    found = re.findall(r'<li><a href="([^"]*)">(Without [^<]*)</a>: ([^<]*)</li>', text)
    assert found == [
        ("?userId=ann", "Without “type: project”", "2 memories"),
        ("?type=project", "Without “user: ann”", "1 memory"),
    ]
    for address, _words, number in found:
        assert count(page(console, address)).startswith(number)


def test_it_reads_nothing_beyond_page_200(console, two_stores, monkeypatch):
    page(console)
    monkeypatch.setattr(SqliteProvider, "reading", None)
    text = page(console, "?p=201")
    assert "Narrow the list" in text
    assert count(text) == "Not counted."


# when a store fails


def test_it_names_a_store_that_cannot_be_read(console, damaged):
    text = page(console)
    assert shown(console) == ["title helper"]
    assert "memory/own.db can't be read" in text
    assert count(text) == "at least 1 memory · 1–1"
    assert "—</span>" in card(text, "own")
    assert "unavailable" in card(text, "own")
    assert '<span class="number">0</span>' not in text
    assert "data-all=" not in text


def test_it_forgets_numbers_of_a_store_that_fails_since(console, two_stores, data_dir):
    assert '<span class="number">1</span>' in card(page(console), "own")
    POOL.close_all()
    (data_dir / "memory" / "own.db").write_bytes(b"damaged " * 999)
    assert "—</span>" in card(page(console), "own")


def test_it_answers_503_when_no_store_can_be_read(console, damaged):
    response = console.get(f"{LIST}?agentName=own&p=2")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "10")
    text = response.content.decode()
    assert "memory/own.db: unavailable" in text
    assert f'href="{LIST}?agentName=own&amp;p=2"' in text


def test_it_lives_with_a_store_that_fails_between_two_reads(console, two_stores, monkeypatch):
    entries = SqliteProvider.entries

    def failing(self, ids):
        if self.label == "memory/own.db":
            raise StoreUnavailable("gone")
        return entries(self, ids)

    monkeypatch.setattr(SqliteProvider, "entries", failing)
    assert shown(console) == ["title helper"]
    assert count(page(console)) == "at least 1 memory · 1–1"


@pytest.fixture
def locked(two_stores, data_dir, monkeypatch) -> Iterator[Path]:
    """own.db is held by another program, and lists have little patience."""
    monkeypatch.setattr(answering, "ANSWER_SECONDS", 0.05)
    path = data_dir / "memory" / "own.db"
    POOL.close_all()
    other = sqlite3.connect(path)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    other.execute("UPDATE memory SET description = 'held'")
    yield path
    other.close()


def test_it_does_not_wait_for_a_locked_store(console, locked, monkeypatch):
    assert shown(console) == ["title helper"]
    asked = []
    monkeypatch.setattr(SqliteProvider, "reading", lambda self, seconds=None: asked.append(self.label))
    search.forget_stats()
    assert console.get(f"{LIST}?agentName=own").status_code == 503
    assert asked == []


def test_it_asks_a_locked_store_again_after_a_while(console, locked, monkeypatch):
    page(console)
    monkeypatch.setattr(answering, "SILENT_SECONDS", 0)
    answering._silent_until.clear()
    page(console)
    assert all(until <= answering.time.monotonic() for until in answering._silent_until.values())


# what it costs


def test_it_reads_a_store_in_four_queries(console, two_stores):
    page(console)
    with CaptureQueriesContext(connection) as main:
        page(console)
    own = [query for query in main if "FROM `netaclaw_memory`" in query["sql"]]
    assert len(own) <= 4
    assert len(main) <= 8


def test_it_reads_statistics_at_most_every_half_minute(two_stores, monkeypatch):
    rows, taken_at = search.cached_stats()
    monkeypatch.setattr(search, "stats", None)
    assert search.cached_stats() == (rows, taken_at)
    cache.clear()
    with pytest.raises(TypeError):
        search.cached_stats()
    assert timezone.now() >= taken_at


def test_it_counts_without_reading_rows(agent, monkeypatch):
    services.save(draft("x"))
    assert default_backend() in ("sqlite", "mysql")
    found = search.count(PageQuery(agent_names=("helper",)))
    assert (found.total, found.unavailable) == (1, ())
