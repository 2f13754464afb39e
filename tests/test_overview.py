import json
import re
import shlex
import threading
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from agents_app.services import create_agent
from memory_app import figures, services
from memory_app.acting import Door, acting_as
from memory_app.contracts import MemoryChanges, Scope
from memory_app.providers.pool import POOL
from memory_app.stretches import last_days, start_of
from tests.conftest import draft

pytestmark = pytest.mark.django_db
INDEX = "/admin/"
LIST = "/admin/memory_app/memory/"


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def staff(client: Client, django_user_model):
    """Signs in an operator with these permissions."""

    def sign_in(*codenames: str) -> Client:
        user = django_user_model.objects.create_user("operator", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def two_stores(db) -> None:
    """Agent helper in the default store, agent own in a file of its own; four memories, one of them old."""
    create_agent("helper", label="Help desk")
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    old = timezone.now() - timedelta(days=20)
    services.save(draft("a", Scope("helper", "ann")))
    services.save(draft("b", Scope("helper", ""), type="project"))
    services.save(draft("c", Scope("own", "ann")))
    services.save(draft("d", Scope("own", "bob"), type="project", created_at=old))


def damage(data_dir: Path) -> None:
    POOL.close_all()
    for path in (data_dir / "memory").glob("own.db*"):
        path.unlink()
    (data_dir / "memory" / "own.db").write_bytes(b"garbage " * 2_000)


def text_of(client: Client, path: str = INDEX, **parameters) -> str:
    response = client.get(path, parameters)
    assert response.status_code == 200
    return response.content.decode()


def tiles(text: str) -> dict[str, str]:
    found = re.findall(r'<li><a href="[^"]*"><span>(.*?)</span> <strong>(.*?)</strong>', text)
    return {name: re.sub("<.*?>", "", number) for name, number in found}


def chart(response, key: str):
    return next(chart for chart in response.context["charts"] if chart.key == key)


def test_it_counts_over_all_stores(console, two_stores):
    assert tiles(text_of(console)) == {
        "Memories": "4", "Added today": "3", "Updated today": "3", "Users": "2", "Stores unavailable": "0",
    }  # fmt: skip


def test_it_shows_a_card_for_each_agent_also_without_memories(console, two_stores):
    create_agent("idle")
    cards = console.get(INDEX).context["cards"]
    shown = [(card.label, card.figures.count, card.figures.added) for card in cards]
    assert shown == [("Help desk", 2, 2), ("own", 2, 1), ("idle", 0, 0)]


def test_it_folds_away_all_but_the_twelve_largest_agents(console, two_stores):
    for number in range(13):
        create_agent(f"more-{number:02}")
    context = console.get(INDEX).context
    assert [len(context["cards"]), len(context["more_cards"])] == [12, 3]
    assert context["cards"][0].figures.agent_name == "helper"


def test_it_draws_what_the_tables_say(console, two_stores):
    response = console.get(INDEX, {"days": "30"})
    for drawn in response.context["charts"]:
        data = drawn.data
        table = [[bar.number for bar in bars] for _head, bars in drawn.rows]
        assert [list(row) for row in zip(*(s["data"] for s in data["series"]), strict=True)] == [
            row[: len(data["series"])] for row in table
        ]


@pytest.mark.parametrize(("days", "shown", "added"), [("7", 7, 3), ("30", 30, 4), ("90", 90, 4), ("x", 30, 4)])
def test_it_shows_the_days_of_the_range(console, two_stores, days, shown, added):
    found = chart(console.get(INDEX, {"days": days}), "days")
    assert len(found.labels) == shown
    assert sum(bar.number for bar in found.total.bars) == added


def test_it_puts_all_but_eight_agents_together(console):
    for number in range(10):
        create_agent(f"agent-{number}")
        for text in "abcdefghijk"[: 11 - number]:
            services.save(draft(text, Scope(f"agent-{number}", "")))
    found = chart(console.get(INDEX), "days")
    assert [column.label for column in found.columns] == [*(f"agent-{n}" for n in range(8)), "others"]
    assert [column.bars[-1].number for column in found.columns][-2:] == [4, 5]


def test_it_names_the_busiest_users_without_the_shared_ones(console, two_stores):
    services.save(draft("e", Scope("own", "bob")))
    busiest = console.get(INDEX).context["busiest"]
    assert [(owner.agent_name, owner.user_id, owner.number) for owner, _label, _url in busiest] == [
        ("own", "bob", 2), ("helper", "ann", 1), ("own", "ann", 1),
    ]  # fmt: skip


def test_it_says_that_a_store_is_unavailable_and_never_zero(console, two_stores, data_dir):
    damage(data_dir)
    response = console.get(INDEX)
    text = response.content.decode()
    assert tiles(text)["Memories"] == "at least 2"
    assert tiles(text)["Stores unavailable"] == "1"
    assert "The memory store memory/own.db can't be read" in text
    lost = next(card for card in response.context["cards"] if card.figures.agent_name == "own")
    assert (lost.figures.store.state, lost.figures.count, lost.figures.added) == ("unavailable", None, None)
    assert str(data_dir) not in text


def test_it_shows_dashes_when_no_store_can_be_read(console, data_dir):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    services.save(draft("c", Scope("own", "ann")))
    damage(data_dir)
    text = text_of(console)
    assert tiles(text) == {
        "Memories": "—", "Added today": "—", "Updated today": "—", "Users": "—", "Stores unavailable": "1",
    }  # fmt: skip
    assert "No memories yet" not in text


def test_it_leaves_out_memories_of_agents_that_are_gone(console, two_stores):
    services.save(draft("left", Scope("helper", "cleo")))
    from agents_app.models import Agent

    Agent.objects.filter(name="helper").delete()  # not by the service, which takes the memories along
    assert tiles(text_of(console))["Memories"] == "2"


def test_it_teaches_the_first_steps_to_an_empty_installation(console):
    text = text_of(console)
    assert "No memories yet" in text
    assert "/admin/netaclaw/memory/add" in text
    assert "/admin/agents_app/agent/add/" in text
    assert "<canvas" not in text


def test_it_gives_a_sample_for_an_agent_that_is_there(console):
    create_agent("it's")
    sample = console.get(INDEX).context["sample"]
    assert sample.startswith("curl http://testserver/admin/netaclaw/memory/add")
    assert json.loads(shlex.split(sample.replace("\\\n", ""))[-1])["agentName"] == "it's"


def test_it_keeps_heavy_figures_for_a_while(console, two_stores, monkeypatch):
    monkeypatch.setattr(figures, "QUICK", 0)
    text_of(console)
    services.save(draft("later", Scope("helper", "ann")))
    assert tiles(text_of(console))["Memories"] == "4"
    create_agent("newcomer")  # other agents are other figures
    assert tiles(text_of(console))["Memories"] == "5"


def test_it_counts_anew_behind_an_answer_that_is_old(console, two_stores, monkeypatch):
    monkeypatch.setattr(figures, "QUICK", 0)
    monkeypatch.setattr(figures, "FRESH", timedelta(0))
    counted = []
    monkeypatch.setattr(figures, "_count_behind", lambda *asked: counted.append(asked))
    text_of(console)
    assert counted == []
    text_of(console)
    assert len(counted) == 1


@pytest.mark.django_db(transaction=True)
def test_it_shows_what_was_counted_behind_an_answer(console, two_stores, monkeypatch):
    monkeypatch.setattr(figures, "QUICK", 0)
    monkeypatch.setattr(figures, "FRESH", timedelta(0))
    text_of(console)
    services.save(draft("later", Scope("own", "ann")))
    numbers = []
    for _attempt in range(2):
        numbers.append(tiles(text_of(console))["Memories"])
        for thread in threading.enumerate():
            if thread.name == "overview":
                thread.join()
    assert numbers == ["4", "5"]


def test_it_escapes_what_agents_and_operators_wrote(console):
    create_agent("<b>'", label="</script><script>alert(1)</script>")
    services.save(draft("x", Scope("<b>'", "<img src=x>")))
    text = text_of(console)
    assert "<script>alert" not in text
    assert "<img src=x>" not in text
    assert "agentName=%3Cb%3E%27" in unescape(text)


def test_it_keeps_figures_from_those_who_may_not_see_memories(staff, two_stores):
    text = text_of(staff("view_agent"))
    assert tiles(text) == {}
    assert "/admin/agents_app/agent/" in text
    assert "Recall preview" not in text
    assert "System status" not in text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (INDEX, "Overview"),
        ("/admin/memory_app/memory/", "Memories"),
        ("/admin/memory_app/memory/preview/", "Recall preview"),
        ("/admin/memory_app/memory/status/", "System status"),
        ("/admin/agents_app/agent/add/", "Agents"),
        ("/admin/auth/user/", "Users"),
    ],
)
def test_it_marks_the_page_that_is_open_in_both_menus(console, two_stores, path, name):
    marked = re.findall(r'aria-current="page">([^<]*)<', text_of(console, path))
    assert set(marked) == {name}
    assert len(marked) == 2


