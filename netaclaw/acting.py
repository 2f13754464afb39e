"""Who acts in a request: the operator who is signed in to the console, until another door learns who calls.

What a door sets for the length of a request, the actor and the time zone, ends with it.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from memory_app.acting import Door, acting_as


class ActingMiddleware:
    """Stands after the authentication; its end undoes whoever a door has become."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting_as(Door.CONSOLE, request.user.get_username()), timezone.override(None):
            return self.get_response(request)
