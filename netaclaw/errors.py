"""Error pages in the console's dress: what happened, and what to do now."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

ACTIONS = {"changelist": "view", "history": "view", "add": "add", "change": "change", "delete": "delete"}


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: says which permission is missing, where the page's name or the exception tells."""
    reason = str(exception) or _missing_permission(request)
    return render(request, "403.html", {"reason": reason}, status=403)


def _missing_permission(request: HttpRequest) -> str:
    """Of a page of the admin: its name is the app, the model and what is done there."""
    match = request.resolver_match
    model, _separator, page = (match.url_name or "").rpartition("_") if match else ("", "", "")
    app, _separator, name = model.rpartition("_")
    if page not in ACTIONS or not app:
        return ""
    return _("The permission that is missing: %(permission)s.") % {"permission": f"{app}.{ACTIONS[page]}_{name}"}
