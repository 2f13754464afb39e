"""A form that is posted after the session ended: signing in on the spot brings it back, and nothing is written."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

SIGN_IN = "_sign_in"
NOT_KEPT = (SIGN_IN, "username", "password", "csrfmiddlewaretoken")
View = Callable[..., HttpResponse]


def kept_over_sign_in(site: AdminSite, view: View) -> View:
    """The view of a form; whoever posts to it without a session signs in first and finds the form as it was."""

    @sensitive_post_parameters("password")
    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST" or request.user.is_authenticated:
            return view(request, *args, **kwargs)
        form = AdminAuthenticationForm(request, data=request.POST if SIGN_IN in request.POST else None)
        if not form.is_bound or not form.is_valid():
            return _page(site, request, form)
        login(request, form.get_user())
        _show_only(request)
        messages.info(request, gettext("You are signed in again. Nothing is saved yet: look, and save."))
        return view(request, *args, **kwargs)

    return wrapped


def _show_only(request: HttpRequest) -> None:
    """What was posted is what the page shows; it is saved by another click."""
    data = request.POST.copy()
    for name in NOT_KEPT:
        data.pop(name, None)
    data["_show"] = "fields"
    request.POST = data  # type: ignore[assignment]


def _page(site: AdminSite, request: HttpRequest, form: AdminAuthenticationForm) -> HttpResponse:
    context = site.each_context(request) | {
        "title": gettext("Sign in again"),
        "form": form,
        "mark": SIGN_IN,
        "kept": [pair for pair in request.POST.items() if pair[0] not in NOT_KEPT],
    }
    return TemplateResponse(request, "admin/memory_app/memory/sign_in.html", context, status=403)