def test_it_keeps_everything_registered_within_reach(console):
    text = text_of(console, "/admin/memory_app/memory/preview/")
    for path in ("auth/user", "auth/group", "memory_app/memorytype", "memory_app/apitoken", "agents_app/agent"):
        assert f'href="/admin/{path}/"' in text


def test_it_tells_the_last_changes_and_who_made_them(console, two_stores):
    memory = services.save(draft("f", Scope("own", "bob"), name="a title")).memory
    with acting_as(Door.CONSOLE, "operator"):
        services.update(Scope.all_users("own"), memory.id, MemoryChanges(content="other"))
    services.delete(Scope.all_users("own"), [memory.id])
    changes = console.get(INDEX).context["last_changes"]
    assert [(change.who, change.what, change.name) for change in changes][:3] == [
        ("system", "deleted", "a title"), ("operator (console)", "changed", "a title"), ("system", "added", "a title"),
    ]  # fmt: skip
    assert changes[1].url == f"/admin/memory_app/memory/own_3A{memory.id}/history/"


def test_it_speaks_of_its_charts_in_words(console, two_stores):
    text = text_of(console)
    canvases = re.findall(r"<canvas[^>]*>", text)
    assert len(canvases) == 3
    assert all('role="img"' in canvas and 'aria-label="Memories' in canvas for canvas in canvases)
    assert " style=" not in text
    assert not re.search(r"<script(?![^>]*\b(src=|type=\"application/json\"))", text)


