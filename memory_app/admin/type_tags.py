"""Types as coloured tags: the word that is shown, and the stylesheet with the colours that operators chose."""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from memory_app.models import BUILTIN_TYPES, MemoryType

SEEDED = {info.key: info.name for info in BUILTIN_TYPES}
COLOR = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")
YEAR = 365 * 24 * 3600


class TypeLook(NamedTuple):
    """How a type is shown: its word in the reader's language, and its colour, "" for none."""

    key: str
    word: str
    color: str


def looks() -> Mapping[str, TypeLook]:
    """How each type is shown, by its key, in the operators' order."""
    rows = MemoryType.objects.values_list("key", "name", "color")
    return {key: TypeLook(key, _word(key, name), color) for key, name, color in rows}


def tag(key: str, look: TypeLook | None = None) -> SafeString:
    """A type as a tag; one that is no longer in the table is shown by its key."""
    return format_html('<span class="type-tag" data-type="{}">{}</span>', key, look.word if look else key)


def stylesheet_url(shown: Mapping[str, TypeLook]) -> str:
    """The address of the colours; it changes with them, so that browsers may keep what they have."""
    return f"{reverse('admin:memory_app_memory_colors')}?v={_version(_stylesheet(list(shown.values())))}"


def colors_view(request: HttpRequest) -> HttpResponse:
    """The colours of the types as a stylesheet: a page under a strict Content-Security-Policy has no inline styles."""
    text = _stylesheet(list(looks().values()))
    version = _version(text)
    response = HttpResponse(text, content_type="text/css; charset=utf-8", headers={"ETag": f'"{version}"'})
    lasting = {"max_age": YEAR, "immutable": True} if request.GET.get("v") == version else {"no_cache": True}
    patch_cache_control(response, private=True, **lasting)
    return get_conditional_response(request, etag=f'"{version}"', response=response) or response


def _word(key: str, name: str) -> str:
    """The built-in types are seeded with Chinese names; whoever reads another language knows them by their keys."""
    seeded = SEEDED.get(key) == name and not (get_language() or "").startswith("zh")
    return key if seeded else name


def _stylesheet(shown: Sequence[TypeLook]) -> str:
    colored = [look for look in shown if COLOR.fullmatch(look.color)]
    rule = '.type-tag[data-type="{}"] {{ --tag-color: {}; }}\n'
    return "".join(rule.format(_escaped(look.key), look.color) for look in colored)


def _escaped(key: str) -> str:
    """A key inside a CSS string, in which nothing but letters and digits stands for itself."""
    return "".join(sign if sign.isascii() and sign.isalnum() else f"\\{ord(sign):x} " for sign in key)


def _version(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
