import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_app.exceptions import StoreRejected
from memory_app.paths import resolve

ROOT = Path(__file__).parents[1]


def start(tmp_path: Path, code: str = "print('started')", **variables: str) -> subprocess.CompletedProcess[str]:
    names = {name: value for name, value in os.environ.items() if not name.startswith("NETACLAW_")}
    script = f"import django, os; os.environ['DJANGO_SETTINGS_MODULE'] = 'netaclaw.settings'; django.setup(); {code}"
    environment = names | {"NETACLAW_DATA_DIR": str(tmp_path / "data")} | variables
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("name", "value", "repair"),
    [
        ("NETACLAW_TIME_ZONE", "Mars/Base", "Asia/Shanghai"),
        ("NETACLAW_DEBUG", "perhaps", "boolean"),
        ("NETACLAW_SECRET_KEY", "short", "32 random characters"),
        ("NETACLAW_DATABASE_URL", "oracle://x", "mysql://"),
        ("NETACLAW_DATABASE_URL", "mysql://root@host:port/db", "database URL"),
        ("NETACLAW_MAX_OPEN_STORES", "0", "greater than or equal to 1"),
        ("NETACLAW_LANGUAGE", "fr", "zh-hans"),
        ("NETACLAW_LOG_LEVEL", "loud", "WARNING"),
        ("NETACLAW_CSRF_TRUSTED_ORIGINS", "memory.example.com", "https://"),
        ("NETACLAW_DATA_DIR", "/dev/null", "directory"),
    ],
)
def test_it_does_not_start_on_a_bad_value_and_says_the_repair(tmp_path, name, value, repair):
    result = start(tmp_path, **{name: value})
    assert result.returncode == 1
    assert name in result.stderr
    assert repair in result.stderr
    assert "Traceback" not in result.stderr


def test_it_never_prints_a_secret(tmp_path):
    result = start(tmp_path, NETACLAW_SECRET_KEY="hush", NETACLAW_DATABASE_URL="oracle://user:hush@host/db")
    assert "hush" not in result.stderr


def test_it_makes_its_secret_once_and_keeps_it_private(tmp_path):
    code = "from django.conf import settings; print(settings.SECRET_KEY)"
    first, second = start(tmp_path, code).stdout, start(tmp_path, code).stdout
    assert first == second
    assert len(first.strip()) >= 50
    assert (tmp_path / "data" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_it_is_safe_by_default(tmp_path):
    code = "from django.conf import settings as s; print(s.DEBUG, s.ALLOWED_HOSTS)"
    assert start(tmp_path, code).stdout.strip() == "False ['localhost', '127.0.0.1', '[::1]']"


@pytest.mark.parametrize(
    "path", ["../x.db", "memory/../../x.db", "/etc/x.db", "x.txt", ".db", "a\\b.db", "C:x.db", "memory/", "link/x.db"]
)
def test_it_keeps_files_inside_the_data_directory(tmp_path, path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "link").symlink_to("/tmp")
    with pytest.raises(StoreRejected):
        resolve(tmp_path / "data", path)


@pytest.mark.parametrize("path", ["", "memory/sales.db", "智能体.db", "./a.db"])
def test_it_takes_files_inside_the_data_directory(tmp_path, path):
    assert resolve(tmp_path, path).is_relative_to(tmp_path)
