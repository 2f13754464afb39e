import ast
import re
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
CALLS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]")


def sources() -> list[Path]:
    return [path for app in ("netaclaw", "memory_app", "agents_app") for path in (ROOT / app).rglob("*.py")]


def wanted() -> set[str]:
    """Every text that the code and the templates translate."""
    found = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS:
                found |= {node.args[0].value} if isinstance(node.args[0], ast.Constant) else set()
    for path in (ROOT / "templates").rglob("*.html"):
        found.update(re.findall(r"{% (?:translate|trans) \"([^\"]+)\"", path.read_text(encoding="utf-8")))
    return found


def translations() -> dict[str, str]:
    entries = polib.pofile(str(CATALOGUE))
    return {entry.msgid: entry.msgstr or entry.msgstr_plural.get(0, "") for entry in entries if not entry.obsolete}


def test_it_translates_every_text():
    done = {msgid for msgid, text in translations().items() if text}
    assert wanted() - done == set()


def test_it_translates_no_text_that_is_gone():
    templates = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html"))
    gone = translations().keys() - wanted()
    assert [msgid for msgid in gone if msgid.split("%(")[0].strip() not in templates] == []


@pytest.mark.parametrize(("msgid", "text"), sorted(translations().items()))
def test_it_keeps_placeholders(msgid, text):
    assert set(PLACEHOLDER.findall(msgid)) == set(PLACEHOLDER.findall(text))


def test_it_has_no_doubtful_translations():
    assert [entry.msgid for entry in polib.pofile(str(CATALOGUE)) if entry.fuzzy] == []


def test_it_is_compiled_from_the_catalogue():
    compiled = polib.mofile(str(CATALOGUE.with_suffix(".mo")))
    assert {entry.msgid: entry.msgstr or entry.msgstr_plural.get(0, "") for entry in compiled} == translations()
