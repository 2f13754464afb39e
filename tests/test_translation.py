import ast
import re
from pathlib import Path

import polib
from django.utils.translation.template import templatize

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
CALLS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
TEXT = r"u?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
IN_TEMPLATE = re.compile(rf"(?:pgettext\({TEXT.replace('(', '(?:', 1)}, *|gettext\(|\b_\(){TEXT}")
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
        calls = IN_TEMPLATE.findall(templatize(path.read_text(encoding="utf-8")))
        found |= {ast.literal_eval(text) for text in calls}
    return found


def translations(catalogue: Path = CATALOGUE) -> dict[str, str]:
    entries = polib.mofile(str(catalogue)) if catalogue.suffix == ".mo" else polib.pofile(str(catalogue))
    return {entry.msgid: entry.msgstr or entry.msgstr_plural.get(0, "") for entry in entries if not entry.obsolete}


def many() -> dict[str, str]:
    """The plural of every text that has one: it names all the placeholders, a singular may do without its number."""
    return {entry.msgid: entry.msgid_plural for entry in polib.pofile(str(CATALOGUE)) if entry.msgid_plural}


def test_it_translates_every_text():
    done = {msgid for msgid, text in translations().items() if text}
    assert wanted() - done == set()


def test_it_translates_no_text_that_is_gone():
    assert translations().keys() - wanted() == set()


def test_it_keeps_placeholders():
    plurals = many()
    pairs = ((plurals.get(msgid, msgid), text) for msgid, text in translations().items())
    assert [pair for pair in pairs if len({frozenset(PLACEHOLDER.findall(text)) for text in pair}) > 1] == []


def test_it_has_no_doubtful_translations():
    assert [entry.msgid for entry in polib.pofile(str(CATALOGUE)) if entry.fuzzy] == []


def test_it_is_compiled_from_the_catalogue():
    assert translations(CATALOGUE.with_suffix(".mo")) == translations()
