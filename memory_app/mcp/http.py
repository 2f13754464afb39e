"""MCP over HTTP: who calls, by an agent's key; what is answered is the SDK's (bridge.py).

Without sessions every call stands alone: any worker may take it, and there is no stream to hold a thread.
"""

import json
import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from memory_app import keys
from memory_app.contracts import Scope
from memory_app.exceptions import InvalidInput
from memory_app.models import AgentKey

USER_HEADER: Final = "X-Netaclaw-User"
INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
logger = logging.getLogger(__name__)


@csrf_exempt
def endpoint(request: HttpRequest) -> HttpResponse:
    """The address of the server; a browser's cookies count for nothing here."""
    if request.method != "POST":
        return _refused(
            405, _("MCP is spoken by POST here; there is no stream and no session."), headers={"Allow": "POST"}
        )
    if not _is_known_origin(request):
        return _refused(403, _("Pages of this origin may not call; allow it in NETACLAW_CSRF_TRUSTED_ORIGINS."))
    try:
        key = keys.authenticate(_bearer(request))
        return _answer(request, key) if key else _unauthorized(request)
    except InvalidInput as error:
        return _refused(400, error.message)
    except RequestDataTooBig:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return _refused(413, _("The request is over %(limit)d bytes; send less at once.") % {"limit": limit})
    except DatabaseError:
        logger.exception("The main database failed")
        message = _("The database can't be used at the moment; nothing was changed. Try again.")
        return _refused(503, message, code=INTERNAL_ERROR)


def _answer(request: HttpRequest, key: AgentKey) -> HttpResponse:
    # The SDK costs half a second and 45 MB, for nothing where nobody speaks MCP.
    from memory_app.mcp.bridge import exchanged
    from memory_app.mcp.server import Caller

    scope = Scope(key.agent.name, _user(request, key))
    return exchanged(Caller(scope, key.read_only, key.name), request)


def _user(request: HttpRequest, key: AgentKey) -> str:
    """The user the key is bound to, or else the one that the header names; raises InvalidInput when they differ."""
    try:
        sent = request.headers.get(USER_HEADER, "").encode("latin-1").decode()
        named = unquote(sent, errors="strict").strip()
    except UnicodeError:
        raise InvalidInput(_("%(header)s must be UTF-8, URL-encoded.") % {"header": USER_HEADER}) from None
    if not key.user_id and not named:
        message = _("This key is bound to no user; name the user in the header %(header)s, URL-encoded.")
        raise InvalidInput(message % {"header": USER_HEADER})
    if key.user_id and named not in ("", key.user_id):
        message = _("This key is bound to another user than the header %(header)s names; leave the header out.")
        raise InvalidInput(message % {"header": USER_HEADER})
    return key.user_id or named


def _bearer(request: HttpRequest) -> str:
    scheme, _space, text = request.headers.get("Authorization", "").strip().partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def _is_known_origin(request: HttpRequest) -> bool:
    """Whether no page calls, or one that the installation trusts: others may have found a name that leads here."""
    origin = request.headers.get("Origin")
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.netloc == request.get_host() or _is_own_name(parts.netloc):
        return True
    trusted = [urlsplit(word) for word in settings.CSRF_TRUSTED_ORIGINS]
    return any(
        parts.scheme == word.scheme and is_same_domain(parts.netloc, word.netloc.removeprefix("*")) for word in trusted
    )


def _is_own_name(place: str) -> bool:
    name, _port = split_domain_port(place)
    return bool(name) and validate_host(name, settings.ALLOWED_HOSTS)


def _unauthorized(request: HttpRequest) -> HttpResponse:
    challenge = 'Bearer realm="netaclaw-memory"' + (', error="invalid_token"' if _bearer(request) else "")
    message = _("Send a good key of an agent: Authorization: Bearer nck_…; keys are made on the agent's page.")
    return _refused(401, message, headers={"WWW-Authenticate": challenge})


def _refused(
    status: int, message: str, *, code: int = INVALID_REQUEST, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """A refusal before the protocol begins, in its shape nevertheless: clients show the sentence."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    text = json.dumps(body, ensure_ascii=False)
    return HttpResponse(text, status=status, content_type="application/json", headers=headers)
