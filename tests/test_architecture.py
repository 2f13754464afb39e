"""The rules of the house as data, checked on the syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [
    path for app in ("netaclaw", "memory_app", "agents_app", "benchmarks") for path in (ROOT / app).rglob("*.py")
]
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in SOURCES}

# A module imports only from lines above its own.
ORDER = [
    ["memory_app.exceptions"],
    ["memory_app.contracts", "memory_app.acting"],
    [
        "memory_app.paths",
        "memory_app.stopwords",
        "memory_app.metadata_schema",
        "memory_app.metadata_form",
        "memory_app.stretches",
        "memory_app.missed",
    ],
    ["memory_app.days", "memory_app.metadata_changes"],
    ["memory_app.models"],
    ["memory_app.analysis", "memory_app.prompt"],
    ["memory_app.ranking", "memory_app.indexing"],
    ["memory_app.highlighting"],
    ["memory_app.providers.failures"],
    [
        "memory_app.providers.base",
        "memory_app.providers.operations",
        "memory_app.providers.sqlite_schema",
        "memory_app.providers.mysql_schema",
    ],
    ["memory_app.providers.pool", "memory_app.providers.rows"],
    ["memory_app.providers.sqlite", "memory_app.providers.mysql"],
    ["memory_app.providers.transfer", "memory_app.providers.figures"],
    ["memory_app.registry", "memory_app.history"],
    ["memory_app.answering"],
    ["memory_app.services", "memory_app.search", "memory_app.figures", "memory_app.moving", "memory_app.keys"],
    ["memory_app.restoring", "memory_app.forgetting", "memory_app.misfits"],
    ["memory_app.tool_arguments"],
    ["memory_app.tools", "memory_app.merged", "memory_app.explanation"],
    ["memory_app.bulk", "memory_app.importing", "memory_app.filters", "memory_app.tool_shapes"],
    ["memory_app.api", "memory_app.mcp", "memory_app.admin", "memory_app.checks", "memory_app.management"],
    ["memory_app.apps"],
]
PURE = ["memory_app.analysis", "memory_app.highlighting", "memory_app.ranking", "memory_app.stopwords"]
FORBIDDEN = {"utils", "helpers", "common", "signals"}
RAW_SQL = {"cursor", "raw", "RawSQL", "extra", "execute", "executescript"}


def names_of(path: Path) -> Iterator[str]:
    """The modules a file imports, and the members it takes from them, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def place(module: str) -> int | None:
    ranks = [rank for rank, group in enumerate(ORDER) for name in group if f"{module}.".startswith(f"{name}.")]
    return max(ranks) if ranks else None


@pytest.mark.parametrize("module", sorted(name for name in MODULES if place(name) is not None))
def test_it_imports_only_downwards(module):
    for name in names_of(MODULES[module]):
        other = place(name)
        same = any(f"{module}.".startswith(f"{group}.") and name.startswith(group) for row in ORDER for group in row)
        assert other is None or same or other < place(module), f"{module} imports {name}, which stands above it"


def test_it_gives_every_module_of_the_memory_a_place():
    unplaced = [name for name in MODULES if name.startswith("memory_app.") and place(name) is None]
    assert [name for name in unplaced if "migrations" not in name and not name.endswith("__init__")] == []


def test_it_never_imports_agents_into_the_memory():
    guilty = [name for name, path in MODULES.items() if name.startswith("memory_app") for other in names_of(path)
              if other.startswith("agents_app")]  # fmt: skip
    assert guilty == []


@pytest.mark.parametrize("module", PURE)
def test_it_keeps_pure_modules_free_of_django(module):
    assert [name for name in names_of(MODULES[module]) if name.startswith(("django", "rest_framework"))] == []


def test_it_keeps_rest_framework_in_the_api():
    allowed = ("memory_app.api", "agents_app.api", "netaclaw.api", "netaclaw.cool", "netaclaw.crud")
    users = {module for module, path in MODULES.items() if any(n.startswith("rest_framework") for n in names_of(path))}
    assert {module for module in users if not module.startswith(allowed)} == set()


def test_it_keeps_requests_in_the_doors():
    doors = (
        "memory_app.api",
        "memory_app.mcp",
        "agents_app.api",
        "memory_app.admin",
        "agents_app.admin",
        "agents_app.move_view",
        "agents_app.chat_view",
        "netaclaw.",
    )
    users = {module for module, path in MODULES.items() if any(n.startswith("django.http") for n in names_of(path))}
    assert {module for module in users if not module.startswith(doors)} == set()


def test_it_keeps_raw_sql_in_the_providers():
    guilty = []
    for module, path in MODULES.items():
        if module.startswith(("memory_app.providers", "benchmarks")) or "migrations" in module:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in RAW_SQL:
                guilty.append(f"{module}:{node.lineno}")
    assert guilty == []


def test_it_imports_absolutely():
    relative = [
        module
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_it_has_no_drawer_for_odds_and_ends():
    assert [module for module in MODULES if FORBIDDEN & set(module.split("."))] == []


def test_it_documents_every_public_function_outside_the_admin():
    bare = []
    for module, path in MODULES.items():
        if any(part in module for part in ("migrations", "admin", "commands", "router", "merged", "apps", "urls")):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                bare += [] if ast.get_docstring(node) else [f"{module}.{node.name}"]
    assert bare == []
