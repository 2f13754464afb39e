"""Recall preview: what a chat turn would be given for a message, what just missed, and why one memory isn't there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memory_app import registry
from memory_app.admin.base import agent_choices
from memory_app.analysis import Kind, QueryTerm, parse_query
from memory_app.contracts import MAX_CONTENT, MAX_RECALL, MAX_USER_ID, MemoryEntry, Scope
from memory_app.exceptions import NetaclawError
from memory_app.explanation import Candidate, Explanation, Fate, Verdict, explain, explain_one, texts_of
from memory_app.highlighting import Piece, matched_terms, pieces, words_of
from memory_app.merged import reference_of
from memory_app.models import Memory
from memory_app.prompt import estimated_tokens
from memory_app.search import MAX_MESSAGE, Turn, own_turn

MAX_LINK = 1_024  # bytes of an address that is still passed on in chats and tickets
MIN_CHARACTERS, MAX_CHARACTERS = 100, 200_000
EXCERPT, BEFORE = 1_200, 120
MAX_WORDS = 60
PRODUCTION, OWN = "production", "own"


def _limit() -> forms.IntegerField:
    return forms.IntegerField(label=_("number of memories"), required=False, min_value=1, max_value=MAX_RECALL)


def _characters() -> forms.IntegerField:
    return forms.IntegerField(
        label=_("budget in characters"), required=False, min_value=MIN_CHARACTERS, max_value=MAX_CHARACTERS
    )


class PreviewForm(forms.Form):
    """Whose message, what it says, and with which settings; an empty setting is the agent's own."""

    agent = forms.ChoiceField(label=_("agent"), choices=agent_choices)
    user = forms.CharField(
        label=_("user"), required=False, max_length=MAX_USER_ID, help_text=_("Empty: shared memories only.")
    )
    message = forms.CharField(
        label=_("message"),
        strip=False,
        max_length=MAX_CONTENT,
        widget=forms.Textarea(attrs={"rows": 3, "data-submit": "", "dir": "auto"}),
    )
    settings = forms.ChoiceField(
        label=_("settings"),
        required=False,
        choices=[(PRODUCTION, _("as in production")), (OWN, _("these:"))],
        widget=forms.RadioSelect,
        initial=PRODUCTION,
    )
    limit = _limit()
    characters = _characters()
    compare = forms.BooleanField(label=_("compare with"), required=False)
    limit2 = _limit()
    characters2 = _characters()
    why = forms.CharField(
        label=_("Why not this memory?"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"placeholder": "helper:12", "form": "preview-form"}),
        help_text=_("Its reference, agent:id; an ID alone is of this agent."),
    )

    def clean_message(self) -> str:
        """Browsers send line breaks as CR LF."""
        return str(self.cleaned_data["message"]).replace("\r\n", "\n")

    def clean_why(self) -> tuple[str, int] | None:
        """The agent ("" for the one of the form) and the id of a reference."""
        reference = self.cleaned_data["why"].strip()
        agent_name, _colon, number = reference.rpartition(":")
        if not reference:
            return None
        if not (number.isascii() and number.isdigit() and len(number) <= 18):
            raise forms.ValidationError(
                gettext("Write agent:id as the list of memories shows it, for example helper:12.")
            )
        return agent_name, int(number)

    def link(self) -> str:
        """The query of an address that asks the same."""
        return urlencode([(name, value) for name in self.fields if (value := self.data.get(name))])

    @property
    def own_settings(self) -> list[forms.BoundField]:
        return [self["limit"], self["characters"]]

    @property
    def other_settings(self) -> list[forms.BoundField]:
        return [self["limit2"], self["characters2"]]


@dataclass(frozen=True)
class Side:
    """One turn on the page."""

    title: str
    explained: Explanation
    terms: Sequence[QueryTerm]

    @property
    def status(self) -> str:
        """What the page says of the turn in a word: `hit`, `none` or `failed`."""
        if self.explained.failure:
            return "failed"
        return "hit" if self.explained.block else "none"

    @property
    def tokens(self) -> int:
        return estimated_tokens(self.explained.block)

    @property
    def injected(self) -> int:
        return sum(candidate.injected for candidate in self.explained.candidates)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return [_row(candidate, self.explained.turn, self.terms) for candidate in self.explained.candidates]


