"""What models really send as a tool's arguments: understood, or refused with one sentence that shows a right call."""

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from memory_app import services
from memory_app.contracts import clean_text
from memory_app.exceptions import InvalidInput
from memory_app.models import MemoryType

Arguments = Mapping[str, Any]
CREATE = '{"action": "create", "type": "user", "name": "Tea", "content": "Drinks green tea in the morning."}'
UPDATE = '{"action": "update", "id": 12, "content": "Drinks black tea now."}'
DELETE = '{"action": "delete", "id": 12}'
RECALL = '{"query": "favourite tea", "limit": 5}'
METADATA = '{"source": "chat"}'


def is_given(arguments: Arguments, name: str) -> bool:
    """Whether an optional argument was meant: models fill in null, "" and, for an id, 0."""
    value = arguments.get(name)
    if isinstance(value, str):
        return value.strip() not in ("", "0") if name == "id" else bool(value.strip())
    return value is not None and not (name == "id" and value == 0 and value is not False)


def text_of(arguments: Arguments, name: str) -> str:
    """A text, also when it comes as a number; "" for none."""
    value = arguments.get(name)
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        value = json.dumps(value)
    if not isinstance(value, str):
        message = _("%(field)s must be text, as in %(example)s.")
        raise InvalidInput(message % {"field": name, "example": RECALL if name == "query" else CREATE})
    return clean_text(value, name, limit=10**6).strip()


def type_key(arguments: Arguments) -> str:
    """The key of a type that is named by its key or its label, in any case and width; "" for none.

    Raises UnknownType, with the keys that there are.
    """
    named = text_of(arguments, "type")
    if not named:
        return ""
    types = MemoryType.available()
    alike = [info.key for info in types if _folded(named) in (_folded(info.key), _folded(info.name))]
    key = alike[0] if len(alike) == 1 and named not in {info.key for info in types} else named
    services.check_type(types, key)
    return key


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


def id_of(arguments: Arguments, example: str) -> int:
    """The id of the memory that is meant; `example` is what a refusal shows."""
    if not is_given(arguments, "id"):
        message = _("id is missing: give the id that memory_recall showed, as in %(example)s.")
        raise InvalidInput(message % {"example": example})
    return whole_number(arguments, "id")


def whole_number(arguments: Arguments, name: str, default: int | None = None) -> int:
    """A count or an id: models send 5, 5.0 and "5"; all mean five."""
    value = arguments.get(name)
    if default is not None and not is_given(arguments, name):
        return default
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None or not number.is_integer() or not 0 < number < 2**53:
        raise InvalidInput(_("%(field)s must be a whole number from 1 on, such as 5.") % {"field": name})
    return int(number)


def json_object(value: Any, name: str, example: str) -> Mapping[str, Any]:
    """An object, also when it comes as JSON text; None is an empty one."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = False
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            _("%(field)s must be a JSON object, as in %(example)s.") % {"field": name, "example": example}
        )
    return value
