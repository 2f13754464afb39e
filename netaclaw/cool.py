"""The Cool Admin dress for DRF: envelope, errors, bare token, bounded JSON bodies, paging parameters, times.

Every business answer is HTTP 200 with {"code": 1000, "message": "success", "data": …}; failures have code 1001 or 1002
and a sentence for people. Only authentication uses HTTP statuses: 401 and 403.
"""

import json
import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import exceptions, views
from rest_framework.authentication import BaseAuthentication
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory_app.acting import Door, become
from memory_app.contracts import MemoryEntry
from memory_app.exceptions import Conflict, InvalidInput, NetaclawError, conflict_sentence
from netaclaw import tokens

SUCCESS, FAILED, INVALID, NOT_FOUND = 1000, 1001, 1002, 404
MAX_BODY = 2 * 1024 * 1024
PAGE_SIZE = 20
TIME_FORMAT = "%Y-%m-%d %H:%M:%S.%f"
logger = logging.getLogger(__name__)


def ok(data: Any = None) -> Response:
    """Success, with `data` unless it is None."""
    body = {"code": SUCCESS, "message": "success"}
    return Response(body if data is None else body | {"data": data})


def failed(message: str, code: int = FAILED, status: int = 200, data: Any = None) -> Response:
    """Failure with a sentence for people."""
    body = {"code": code, "message": message}
    return Response(body if data is None else body | {"data": data}, status=status)


def shown_time(value: datetime | None) -> str | None:
    """A time as the contract writes it, local, with microseconds: `updatedAt` comes back as the version it is."""
    return timezone.localtime(value).strftime(TIME_FORMAT) if value else None


def memory_row(memory: MemoryEntry) -> dict[str, Any]:
    """A memory's fields in camelCase; `updatedAt` is what an update must bring back."""
    return {
        "id": memory.id,
        "agentName": memory.agent_name,
        "userId": memory.user_id,
        "type": memory.type,
        "name": memory.name,
        "content": memory.content,
        "description": memory.description,
        "metadata": dict(memory.metadata),
        "createdAt": shown_time(memory.created_at),
        "updatedAt": shown_time(memory.updated_at),
    }


def version_of(given: Any, memory: MemoryEntry) -> datetime:
    """The version that an update was made on, as the exact time; raises InvalidInput without one, Conflict for another.

    `updatedAt` comes back as it was sent, local and without a zone; ISO 8601 is understood too.
    """
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(_("updatedAt is missing: send back the value that you read with the memory."))
    if given.strip() == shown_time(memory.updated_at) or _exact_time(given) == memory.updated_at:
        return memory.updated_at
    raise Conflict(conflict_sentence(), memory)


def _exact_time(text: str) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return parsed if parsed.tzinfo else timezone.make_aware(parsed)


class BareToken(BaseAuthentication):
    """`Authorization: <token>`, as Cool Admin's front end sends it; `Bearer <token>` is understood too."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, str] | None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if not token:
            return None
        try:
            return tokens.user_of(token), token
        except tokens.BadToken:
            raise exceptions.AuthenticationFailed from None

    def authenticate_header(self, request: Request) -> str:
        """Makes DRF answer 401, which logs the front end out, rather than 403."""
        return "Token"


class BareTokenScheme(OpenApiAuthenticationExtension):
    """The bare token in the OpenAPI document."""

    target_class = BareToken
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "header", "name": "Authorization"}


class HasPermission(BasePermission):
    """Django's model permission that the view names in `permission`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        needed = view.permission if isinstance(view.permission, tuple) else (view.permission,)
        return bool(request.user.is_authenticated and request.user.has_perms(needed))


class JsonBody(BaseParser):
    """JSON of at most 2 MB, whatever the content type says; a body that is no JSON is refused with its place."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        body = stream.read(MAX_BODY + 1)
        if len(body) > MAX_BODY:
            raise InvalidInput(_("The request is over %(limit)d bytes; send less at once.") % {"limit": MAX_BODY})
        try:
            return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant) if body.strip() else {}
        except UnicodeDecodeError:
            raise InvalidInput(_("The request must be JSON in UTF-8.")) from None
        except RecursionError:
            raise InvalidInput(_("The request is nested too deeply; flatten it.")) from None
        except json.JSONDecodeError as error:
            message = _("The request is no JSON: look at line %(line)d, column %(column)d.")
            raise InvalidInput(message % {"line": error.lineno, "column": error.colno}) from None
        except ValueError:
            raise InvalidInput(_("The request holds a number that JSON can't carry, such as NaN.")) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


class CoolView(views.APIView):
    """Base of all views of the contract; `permission` names the Django permission that a call needs."""

    authentication_classes = [BareToken]
    permission_classes = [HasPermission]
    renderer_classes = [JSONRenderer]
    parser_classes = [JsonBody]
    permission: str | tuple[str, ...] = ""

    def get_exception_handler(self) -> Any:
        return handle

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        become(Door.API, request.user.get_username())

    def body(self) -> dict[str, Any]:
        """The request's JSON object; {} without a body."""
        return as_object(self.request.data)


def as_object(data: Any) -> dict[str, Any]:
    """`data` as an object; raises InvalidInput for any other JSON."""
    if not isinstance(data, Mapping):
        raise InvalidInput(_("The request must be a JSON object."))
    return dict(data)


def handle(error: Exception, context: Any) -> Response:
    """Every exception of a view as an envelope; what nobody foresaw is logged and answered without details."""
    views.set_rollback()
    if isinstance(error, NetaclawError):
        return _business(error)
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        response = failed(_("The sign-in has expired or lacks the right for this; sign in again."), status=401)
        response["WWW-Authenticate"] = "Token"
        return response
    if isinstance(error, exceptions.PermissionDenied):
        return failed(_("The sign-in has expired or lacks the right for this; sign in again."), status=403)
    if isinstance(error, exceptions.Throttled):
        seconds = getattr(error, "wait", None) or 60
        return failed(_("Too many attempts; wait %(seconds)d seconds.") % {"seconds": seconds})
    if isinstance(error, exceptions.NotFound):
        return failed(f"{context['request'].path} Not Found", code=NOT_FOUND)
    if isinstance(error, exceptions.APIException):
        return failed(str(error.detail), code=INVALID)
    logger.error("Request failed", exc_info=error)
    if isinstance(error, DatabaseError):
        return failed(_("The database can't be used at the moment; nothing was changed. Try again."))
    return failed(_("Something went wrong on the server; nothing was changed. Its log has the details."))


def _business(error: NetaclawError) -> Response:
    if isinstance(error, Conflict):
        return failed(error.message, data={"reason": error.code, "current": memory_row(error.current)})
    return failed(error.message, code=INVALID if isinstance(error, InvalidInput) else FAILED)


def whole_number(value: Any, default: int) -> int:
    """A paging number as clients send it, a number or its text; anything else is the default."""
    if isinstance(value, bool):
        return default
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return default


def sorting(body: Mapping[str, Any], allowed: Mapping[str, str], default: str) -> tuple[str, bool]:
    """Sort field and whether it descends, from order+sort or prop+order; unknown ones mean the default."""
    name, direction = (body["prop"], body.get("order")) if body.get("prop") else (body.get("order"), body.get("sort"))
    field = allowed.get(name) if isinstance(name, str) else None
    descending = not (isinstance(direction, str) and direction.lower() in ("asc", "ascending"))
    return (field, descending) if field else (default, True)
