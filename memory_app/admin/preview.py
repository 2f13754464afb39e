"""Recall preview: what would be injected for a message, why, and what just missed."""

import re
from dataclasses import dataclass
from time import perf_counter

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import registry, search
from memory_app.admin.base import agent_choices
from memory_app.contracts import MAX_RECALL, Hit, Scope
from memory_app.exceptions import NetaclawError
from memory_app.merged import reference_of
from memory_app.models import Memory
from memory_app.prompt import fitting

MISSED = 10


class PreviewForm(forms.Form):
    """Whose message, and what it says."""

    agent = forms.ChoiceField(label=_("agent"), choices=agent_choices)
    user = forms.CharField(label=_("user"), required=False, max_length=100, help_text=_("Empty: shared memories only."))
    message = forms.CharField(label=_("message"), widget=forms.Textarea(attrs={"rows": 3}))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit of the preview: its rank, whether it is injected, and the reason when it isn't."""

    rank: int
    hit: Hit
    reference: str
    marked: SafeString
    reason: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The answer: the block as sent, the candidates, how long it took (ms), or what failed."""

    block: str = ""
    candidates: tuple[Candidate, ...] = ()
    milliseconds: float = 0
    enabled: bool = True
    failure: str = ""


def preview_view(request: HttpRequest) -> HttpResponse:
    """The page; GET for short messages, so that it can be linked to, POST for any."""
    if not request.user.has_perm("memory_app.view_memory"):
        raise PermissionDenied
    data = request.POST if request.method == "POST" else request.GET
    form = PreviewForm(data if "message" in data else None, initial=data.dict())
    preview = _preview(form.cleaned_data) if form.is_bound and form.is_valid() else None
    context = admin.site.each_context(request) | {
        "title": gettext("Recall preview"),
        "opts": Memory._meta,
        "form": form,
        "preview": preview,
        "budget": settings.PREFETCH_CHARACTERS,
    }
    return TemplateResponse(request, "admin/memory_app/memory/preview.html", context)


def _preview(asked: dict[str, str]) -> Preview:
    start = perf_counter()
    try:
        config = registry.config_for(asked["agent"])
        scope = Scope(asked["agent"], asked["user"])
        limit = config.prefetch_limit
        hits = search.recall(scope, asked["message"], limit=min(limit + MISSED, MAX_RECALL))
    except NetaclawError as error:
        return Preview(failure=error.message)
    block, fitted = fitting(hits[:limit], settings.PREFETCH_CHARACTERS)
    candidates = tuple(_candidate(rank, hit, limit, fitted) for rank, hit in enumerate(hits, start=1))
    return Preview(block, candidates, (perf_counter() - start) * 1000, config.enabled)


def _candidate(rank: int, hit: Hit, limit: int, fitted: int) -> Candidate:
    reason = ""
    if rank > limit:
        reason = gettext("beyond the %(limit)d memories per turn") % {"limit": limit}
    elif rank > fitted:
        reason = gettext("over the budget of characters")
    return Candidate(rank, hit, reference_of(hit.memory), marked_words(hit.memory.content, hit.matched), reason)


def marked_words(text: str, words: tuple[str, ...]) -> SafeString:
    """The text, escaped, with every occurrence of the words in <mark>."""
    wanted = sorted((re.escape(word) for word in words if word), key=len, reverse=True)
    if not wanted:
        return format_html_join("", "{}", [(text,)])
    pieces = re.split(f"({'|'.join(wanted)})", text, flags=re.IGNORECASE)
    tags = [("mark" if position % 2 else "span", piece) for position, piece in enumerate(pieces) if piece]
    return format_html_join("", "<{}>{}</{}>", [(tag, piece, tag) for tag, piece in tags])