def preview_view(request: HttpRequest) -> HttpResponse:
    """The page. It is sent by POST, and passed on to an address that can be linked to where that isn't too long."""
    if not request.user.has_perm("memory_app.view_memory"):
        raise PermissionDenied
    data = (request.POST if request.method == "POST" else request.GET).copy()
    data.setdefault("settings", PRODUCTION)
    form = PreviewForm(data if "message" in data else None, initial=data.dict())
    valid = form.is_bound and form.is_valid()
    if valid and request.method == "POST" and len(form.link()) <= MAX_LINK:
        return HttpResponseRedirect(f"{request.path}?{form.link()}")
    context = admin.site.each_context(request) | {
        "title": gettext("Recall preview"),
        "opts": Memory._meta,
        "form": form,
        "max_message": MAX_MESSAGE,
    }
    return TemplateResponse(
        request, "admin/memory_app/memory/preview.html", context | (_answer(form.cleaned_data) if valid else {})
    )


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    message = asked["message"]
    try:
        scope = Scope(asked["agent"], asked["user"])
        production = own_turn(registry.config_for(scope.agent_name))
    except NetaclawError as error:
        return {"failure": error.message}
    terms = parse_query(message[:MAX_MESSAGE]).terms
    sides = [Side(title, explain(scope, message, turn), terms) for title, turn in _turns(asked, production)]
    why = _why(asked["why"], sides[0], scope, message) if asked["why"] and sides[0].status != "failed" else None
    return {"sides": sides, "production": production, "cut": len(message) > MAX_MESSAGE, "why": why}


def _turns(asked: dict[str, Any], production: Turn) -> list[tuple[str, Turn]]:
    turns = [(gettext("As in production"), production)]
    if asked["settings"] == OWN:
        turns = [(gettext("With these settings"), _turn(asked["limit"], asked["characters"], production))]
    if asked["compare"]:
        turns.append((gettext("Compared with"), _turn(asked["limit2"], asked["characters2"], production)))
    return turns


def _turn(limit: int | None, characters: int | None, production: Turn) -> Turn:
    """Settings to try hold even while the agent's memory is off."""
    return Turn(limit or production.limit, characters or production.characters)


def _row(candidate: Candidate, turn: Turn, terms: Sequence[QueryTerm]) -> dict[str, Any]:
    memory = candidate.hit.memory
    matched = matched_terms(terms, candidate.hit.matched)
    title, content, description = pieces(texts_of(memory), matched)
    return {
        "candidate": candidate,
        "memory": memory,
        "reference": reference_of(memory),
        "title": marked(title),
        "content": marked(_excerpt(content)),
        "description": marked(description),
        "fate": fate_sentence(candidate.fate, turn),
    }


def marked(cut: Sequence[Piece]) -> SafeString:
    """The pieces, escaped; those that matched in <mark>."""
    tags = [("mark" if piece.matched else "span", piece.text) for piece in cut]
    return format_html_join("", "<{}>{}</{}>", [(tag, text, tag) for tag, text in tags])


def _excerpt(cut: Sequence[Piece]) -> list[Piece]:
    """Of a long text the part that begins a little before the first match."""
    if sum(len(piece.text) for piece in cut) <= EXCERPT:
        return list(cut)
    before = 0
    for piece in cut:
        if piece.matched:
            break
        before += len(piece.text)
    start = max(0, before - BEFORE) if any(piece.matched for piece in cut) else 0
    return _between(cut, start, start + EXCERPT)


def _between(cut: Sequence[Piece], start: int, end: int) -> list[Piece]:
    kept = [Piece("… ", matched=False)] if start else []
    position = 0
    for piece in cut:
        text = piece.text[max(0, start - position) : max(0, end - position)]
        kept += [Piece(text, piece.matched)] if text else []
        position += len(piece.text)
    return [*kept, Piece(" …", matched=False)] if position > end else kept


