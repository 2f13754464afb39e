"""Agents' keys in the console."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import keys
from memory_app.admin.base import shown_time
from memory_app.admin.once import Secret, ShownOnce
from memory_app.models import AgentKey
from memory_app.tool_arguments import RECALL

DEFAULT_LIFE = timedelta(days=365)


class KeyForm(forms.ModelForm):
    """A new key."""

    class Meta:
        model = AgentKey
        fields = ("agent", "name", "user_id", "read_only", "expires")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "agent" in self.fields:  # not on the page that only shows a key
            agents: Any = self.fields["agent"]
            agents.label_from_instance = shown_agent


class StateFilter(admin.SimpleListFilter):
    """Keys that work, and the others."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("good", _("good")), ("ended", _("revoked or expired"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        good = AgentKey.objects.good().values("pk")
        if self.value() == "good":
            return queryset.filter(pk__in=good)
        return queryset.exclude(pk__in=good) if self.value() == "ended" else queryset


@admin.register(AgentKey)
class AgentKeyAdmin(ShownOnce):
    """Keys of programs that act for an agent: made and shown once, revoked here; nothing of them changes."""

    form = KeyForm
    list_display = ("name", "agent_shown", "begins_with", "whose", "access", "made", "ends", "used", "state")
    list_filter = (StateFilter, "read_only", ("agent", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("agent",)
    search_fields = ("name", "prefix", "user_id", "agent__name", "agent__label", "created_by")
    fields = ("agent", "name", "user_id", "read_only", "expires")

    def get_fields(self, request: HttpRequest, obj: AgentKey | None = None) -> tuple[str, ...]:
        kept = ("begins_with", "created", "created_by", "last_used", "state")
        return (*self.fields, *kept) if obj else self.fields

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return (*self.list_display, "ending") if self.may_revoke(request) else self.list_display

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return super().get_changeform_initial_data(request) | {"expires": timezone.now() + DEFAULT_LIFE}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A key never changes; the right to change is the right to revoke."""
        return False

    def may_revoke(self, request: HttpRequest) -> bool:
        """Whether the operator may revoke keys."""
        return super().has_change_permission(request)

    # making

    def save_model(self, request: HttpRequest, obj: AgentKey, form: Any, change: bool) -> None:
        fields = {name: form.cleaned_data.get(name) for name in ("name", "user_id", "read_only", "expires")}
        issued = keys.issue(obj.agent_id, request.user.get_username(), fields)
        obj.pk = issued.row.pk
        header = f"Authorization: Bearer {issued.text}"
        back = reverse("admin:agents_app_agent_change", args=[obj.agent_id])
        request.secret = Secret(issued.text, header, _example(request, issued.row), back)  # type: ignore[attr-defined]

    # revoking

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.revoke_view)
        return [path("<int:key_id>/revoke/", view, name="memory_app_agentkey_revoke"), *super().get_urls()]

    def revoke_view(self, request: HttpRequest, key_id: int) -> HttpResponse:
        """Asks (GET), then ends a key for good (POST)."""
        if not self.may_revoke(request):
            raise PermissionDenied
        key = get_object_or_404(AgentKey.objects.select_related("agent"), pk=key_id)
        back = reverse("admin:agents_app_agent_change", args=[key.agent_id])
        if request.method == "POST":
            self._revoke(request, key)
            return HttpResponseRedirect(back)
        context = self.admin_site.each_context(request) | {
            "title": gettext("Revoke the key"),
            "opts": self.opts,
            "key": key,
            "back": back,
        }
        return TemplateResponse(request, "admin/memory_app/agentkey/revoke.html", context)

    def _revoke(self, request: HttpRequest, key: AgentKey) -> None:
        if keys.revoke(key):
            self.log_change(request, key, gettext("Revoked."))
            text = gettext('Key "%(name)s" is revoked; programs that use it are refused from now on.')
            messages.success(request, text % {"name": key.name})
        else:
            messages.info(request, gettext("No change: the key was revoked before."))

    # columns

    @admin.display(description=_("agent"), ordering="agent__name")
    def agent_shown(self, key: AgentKey) -> str:
        return shown_agent(key.agent)

    @admin.display(description=_("begins with"), ordering="prefix")
    def begins_with(self, key: AgentKey) -> str:
        return f"{key.prefix}…"

    @admin.display(description=_("user"), ordering="user_id")
    def whose(self, key: AgentKey) -> str:
        return key.user_id or gettext("named by the program")

    @admin.display(description=_("access"), ordering="read_only")
    def access(self, key: AgentKey) -> str:
        return gettext("read-only") if key.read_only else gettext("read and write")

    @admin.display(description=_("created"), ordering="created")
    def made(self, key: AgentKey) -> str:
        return shown_time(key.created, "Y-m-d")

    @admin.display(description=_("expires"), ordering="expires")
    def ends(self, key: AgentKey) -> str:
        return shown_time(key.expires, "Y-m-d") if key.expires else gettext("never")

    @admin.display(description=_("last used"), ordering="last_used")
    def used(self, key: AgentKey) -> str:
        return shown_time(key.last_used, "Y-m-d H:i") if key.last_used else gettext("never")

    @admin.display(description=_("state"))
    def state(self, key: AgentKey) -> str:
        return state_of(key)

    @admin.display(description=_("actions"))
    def ending(self, key: AgentKey) -> str:
        if key.revoked:
            return ""
        url = reverse("admin:memory_app_agentkey_revoke", args=[key.pk])
        return format_html('<a href="{}">{}</a>', url, gettext("Revoke"))


def _example(request: HttpRequest, key: AgentKey) -> str:
    """A call that the key may make, for a shell where KEY holds it."""
    headers = ["Authorization: Bearer $KEY", *([] if key.user_id else [f"{keys.USER_HEADER}: ann"])]
    sent = " ".join(f'-H "{header}"' for header in headers)
    url = request.build_absolute_uri("/api/tools/memory_recall")
    return f"curl {url} {sent} -d '{RECALL}'"


def shown_agent(agent: Any) -> str:
    """An agent by its label and its name: labels may be alike."""
    return f"{agent.label} ({agent.name})" if agent.label else agent.name


def state_of(key: AgentKey) -> str:
    """A key's state in words."""
    if key.revoked:
        return gettext("revoked")
    return gettext("good") if key.is_good else gettext("expired")


def keys_section(request: HttpRequest, agent_id: int) -> dict[str, Any]:
    """The keys on an agent's page, newest first, for those who may see them, and what they may do with them."""
    may = {action: request.user.has_perm(f"memory_app.{action}_agentkey") for action in ("view", "add", "change")}
    if not any(may.values()):
        return {}
    rows = [(key, state_of(key)) for key in AgentKey.objects.filter(agent_id=agent_id)]
    return {"rows": rows, "may_make": may["add"], "may_revoke": may["change"]}
