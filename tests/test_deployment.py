import re
from pathlib import Path

import yaml

from netaclaw.environment import Environment

ROOT = Path(__file__).parents[1]
READERS = {
    "NETACLAW_BIND",
    "NETACLAW_WORKERS",
    "NETACLAW_THREADS",
    "NETACLAW_TEST_MYSQL_URL",
    "NETACLAW_TEST_MARIADB_URL",
    "NETACLAW_TEST_CHROMIUM",
}


def variables(text: str) -> set[str]:
    return set(re.findall(r"NETACLAW_[A-Z]+(?:_[A-Z]+)*", text))


def known() -> set[str]:
    return {f"NETACLAW_{name.upper()}" for name in Environment.model_fields} | READERS


def test_it_describes_every_variable_once_in_the_readme():
    rows = [
        line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `NETACLAW")
    ]
    described = [name for row in rows for name in variables(row.split("|")[1])]
    assert sorted(described) == sorted(known())


def test_it_names_no_variable_that_nothing_reads():
    for path in ("compose.yaml", "Dockerfile", "docs/scaling.md", "script/server", "script/test", ".ci/run"):
        assert variables((ROOT / path).read_text(encoding="utf-8")) <= known(), path


def test_it_composes_the_product_with_a_healthy_mysql():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert services["app"]["depends_on"]["mysql"]["condition"] == "service_healthy"
    assert "@mysql:3306/netaclaw" in services["app"]["environment"]["NETACLAW_DATABASE_URL"]
    assert services["mysql"]["healthcheck"]["test"]


def test_it_pins_every_requirement():
    for name in ("requirements.txt", "requirements-dev.txt"):
        lines = (ROOT / name).read_text(encoding="utf-8").split()
        assert [line for line in lines if "==" not in line and line not in ("-r", "requirements.txt")] == []
