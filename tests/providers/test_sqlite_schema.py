import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from memory_app.contracts import MemoryChanges, PageQuery
from memory_app.exceptions import StoreRejected, StoreUnavailable
from memory_app.providers import pool, sqlite_schema
from memory_app.providers.sqlite import SqliteProvider
from tests.conftest import draft
from tests.providers.contract import ANN, find, run_at_once

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[2]
OLD_TABLE = """CREATE TABLE memory (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_name TEXT NOT NULL,
  user_id TEXT NOT NULL,
  type TEXT NOT NULL CHECK(type IN ('user', 'project', 'feedback', 'reference')),
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  metadata TEXT,
  created_at TEXT DEFAULT (datetime('now')),
  updated_at TEXT DEFAULT (datetime('now'))
);
CREATE INDEX idx_agent_user ON memory(agent_name, user_id);"""
OLD_FTS = """CREATE VIRTUAL TABLE memory_fts USING fts5(
  name, content, description, content='memory', content_rowid='id', tokenize='trigram');
CREATE TRIGGER memory_ai AFTER INSERT ON memory BEGIN
  INSERT INTO memory_fts(rowid, name, content, description) VALUES (new.id, new.name, new.content, new.description);
END;
CREATE TRIGGER memory_ad AFTER DELETE ON memory BEGIN
  INSERT INTO memory_fts(memory_fts, rowid, name, content, description)
  VALUES ('delete', old.id, old.name, old.content, old.description);
END;"""
TIMES = ("2026-04-12 08:00:00", "2026-04-13 09:00:00")
COLUMNS = "id, agent_name, user_id, type, name, content, metadata, created_at, updated_at"
ROW = f"INSERT INTO memory({COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)"


@pytest.fixture
def path(data_dir: Path) -> Path:
    return data_dir / "old.db"


@pytest.fixture
def provider(path: Path) -> SqliteProvider:
    return SqliteProvider(path, "old.db")


def execute(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def rows_of(path: Path) -> list[tuple]:
    connection = sqlite3.connect(path)
    rows = connection.execute(f"SELECT {', '.join(sqlite_schema.COLUMNS)} FROM memory").fetchall()
    connection.close()
    return rows


def old_file(path: Path, *, ddl: str = OLD_TABLE + OLD_FTS, rows: int = 50) -> None:
    """A file as the older system left it: ids with gaps, the last row deleted, times in whole seconds."""
    execute(path, ddl)
    connection = sqlite3.connect(path)
    values = [
        (n * 2, "helper", "ann", "user", f"名字 {n}", f"content {n} 花生过敏 word{n}", '{"k": [1, "中"]}', *TIMES)
        for n in range(1, rows + 1)
    ]
    connection.executemany(ROW, values)
    connection.execute("DELETE FROM memory WHERE id = ?", (rows * 2,))
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "ddl", [OLD_TABLE + OLD_FTS, OLD_TABLE, OLD_TABLE.replace("TEXT NOT NULL CHECK", "TEXT CHECK")]
)
def test_it_upgrades_an_older_file_with_every_row_id_and_time(provider, path, ddl):
    old_file(path, ddl=ddl)
    before = rows_of(path)
    assert find(provider, "word7") == ["content 7 花生过敏 word7"]
    assert rows_of(path) == before
    assert provider.get(ANN, 14).metadata == {"k": [1, "中"]}
    assert provider.page(PageQuery(keyword="生过敏 word9")).total == 1


def test_it_never_uses_the_id_of_a_deleted_memory_again(provider, path):
    old_file(path)
    assert provider.save(draft("new")).memory.id == 101


def test_it_takes_types_that_the_old_check_forbade(provider, path):
    old_file(path)
    assert provider.save(draft("new", type="environment")).memory.type == "environment"