def promises(context) -> list[tuple[str, int]]:
    """Every link of the page to a list, and the number it is shown with."""
    found = [(tile.url, tile.number) for tile in context["tiles"]]
    for card in [*context["cards"], *context["more_cards"]]:
        found += [(card.url, card.figures.count), (card.added_url, card.figures.added)]
    found += [(url, owner.number) for owner, _label, url in context["busiest"]]
    found += [(bar.url, bar.number) for chart in context["charts"] for _head, bars in chart.rows for bar in bars]
    return [(url, number) for url, number in found if url.partition("?")[0] == LIST]


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/New_York"])
def test_it_leads_from_every_number_to_a_list_of_as_many(console, two_stores, settings, zone):
    settings.TIME_ZONE = zone
    midnight = start_of(last_days(1)[0])
    for number, minutes in enumerate((-30, 30)):
        services.save(draft(f"{number}", Scope("own", "eve"), created_at=midnight + timedelta(minutes=minutes)))
    found = promises(console.get(INDEX).context)
    assert len(found) > 20
    counted = {url: console.get(url).context["cl"].result_count for url, _number in found}
    assert [(url, counted[url]) for url, _number in found] == found


def test_it_leads_to_as_many_while_a_store_is_down(console, two_stores, data_dir):
    damage(data_dir)
    found = [(url, number) for url, number in promises(console.get(INDEX).context) if number is not None]
    counted = {url: console.get(url).context["cl"].result_count for url, _number in found}
    assert [(url, counted[url]) for url, _number in found] == found
    assert found[0] == (LIST, 2)
