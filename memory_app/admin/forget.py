"""Forgetting a user in the console: asked with counts, done, and answered with a receipt."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import forgetting
from memory_app.admin.base import agent_choices
from memory_app.contracts import MAX_USER_ID
from memory_app.models import Memory


def _everywhere() -> list[tuple[str, str]]:
    return [("", gettext("all agents")), *agent_choices()]


class ForgetForm(forms.Form):
    """Whom to forget, and where."""

    user = forms.CharField(label=_("user"), max_length=MAX_USER_ID)
    agent = forms.ChoiceField(label=_("agent"), choices=_everywhere, required=False)


def forget_view(request: HttpRequest) -> HttpResponse:
    """Counts first; with the confirmation, erases and shows the receipt, which is shown only then."""
    if not request.user.has_perm("memory_app.delete_memory"):
        raise PermissionDenied
    data = request.POST if request.method == "POST" else request.GET
    form = ForgetForm(data if "user" in data else None, initial={"agent": data.get("agent", "")})
    receipts, done = None, False
    if form.is_bound and form.is_valid():
        asked: tuple[str, Any] = (form.cleaned_data["user"], form.cleaned_data["agent"] or None)
        done = request.method == "POST" and "confirmed" in request.POST
        receipts = forgetting.forget(*asked) if done else forgetting.traces(*asked)
    context = admin.site.each_context(request) | {
        "title": gettext("Forget a user"),
        "opts": Memory._meta,
        "form": form,
        "receipts": receipts,
        "done": done,
        "others": [trace.label for trace in forgetting.TRACES.values()],
        "memories": sum(receipt.memories for receipt in receipts or ()),
        "incomplete": any(receipt.problem for receipt in receipts or ()),
    }
    return TemplateResponse(request, "admin/memory_app/memory/forget.html", context)