def fate_sentence(fate: Fate, turn: Turn) -> str:
    """Why a candidate is, or isn't, in the block."""
    return {
        Fate.INJECTED: gettext("injected"),
        Fate.SHORTENED: gettext("injected, shortened to fit the budget"),
        Fate.OVER_BUDGET: gettext("not injected: over the budget of characters"),
        Fate.BEYOND_LIMIT: ngettext(
            "not injected: beyond the one memory per turn",
            "not injected: beyond the %(limit)d memories per turn",
            turn.limit,
        )
        % {"limit": turn.limit},
        Fate.MEMORY_OFF: gettext("not injected: the agent's memory is off"),
    }[fate]


def _why(asked: tuple[str, int], side: Side, scope: Scope, message: str) -> dict[str, Any]:
    agent_name, memory_id = asked[0] or scope.agent_name, asked[1]
    try:
        verdict = explain_one(side.explained, scope, message, agent_name, memory_id)
    except NetaclawError as error:
        return {"reference": f"{agent_name}:{memory_id}", "sentence": error.message}
    shared = {term.surface for term in verdict.shared}
    return {
        "reference": f"{agent_name}:{memory_id}",
        "memory": verdict.memory,
        "sentence": _verdict_sentence(verdict, side.explained.turn, scope),
        "injected": verdict.fate in (Fate.INJECTED, Fate.SHORTENED),
        "asked": [(surface, surface in shared) for surface in _shown(verdict.asked)],
        "words": _words(verdict.memory) if verdict.asked and verdict.memory else [],
    }


def _shown(terms: Sequence[QueryTerm]) -> list[str]:
    """Single characters only where no pair holds them."""
    longer = [term.surface for term in terms if term.kind is not Kind.CHAR]
    alone = [term.surface for term in terms if term.kind is Kind.CHAR and term.surface not in "".join(longer)]
    return list(dict.fromkeys(longer + alone))


def _words(memory: MemoryEntry) -> list[str]:
    words = words_of(texts_of(memory))
    return [*words[:MAX_WORDS], "…"] if len(words) > MAX_WORDS else words


def _verdict_sentence(verdict: Verdict, turn: Turn, scope: Scope) -> str:
    values = {
        "rank": verdict.rank,
        "score": f"{verdict.score:.2f}",
        "needed": f"{verdict.needed:.2f}",
        "limit": turn.limit,
        "most": MAX_RECALL,
        "user": verdict.memory.user_id if verdict.memory else "",
        "agent": verdict.memory.agent_name if verdict.memory else "",
        "asked_agent": scope.agent_name,
        "asked_user": scope.user_id or gettext("all users (shared)"),
    }
    return _SENTENCES[verdict.fate] % values


_SENTENCES = {
    Fate.INJECTED: _("It is injected, as number %(rank)d with score %(score)s."),
    Fate.SHORTENED: _("It is injected, as number %(rank)d with score %(score)s, but shortened to fit the budget."),
    Fate.OVER_BUDGET: _("It is number %(rank)d with score %(score)s, but there was no room left in the budget."),
    Fate.BEYOND_LIMIT: _(
        "It is number %(rank)d with score %(score)s; the turn takes the first %(limit)d, down to score %(needed)s."
    ),
    Fate.MEMORY_OFF: _("It is number %(rank)d with score %(score)s, but the agent's memory is off."),
    Fate.BEYOND_SEARCH: _("It holds words of the message, but %(most)d other memories fit better."),
    Fate.NO_COMMON_WORD: _("It has no word in common with the message."),
    Fate.NO_WORDS_ASKED: _("The message has no words to search for."),
    Fate.OTHER_USER: _("It belongs to user %(user)s and isn't shared; a turn of %(asked_user)s never reads it."),
    Fate.OTHER_AGENT: _("It belongs to agent %(agent)s; agent %(asked_agent)s never reads it."),
    Fate.MISSING: _("There is no such memory; it may have been deleted."),
}
