import json
import sqlite3
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as installed
from django.core.management import call_command
from django.core.management.base import CommandError

from memory_app import search, services
from memory_app.contracts import PageQuery, Scope
from memory_app.importing import read_lines
from memory_app.models import MemoryType
from memory_app.providers.pool import POOL
from tests.conftest import draft

pytestmark = pytest.mark.django_db
SERVERS = [name for name in ("mysql", "mariadb") if name in installed.DATABASES]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def run_json(*arguments: str):
    return json.loads(run(*arguments, "--json"))


def test_it_remembers_and_recalls(agent):
    assert "Saved as memory " in run("remember", "-a", "helper", "-u", "ann", "用户对花生过敏 [bold]")
    assert "Already there: memory " in run("remember", "-a", "helper", "-u", "ann", "用户对花生过敏 [bold]")
    assert "花生" in run("recall", "-a", "helper", "-u", "ann", "我对什么过敏？")
    assert "[bold]" in run("recall", "-a", "helper", "-u", "ann", "过敏")
    assert "Nothing found" in run("recall", "-a", "helper", "-u", "bob", "过敏")


def test_it_prints_json_for_programs(agent):
    saved = run_json("remember", "-a", "helper", "-u", "ann", "likes 🍣", "-t", "project", "-n", "Sushi")
    assert (saved["outcome"], saved["memory"]["name"]) == ("created", "Sushi")
    (hit,) = run_json("recall", "-a", "helper", "-u", "ann", "🍣?")
    assert (hit["id"], hit["matched"], hit["agentName"]) == (saved["memory"]["id"], ["🍣"], "helper")
    found = run_json("prefetch", "-a", "helper", "-u", "ann", "🍣?")
    assert found["block"].startswith("<memory-context>")
    assert found["failure"] == ""


def test_it_prefetches_the_block(agent):
    run("remember", "-a", "helper", "--shared", "office wifi code is 4711")
    assert "4711" in run("prefetch", "-a", "helper", "-u", "ann", "what is the wifi code?")
    assert "Nothing to inject" in run("prefetch", "-a", "helper", "-u", "ann", "zebra")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("remember", "-a", "ghost", "-u", "u", "x"), "no agent"),
        (("remember", "-a", "helper", "-u", "u", "  "), "must not be empty"),
        (("remember", "-a", "helper", "-u", "u", "x", "-t", "nope"), "no memory type"),
        (("remember", "-a", "helper", "x"), "required"),
        (("recall", "-a", "ghost", "-u", "u", "x"), "no agent"),
        (("remember", "-a", "helper", "-u", "", "x"), "--shared"),
        (("import_memories", "missing.jsonl", "-a", "helper"), "can't be read"),
        (("create_agent", "helper"), "already exists"),
        (("create_agent", " x"), "spaces"),
        (("create_agent", "y", "--sqlite-path", "../y.db"), "relative to the data directory"),
    ],
)
def test_it_ends_with_a_sentence_on_bad_input(agent, arguments, message):
    with pytest.raises(CommandError, match=message):
        run(*arguments)


def write(path: Path, *lines: object) -> str:
    text = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return str(path)


def test_it_imports_json_lines_and_can_be_run_again(agent, tmp_path):
    file = write(
        tmp_path / "a.jsonl",
        {"user": "ann", "content": "likes tea", "created_at": "1:56 pm on 8 May, 2023", "memory_id": "m1"},
        "",
        {
            "userId": "bob",
            "content": "喜欢茶",
            "name": "茶",
            "type": "project",
            "createdAt": "2023-05-08T01:02:03+08:00",
        },
        {"content": "for all", "metadata": {"k": 1}},
    )
    assert "3 created, 0 already there, 0 refused" in run("import_memories", file, "-a", "helper")
    assert "0 created, 3 already there, 0 refused" in run("import_memories", file, "-a", "helper")
    memory = search.recall(Scope("helper", "ann"), "what on May 8th?")[0].memory
    assert memory.metadata == {"memory_id": "m1"}
    assert memory.created_at.isoformat() == "2023-05-08T13:56:00+00:00"
    assert search.recall(Scope("helper", "bob"), "茶")[0].memory.created_at.isoformat() == "2023-05-07T17:02:03+00:00"
    assert search.recall(Scope("helper", "zoe"), "for all")[0].memory.metadata == {"k": 1}


