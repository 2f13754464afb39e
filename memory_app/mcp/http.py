"""MCP over HTTP: who calls, by an agent's key; what is answered is the SDK's (bridge.py).

Without sessions every call stands alone: any worker may take it, and there is no stream to hold a thread.
"""

import json
import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from memory_app import keys
from memory_app.exceptions import NetaclawError, Refused
from memory_app.models import AgentKey

INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603
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
    except NetaclawError as error:
        return _refused(403 if isinstance(error, Refused) else 400, error.message)
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

    scope = keys.scope_of(key, request.headers.get(keys.USER_HEADER, ""))
    response = exchanged(Caller(scope, key.read_only, key.name), request)
    response.headers["Cache-Control"] = "no-store"
    return response


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
    return _refused(401, keys.refusal(_bearer(request)), headers={"WWW-Authenticate": challenge})


def _refused(
    status: int, message: str, *, code: int = INVALID_REQUEST, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """A refusal before the protocol begins, in its shape nevertheless: clients show the sentence."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    text = json.dumps(body, ensure_ascii=False)
    return HttpResponse(text, status=status, content_type="application/json", headers=headers)
