"""Plain HTTP for agents' runtimes: statuses and JSON without an envelope, an agent's key instead of an operator.

A call belongs to the agent of its key, and to the key's user or the one that the header X-Netaclaw-User names.
"""

import logging
from math import ceil
from typing import Any, Final, cast

from django.db import DatabaseError
from django.urls import re_path
from django.utils.translation import gettext as _
from rest_framework import exceptions, views
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory_app import keys
from memory_app.acting import Door, become
from memory_app.api.keys import AgentKeyAuthentication, HasKey
from memory_app.contracts import Scope
from memory_app.exceptions import InvalidInput, NetaclawError
from memory_app.models import AgentKey
from netaclaw.cool import JsonBody

UNAVAILABLE: Final = 503
STATUSES: Final = {
    "invalid": 422,
    "unknown_type": 422,
    "unknown_tool": 404,
    "unknown_agent": 404,
    "not_found": 404,
    "refused": 403,
    "conflict": 409,
    "store_unavailable": UNAVAILABLE,
    "store_moved": UNAVAILABLE,
    "store_rejected": UNAVAILABLE,
}
logger = logging.getLogger(__name__)


class BadRequest(exceptions.APIException):
    """A request that can't be read: no JSON, or nobody named."""

    status_code = 400
    default_code = "bad_request"


class RuntimeBody(JsonBody):
    """JSON of at most 2 MB, whatever the content type says."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except InvalidInput as error:
            raise BadRequest(error.message) from None


class AlwaysJson(BaseContentNegotiation):
    """JSON is all there is, whatever a client would rather have."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class RuntimeView(views.APIView):
    """Base of the calls of agents' runtimes."""

    authentication_classes = [AgentKeyAuthentication]
    permission_classes = [HasKey]
    renderer_classes = [JSONRenderer]
    parser_classes = [RuntimeBody]
    content_negotiation_class = AlwaysJson

    def get_exception_handler(self) -> Any:
        return handle

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.become_caller()

    def become_caller(self) -> None:
        """Says whose doing it is."""
        become(Door.API, self.key.name)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What a user's agent knows is for no cache between."""
        response.headers["Cache-Control"] = "no-store"
        return super().finalize_response(request, response, *args, **kwargs)

    @property
    def key(self) -> AgentKey:
        """The key that calls."""
        return cast(AgentKey, self.request.auth)

    def scope(self) -> Scope:
        """Whose memories the call is about."""
        try:
            return keys.scope_of(self.key, self.request.headers.get(keys.USER_HEADER, ""))
        except InvalidInput as error:
            raise BadRequest(error.message) from None


class UnknownCall(RuntimeView):
    """Any other address, whatever the method."""

    schema = None
    authentication_classes = []
    permission_classes = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise exceptions.NotFound(_("There is no such address; /api/docs/ shows those that there are."))


def handle(error: Exception, context: Any) -> Response:
    """Every exception of a view as {"error": code, "message": sentence} under its status."""
    views.set_rollback()
    if isinstance(error, NetaclawError):
        return refusal(error.code, error.message, STATUSES.get(error.code, 400))
    if isinstance(error, exceptions.Throttled):
        seconds = ceil(getattr(error, "wait", None) or 60)
        message = _("Too many attempts; wait %(seconds)d seconds.") % {"seconds": seconds}
        return refusal(error.default_code, message, error.status_code, {"Retry-After": str(seconds)})
    if isinstance(error, exceptions.APIException):
        challenge = {"WWW-Authenticate": "Bearer"} if error.status_code == 401 else None
        return refusal(error.default_code, str(error.detail), error.status_code, challenge)
    logger.error("Request failed", exc_info=error)
    if isinstance(error, DatabaseError):
        message = _("The database can't be used at the moment; nothing was changed. Try again.")
        return refusal("store_unavailable", message, UNAVAILABLE)
    message = _("Something went wrong on the server; nothing was changed. Its log has the details.")
    return refusal("error", message, 500)


def refusal(code: str, message: str, status: int, headers: dict[str, str] | None = None) -> Response:
    """A failure: a code for programs, a sentence for people."""
    return Response({"error": code, "message": message}, status=status, headers=headers)


urlpatterns = [re_path("", UnknownCall.as_view())]  # after every call that there is