def test_it_reads_a_write_ahead_log_left_behind(provider, path):
    code = f"""import os, sqlite3
c = sqlite3.connect({str(path)!r}); c.execute("PRAGMA journal_mode=WAL"); c.executescript({OLD_TABLE!r})
c.execute({ROW!r}, (1, "helper", "ann", "user", "n", "left in the log", None, *{TIMES!r})); c.commit(); os._exit(0)"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Path(f"{path}-wal").stat().st_size
    assert find(provider, "log") == ["left in the log"]


def test_it_makes_times_of_other_spellings_comparable(provider, path):
    old_file(path, rows=3)
    execute(path, "UPDATE memory SET updated_at = '2026-04-13T09:00:00.250Z' WHERE id = 2")
    execute(path, "UPDATE memory SET updated_at = NULL, created_at = 'soon' WHERE id = 4")
    memory = provider.get(ANN, 2)
    assert memory.updated_at.isoformat() == "2026-04-13T09:00:00.250000+00:00"
    assert provider.update(ANN, 2, MemoryChanges(content="x"), memory.updated_at).content == "x"
    assert provider.get(ANN, 4).created_at


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE memory_fts",
        "DROP TABLE memory_terms",
        "DROP TRIGGER memory_au",
        "DROP INDEX idx_agent_user",
        "DROP TABLE memory_fts; CREATE VIRTUAL TABLE memory_fts USING fts5(name, tokenize='unicode61')",
        "DROP TRIGGER memory_ai; CREATE TRIGGER memory_ai AFTER INSERT ON memory BEGIN SELECT 1; END",
    ],
)
def test_it_mends_a_missing_or_different_part(provider, path, damage):
    provider.save(draft("黑咖啡 with milk"))
    provider.close()
    execute(path, damage)
    provider.save(draft("second 黑咖啡"))
    assert len(find(provider, "黑咖啡")) == provider.page(PageQuery(keyword="黑咖啡")).total == 2
    for index in ("memory_fts", "memory_terms"):
        execute(path, f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")


def test_it_lets_concurrent_openers_wait_for_one_upgrade(provider, path):
    old_file(path, rows=2_000)
    counts: list[int] = []
    run_at_once(8, lambda: counts.append(provider.count(PageQuery())))
    assert counts == [1_999] * 8


def foreign(path: Path) -> None:
    execute(path, "CREATE TABLE invoices(id INTEGER PRIMARY KEY); INSERT INTO invoices VALUES (1);")


def newer(path: Path) -> None:
    old_file(path)
    execute(path, "PRAGMA user_version = 99")


def no_database(path: Path) -> None:
    path.write_bytes(b"this is a text file, long enough to be taken for a page of a database " * 20)


def damaged(path: Path) -> None:
    old_file(path, rows=500)
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xff" * 8192
    path.write_bytes(content)


@pytest.mark.parametrize("make", [foreign, newer, no_database, damaged])
def test_it_refuses_a_file_that_cannot_serve_and_leaves_it_untouched(provider, path, data_dir, make):
    make(path)
    before = path.read_bytes()
    for use in (lambda: provider.count(PageQuery()), lambda: provider.save(draft("x"))):
        with pytest.raises(StoreRejected):
            use()
    assert path.read_bytes() == before
    assert SqliteProvider(data_dir / "fine.db", "fine.db").save(draft("x")).memory.id


@pytest.fixture
def read_only(monkeypatch):
    """Opens files as from a disk that can't be written."""
    real = pool._new_connection

    def open_read_only(alias, path, patience):
        connection = real(alias, path, patience)
        connection.settings_dict["NAME"] = f"file:{path}?mode=ro"
        connection.settings_dict["OPTIONS"]["init_command"] = "PRAGMA busy_timeout=100"
        return connection

    monkeypatch.setattr(pool, "_new_connection", open_read_only)


def test_it_refuses_an_older_file_that_is_read_only(provider, path, read_only):
    old_file(path)
    before = path.read_bytes()
    with pytest.raises(StoreRejected, match="read-only"):
        provider.count(PageQuery())
    assert path.read_bytes() == before


def test_it_reads_a_file_of_today_that_is_read_only(provider, path, request):
    provider.save(draft("tea"))
    provider.close()
    request.getfixturevalue("read_only")
    assert find(provider, "tea") == ["tea"]
    with pytest.raises(StoreUnavailable):
        provider.save(draft("coffee"))
    assert find(provider, "tea coffee") == ["tea"]


UPGRADE = """
import os, sys
os.environ |= {"NETACLAW_DATA_DIR": sys.argv[1], "DJANGO_SETTINGS_MODULE": "netaclaw.settings"}
import django; django.setup()
from memory_app.providers import sqlite_schema
from memory_app.providers.sqlite import SqliteProvider
from memory_app.contracts import PageQuery
from pathlib import Path
real, seen = sqlite_schema._run, []
def run(connection, *statements):
    for statement in statements:
        seen.append(statement)
        if len(seen) == int(sys.argv[3]):
            os.kill(os.getpid(), 9)
        real(connection, statement)
sqlite_schema._run = run
SqliteProvider(Path(sys.argv[2]), "old.db").count(PageQuery())
"""


@pytest.mark.parametrize("step", [1, 3, 5, 8, 12, 15])
def test_it_leaves_the_old_file_or_the_new_one_when_killed(provider, path, data_dir, step):
    old_file(path)
    killed = subprocess.run([sys.executable, "-c", UPGRADE, str(data_dir), str(path), str(step)], cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    assert len(rows_of(path)) == 49
    assert find(provider, "word7") == ["content 7 花生过敏 word7"]