def test_it_saves_the_good_lines_and_names_the_bad_ones(agent, tmp_path):
    bad = ["{", "[1]", '"x"', {"name": "no content"}, {"content": 5}, {"content": "x", "type": "nope"}]
    bad += [{"content": "x", "created_at": "soon"}, {"content": "x", "metadata": [1]}, {"content": "x", "user": 5}]
    file = write(tmp_path / "b.jsonl", *bad, {"content": "good"})
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="9 lines were refused"):
        call_command("import_memories", file, "-a", "helper", stdout=out, stderr=err)
    assert "1 created, 0 already there, 9 refused" in out.getvalue()
    assert [line.split(":")[0] for line in err.getvalue().splitlines()] == [f"Line {n}" for n in range(1, 10)]
    assert search.page(PageQuery()).total == 1


def test_it_names_lines_that_are_no_text_and_saves_the_others(agent, tmp_path):
    good = json.dumps({"user": "ann", "content": "good"}).encode()
    (tmp_path / "c.jsonl").write_bytes(b"\xff\xfe\x00\n" + good + b'\n{"content": "\xff"}\n')
    with pytest.raises(CommandError, match="2 lines were refused"):
        run("import_memories", str(tmp_path / "c.jsonl"), "-a", "helper")
    assert search.page(PageQuery()).total == 1


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+08:00", "9999-12-31T23:59:59.999999", "10:00 +99:99", "1e9999"])
def test_it_refuses_times_beyond_the_calendar(agent, tmp_path, time):
    file = write(tmp_path / "d.jsonl", {"content": "bad", "createdAt": time}, {"content": "good"})
    with pytest.raises(CommandError, match="1 lines were refused"):
        run("import_memories", file, "-a", "helper")
    assert search.page(PageQuery()).total == 1


def test_it_names_lines_that_break_their_types_schema(agent, tmp_path):
    MemoryType.objects.create(key="skill", name="s", metadata_schema={"type": "object", "required": ["level"]})
    file = write(tmp_path / "e.jsonl", {"content": "bad", "type": "skill"}, {"content": "good"})
    with pytest.raises(CommandError, match="1 lines were refused"):
        run("import_memories", file, "-a", "helper")
    assert search.page(PageQuery()).total == 1


def test_it_seeds_types_idempotently(db):
    MemoryType.objects.filter(key="user").delete()
    assert "1 memory type added" in run("seed_memory_types")
    assert "0 memory types added" in run("seed_memory_types")


@pytest.mark.django_db(databases=["default", *SERVERS])
def test_it_prepares_an_installation_once(db, django_user_model, settings, tmp_path):
    settings.STATIC_ROOT = tmp_path / "static"
    first = run("prepare", "--demo", "yes")
    assert "Sign in as admin with password" in first
    assert 'Agent "demo" remembers' in first
    password = first.split("password ")[1].split()[0]
    assert django_user_model.objects.get(username="admin").check_password(password)
    assert run("prepare", "--demo", "yes") == ""
    assert "are gone" in run("demo", "--remove")


def test_it_asks_for_the_types_once_however_many_lines(agent, django_assert_num_queries):
    lines = [json.dumps({"content": f"text {number}"}) for number in range(50)]
    with django_assert_num_queries(1):
        assert all(line.draft for line in read_lines(lines, "helper", None, "user"))


@pytest.mark.django_db(databases=["default", *SERVERS])
def test_it_upgrades_files_before_it_serves(file_agent, data_dir):
    services.save(draft("one"))
    POOL.close_all()
    with sqlite3.connect(data_dir / "memory" / "memory.db") as file:
        file.execute("DROP INDEX idx_created")
    run("prepare", "--demo", "no")
    with sqlite3.connect(data_dir / "memory" / "memory.db") as file:
        assert file.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'idx_created'").fetchone() == (1,)


@pytest.mark.django_db(databases=["default", *SERVERS])
def test_it_serves_although_a_file_is_damaged(file_agent, data_dir):
    (data_dir / "memory").mkdir()
    (data_dir / "memory" / "memory.db").write_bytes(b"damaged " * 999)
    problems = StringIO()
    call_command("prepare", "--demo", "no", stdout=StringIO(), stderr=problems)
    assert "memory/memory.db" in problems.getvalue()
