"""Moving an agent between stores, on whatever the main database is; killed at any point, it goes on."""

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from agents_app.services import create_agent
from memory_app import moving, registry, search, services
from memory_app.contracts import MemoryChanges, MemoryDraft, PageQuery, Scope
from memory_app.exceptions import Refused, StoreMoved, StoreUnavailable
from memory_app.paths import Place
from memory_app.providers import transfer
from tests.providers.contract import run_at_once

ROOT = Path(__file__).parents[1]
SERVERS = [name for name in ("mysql", "mariadb") if name in settings.DATABASES]
MAIN_IS_MYSQL = settings.DATABASES["default"]["ENGINE"].endswith("mysql")
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", *SERVERS])
OWN = Place("sqlite", "", "memory/own.db")
SHARED_FILE = Place("sqlite")
HOME = Place("mysql") if MAIN_IS_MYSQL else SHARED_FILE
ROWS = 1_300


@pytest.fixture
def clean_tables():
    if MAIN_IS_MYSQL:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM netaclaw_memory")


@pytest.fixture
def mover(clean_tables):
    """An agent with awkward memories: shared and not, ids with gaps, odd metadata, times to the microsecond."""
    create_agent("mover")
    create_agent("neighbour")
    start = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
    drafts = [
        MemoryDraft(
            "mover",
            ["ann", "bob", "", "Ännchen 🍣"][n % 4],
            "user",
            f"name {n}",
            f"text {n} 花生 🍺\r\n\t<b>",
            metadata={"z": 1, "a": {"deep": [n, 1.5, None, 2**70]}, "中": "🙂"} if n % 3 else {},
            created_at=start + timedelta(seconds=n * 1.5),
        )
        for n in range(ROWS)
    ]
    saved = services.save_many(drafts)
    services.delete(Scope.all_users("mover"), [saved[5].memory.id, saved[700].memory.id])
    services.save(MemoryDraft("neighbour", "ann", "user", "n", "stays here"))


def everything() -> list:
    """All that the agent's memories say, without their ids."""
    provider = registry.store_at(registry.config_for("mover").place)
    return [item._replace(id=0) for batch in transfer.read_all(provider, "mover") for item in batch]


def total() -> int:
    """How many memories all stores hold, whoever looks."""
    places = {HOME, OWN, SHARED_FILE}
    return sum(registry.store_at(place).count(PageQuery()) for place in places)


def test_it_moves_everything_there_and_back(mover):
    before = everything()
    there = moving.move("mover", OWN)
    assert (there.moved, there.ids_kept) == (ROWS - 2, True)
    assert everything() == before
    back = moving.move("mover", HOME)
    assert everything() == before
    assert back.ids_kept
    assert back.digest == there.digest
    assert total() == ROWS - 1
    assert registry.config_for("mover").move is None


def test_it_finds_moved_memories(mover):
    moving.move("mover", OWN)
    assert search.recall(Scope("mover", "bob"), "text 501")[0].memory.name == "name 501"
    assert search.page(PageQuery(agent_names=("mover",), keyword="text 501")).total == 1
    assert [row.count for row in search.stats()] == [ROWS - 2, 1]


