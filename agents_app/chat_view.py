"""The page on which an operator tries an agent: what the memory gave, what tools did, and what the model said."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from agents_app import conversation
from agents_app.conversation import Session
from agents_app.exceptions import TooManyChats
from agents_app.models import MAX_SESSION_ID, Agent
from memory_app.contracts import MAX_CONTENT, MAX_USER_ID
from memory_app.exceptions import NetaclawError
from memory_app.tools import dump

STREAM = "text/event-stream"


class ChatForm(forms.Form):
    """Who speaks, in which session, and what they say."""

    user = forms.CharField(
        label=_("user"), max_length=MAX_USER_ID, help_text=_("Whose memories are recalled, and saved by the tools.")
    )
    session = forms.CharField(
        label=_("session"), max_length=MAX_SESSION_ID, required=False, help_text=_("Empty: a new one.")
    )
    message = forms.CharField(
        label=_("message"),
        strip=False,
        max_length=MAX_CONTENT,
        widget=forms.Textarea(attrs={"rows": 3, "data-submit": "", "dir": "auto"}),
    )

    def clean_message(self) -> str:
        """Browsers send line breaks as CR LF."""
        return str(self.cleaned_data["message"]).replace("\r\n", "\n")


def chat_view(request: HttpRequest, agent_id: int, model_admin: Any) -> HttpResponseBase:
    """Shows a session (GET), and says something in it (POST): streamed to the page's script, or whole without it."""
    agent = get_object_or_404(Agent, pk=agent_id)
    if not model_admin.has_change_permission(request, agent):
        raise PermissionDenied
    form = ChatForm(request.POST if request.method == "POST" else None, initial=request.GET.dict())
    context: dict[str, Any] = {"form": form}
    if form.is_bound:
        answer = _said(form, agent, streamed=request.headers.get("Accept") == STREAM)
        if isinstance(answer, HttpResponseBase):
            return answer
        context |= answer
    elif request.GET.get("user") and request.GET.get("session"):
        context["rows"] = _rows(Session(agent, request.GET["user"], request.GET["session"]))
    return TemplateResponse(request, "admin/agents_app/agent/chat.html", _page(request, model_admin, agent) | context)


def _page(request: HttpRequest, model_admin: Any, agent: Agent) -> dict[str, Any]:
    return model_admin.admin_site.each_context(request) | {
        "title": _("Try the agent"),
        "opts": Agent._meta,
        "agent": agent,
    }


def _said(form: ChatForm, agent: Agent, *, streamed: bool) -> HttpResponseBase | dict[str, Any]:
    """A response for the page's script, or what the page shows."""
    if not form.is_valid():
        problem = " ".join(str(message) for messages in form.errors.values() for message in messages)
        return _refusal("invalid", problem, 422) if streamed else {}
    asked = form.cleaned_data
    try:
        session = conversation.session_of(agent.name, asked["user"], asked["session"])
        earlier = _rows(session)
        turn = _turn(session, asked["message"])
    except NetaclawError as error:
        status = 503 if isinstance(error, TooManyChats) else 409
        return _refusal(error.code, error.message, status) if streamed else {"problem": error.message}
    from agents_app import telling

    if streamed:
        stream = telling.Stream(turn, for_operator=True)
        return StreamingHttpResponse(stream, content_type=STREAM, headers={"X-Accel-Buffering": "no"})
    answer, _code = telling.whole(turn, for_operator=True)
    goes_on = ChatForm(initial={"user": session.user_id, "session": session.id})
    calls = _shown(answer["toolCalls"])
    return {"rows": earlier, "asked": asked["message"], "turn": answer, "calls": calls, "form": goes_on}


def _turn(session: Session, message: str) -> Any:
    from agents_app.runtime import Asking, Turn

    return Turn(Asking(session, conversation.clean_message(message)))


def _refusal(code: str, message: str, status: int) -> HttpResponse:
    return JsonResponse({"error": code, "message": message}, status=status)


def _rows(session: Session) -> list[tuple[Any, list[dict[str, str]]]]:
    """The messages of a session, each with its tool calls as text."""
    return [(row, _shown(row.tool_calls)) for row in conversation.messages(session)]


def _shown(calls: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [
        {"name": call["name"], "arguments": dump(call["arguments"]), "result": dump(call.get("result", {}))}
        for call in calls
    ]
