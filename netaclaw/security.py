"""What browsers may do with the product's pages, said in headers on every answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from csp.constants import NONE, SELF
from django.http import HttpRequest, HttpResponse

# Scripts and styles come from the product's own files only: text that slipped out of its escape would stay text.
DIRECTIVES: Final[Mapping[str, Sequence[str]]] = {
    "default-src": [SELF],
    "script-src": [SELF],
    "style-src": [SELF],
    "img-src": [SELF, "data:"],
    "font-src": [SELF],
    "connect-src": [SELF],
    "object-src": [NONE],
    "base-uri": [NONE],
    "form-action": [SELF],
    "frame-ancestors": [NONE],
}
UNUSED_FEATURES: Final = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
PERMISSIONS: Final = ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES)


def permissions_policy(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: no page, and nothing that finds its way into one, gets at the operator's devices."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return answer