def test_it_gives_new_ids_where_the_old_ones_are_taken(mover):
    create_agent("occupant", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    first = next(transfer.read_all(registry.store_at(HOME), "mover"))[3].id
    services.save_many([MemoryDraft("occupant", "u", "user", "n", f"t{n}") for n in range(20)])
    occupied = registry.store_at(OWN)
    with occupied.writing() as rows:
        if not rows.filter(pk=first).exists():
            rows.filter(agent_name="occupant", content="t0").update(id=first)
    before = everything()
    assert not moving.move("mover", OWN).ids_kept
    assert everything() == before
    assert occupied.count(PageQuery(agent_names=("occupant",))) == 20


def test_it_refuses_a_store_that_holds_memories_of_the_agent(mover):
    target = registry.store_at(OWN)
    target.save(MemoryDraft("mover", "ann", "user", "n", "left over"))
    with pytest.raises(Refused, match="already holds 1"):
        moving.move("mover", OWN)
    assert registry.config_for("mover").move is None


def test_it_does_nothing_for_the_same_store(mover):
    assert moving.move("mover", HOME).moved == 0
    assert total() == ROWS - 1


def test_it_moves_an_agent_without_memories(clean_tables):
    create_agent("empty")
    assert moving.move("empty", OWN).moved == 0
    assert registry.config_for("empty").place == OWN.normal()


def test_it_throws_away_a_copy_that_differs(mover, monkeypatch):
    real = transfer.insert

    def careless(provider, agent_name, batch, *, keep_ids):
        return real(
            provider, agent_name, [item._replace(content=item.content.strip()) for item in batch], keep_ids=keep_ids
        )

    monkeypatch.setattr(transfer, "insert", careless)
    monkeypatch.setattr(transfer, "digest", lambda provider, *args, **kwargs: provider.label)
    with pytest.raises(StoreUnavailable, match="thrown away"):
        moving.move("mover", OWN)
    assert registry.config_for("mover").place.normal() == HOME.normal()
    assert total() == ROWS - 1


# while it moves


@pytest.fixture
def half_way(mover, monkeypatch):
    """A move that stops after the first batch, as if it had been killed."""
    real = transfer.insert

    def once(*args, **kwargs):
        monkeypatch.setattr(transfer, "insert", stop)
        return real(*args, **kwargs)

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(transfer, "insert", once)
    with pytest.raises(KeyboardInterrupt):
        moving.move("mover", OWN)
    monkeypatch.setattr(transfer, "insert", real)


def test_it_shows_nothing_twice_half_way(half_way):
    assert search.page(PageQuery()).total == ROWS - 1
    assert sum(row.count for row in search.stats()) == ROWS - 1
    assert len(search.recall(Scope("mover", "ann"), "text 4 花生")) == 5


def test_it_refuses_writes_half_way_and_takes_them_again_afterwards(half_way):
    ann = Scope("mover", "ann")
    memory = search.recall(ann, "text 4")[0].memory
    for write in (
        lambda: services.save(MemoryDraft("mover", "ann", "user", "n", "new")),
        lambda: services.update(ann, memory.id, MemoryChanges(content="changed")),
        lambda: services.delete(ann, [memory.id]),
    ):
        with pytest.raises(StoreUnavailable, match="being moved"):
            write()
    moving.move("mover", OWN)
    assert services.save(MemoryDraft("mover", "ann", "user", "n", "new")).memory.id


def test_it_goes_on_to_the_same_store_only(half_way):
    with pytest.raises(Refused, match="interrupted"):
        moving.move("mover", Place("sqlite", "", "memory/other.db"))
    assert moving.move("mover", OWN).moved == ROWS - 2


def test_it_fences_off_a_write_to_the_old_store(mover):
    old = registry.provider_for("mover")
    moving.move("mover", OWN)
    with pytest.raises(StoreMoved):
        old.save(MemoryDraft("mover", "ann", "user", "n", "too late"))
    assert total() == ROWS - 1


def test_it_loses_no_write_of_agents_that_go_on_writing(mover):
    saved: list[str] = []

    def write() -> None:
        for number in range(60):
            content = f"during {number} {len(saved)} {os.urandom(4).hex()}"
            try:
                services.save(MemoryDraft("mover", "ann", "user", "n", content))
                saved.append(content)
            except StoreUnavailable:
                continue

    jobs = iter([write, write, lambda: moving.move("mover", OWN)])
    run_at_once(3, lambda: next(jobs)())
    contents = {item.content for item in everything()}
    assert [content for content in saved if content not in contents] == []
    assert total() == ROWS - 1 + len(saved)


def test_it_lets_one_mover_work_at_a_time(mover):
    outcomes: list[object] = []

    def work() -> None:
        try:
            outcomes.append(moving.move("mover", OWN).moved)
        except Refused as error:
            outcomes.append(error.code)

    run_at_once(3, work)
    assert ROWS - 2 in outcomes
    assert set(outcomes) <= {ROWS - 2, 0, "refused"}
    assert total() == ROWS - 1


# killed

SETUP = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from agents_app.services import create_agent
from memory_app import services
from memory_app.contracts import MemoryDraft
create_agent("mover")
services.save_many([
    MemoryDraft("mover", "u", "user", f"n{n}", f"text {n} 花生", metadata={"b": n, "a": 2**70}) for n in range(1_300)
])
"""
MOVE = """
import os
from memory_app import moving
from memory_app.paths import Place
from memory_app.providers import transfer
seen = 0
def counting(function):
    def run(*args, **kwargs):
        global seen
        seen += 1
        if seen == STEP:
            os.kill(os.getpid(), 9)
        return function(*args, **kwargs)
    return run
for name in ("insert", "remove", "digest"):
    setattr(transfer, name, counting(getattr(transfer, name)))
moving._save = counting(moving._save)
print(moving.move("mover", Place("sqlite", "", "memory/own.db")).moved)
"""
LOOK = """
from memory_app import registry, search
from memory_app.contracts import PageQuery
from memory_app.providers import transfer
config = registry.config_for("mover")
store = registry.store_at(config.place)
print(search.page(PageQuery()).total, transfer.digest(store, "mover", with_ids=True), config.place.sqlite_path)
"""


def test_it_goes_on_wherever_it_was_killed(clean_tables, run_in_process):
    """Each run dies one step later than the one before, and begins where that one died."""
    assert run_in_process(SETUP).returncode == 0
    before = run_in_process(LOOK).stdout.split()
    for step in range(1, 40):
        result = run_in_process(MOVE.replace("STEP", str(step)))
        now = run_in_process(LOOK).stdout.split()
        assert now[:2] == before[:2] == ["1300", now[1]]
        if result.returncode == 0:
            break
        assert result.returncode == -signal.SIGKILL, result.stderr
    assert now[2:] == ["memory/own.db"]
    assert step >= 6
