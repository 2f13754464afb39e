"""The operators' pages for agents in Django's admin."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents_app import services
from agents_app.chat_view import chat_view
from agents_app.models import Agent
from agents_app.move_view import address, move_view
from memory_app import search
from memory_app.admin import ErrorsAsMessages, Kept, MemoryConfigInline, kept_by, keys_section, shown_agent
from memory_app.contracts import AgentStatistics

UNREAD = "—"


@admin.register(Agent)
class AgentAdmin(ErrorsAsMessages):
    """Agents with their memory section; a name never changes, and memories go with their agent."""

    list_display = ("name", "label", "memory_on", "backend", "memories", "last_updated", "enabled", "links")
    list_filter = ("enabled", "memory__enabled", "memory__backend")
    list_select_related = ("memory",)
    search_fields = ("name", "label", "description")
    search_help_text = _("Name, label and description.")
    inlines = (MemoryConfigInline,)
    fieldsets = (
        (None, {"fields": ("name", "label", "description", "enabled")}),
        (_("Model"), {"fields": ("system_prompt", "provider", "model", "base_url")}),
    )

    # the list

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        changelist.title = str(capfirst(self.opts.verbose_name_plural))
        rows = _counts([agent.name for agent in changelist.result_list])
        for agent in changelist.result_list:
            agent.counts = rows.get(agent.name)
            agent.may_open = request.user.has_perm("memory_app.view_memory")
            switch = reverse("admin:agents_app_agent_switch", args=[agent.pk])
            may_switch = self.has_change_permission(request, agent)
            agent.switch_url = self._with_filters(request, switch) if may_switch else ""
        return changelist

    @admin.display(description=_("memory"), boolean=True, ordering="memory__enabled")
    def memory_on(self, agent: Any) -> bool:
        return agent.memory.enabled

    @admin.display(description=_("backend"), ordering="memory__backend")
    def backend(self, agent: Any) -> str:
        html = '<span class="backend-tag" data-backend="{}">{}</span>'
        return format_html(html, agent.memory.backend, agent.memory.get_backend_display())

    @admin.display(description=_("number of memories"))
    def memories(self, agent: Any) -> str:
        if agent.counts is None or agent.counts.count is None:
            return format_html('<span title="{}">{}</span>', gettext("The store can't be read."), UNREAD)
        if not agent.may_open:
            return str(agent.counts.count)
        return format_html('<a href="{}">{}</a>', memories_of(agent.name), agent.counts.count)

    @admin.display(description=_("last updated"))
    def last_updated(self, agent: Any) -> str:
        latest = agent.counts and agent.counts.last_updated_at
        return date_format(timezone.localtime(latest), "Y-m-d H:i") if latest else UNREAD

    @admin.display(description=_("actions"))
    def links(self, agent: Any) -> str:
        preview = f"{reverse('admin:memory_app_memory_preview')}?{urlencode({'agent': agent.name})}"
        pages = [(preview, gettext("Recall preview"))] if agent.may_open else []
        if agent.switch_url:
            pages.append((reverse("admin:agents_app_agent_chat", args=[agent.pk]), gettext("Try it")))
            pages.append((reverse("admin:agents_app_agent_change", args=[agent.pk]), gettext("Edit")))
        switch = self._switch(agent) if agent.switch_url else ""
        return format_html("{} {}", format_html_join(" ", '<a href="{}">{}</a>', pages), switch)

    def _switch(self, agent: Any) -> str:
        html = '<button type="submit" class="link" formaction="{}" name="enabled" value="{}">{}</button>'
        text = gettext("Disable") if agent.enabled else gettext("Enable")
        return format_html(html, agent.switch_url, int(not agent.enabled), text)

    # the form

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["help_texts"] = {
            "name": _("Identifies the agent at every door; it never changes once the agent is made.")
        }
        return super().get_form(request, obj, change, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        agent = kwargs.get("obj")
        if agent is not None:
            context |= {
                "kept": kept_by(agent.name),
                "keys": keys_section(request, agent.pk),
                "memories_url": memories_of(agent.name),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[Any]:
        move = self.admin_site.admin_view(partial(move_view, model_admin=self))
        switch = self.admin_site.admin_view(self.switch_view)
        chat = self.admin_site.admin_view(partial(chat_view, model_admin=self))
        ours = [
            path("<int:agent_id>/chat/", chat, name="agents_app_agent_chat"),
            path("<int:agent_id>/move/", move, name="agents_app_agent_move"),
            path("<int:agent_id>/switch/", switch, name="agents_app_agent_switch"),
        ]
        return [*ours, *super().get_urls()]

    def switch_view(self, request: HttpRequest, agent_id: int) -> HttpResponse:
        """Enables or disables an agent from the list."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        agent = get_object_or_404(Agent, pk=agent_id)
        if not self.has_change_permission(request, agent):
            raise PermissionDenied
        enabled = request.POST.get("enabled") == "1"
        services.update_agent(agent, enabled=enabled)
        text = gettext("Agent %(name)s is enabled.") if enabled else gettext("Agent %(name)s is disabled.")
        self.log_change(request, agent, text % {"name": agent.name})
        messages.success(request, text % {"name": agent.name})
        return HttpResponseRedirect(self._with_filters(request, reverse("admin:agents_app_agent_changelist")))

    def _with_filters(self, request: HttpRequest, url: str) -> str:
        """The address with the filters of the list that the operator came from."""
        context: dict[str, Any] = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        return add_preserved_filters(context, url)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        wanted = [item.wanted_place for item in formset.forms if getattr(item, "wanted_place", None)]
        request.wanted_place = wanted[0] if wanted else None  # type: ignore[attr-defined]

    def response_change(self, request: HttpRequest, obj: Agent) -> HttpResponse:
        wanted = getattr(request, "wanted_place", None)
        return HttpResponseRedirect(address(obj, wanted)) if wanted else super().response_change(request, obj)

    # deleting

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """What goes with the agents, counted; a store that can't be reached refuses the whole."""
        kept = [(agent, kept_by(agent.name)) for agent in objs]
        memories = sum(item.counts.count or 0 for _agent, item in kept if item.counts)
        counts = {str(self.opts.verbose_name_plural): len(kept), gettext("memories"): memories}
        tree = [part for agent, item in kept for part in (shown_agent(agent), _told(agent, item))]
        lacking = set() if request.user.has_perm("memory_app.delete_memory") else {gettext("memories")}
        return tree, counts, lacking, [item.problem for _agent, item in kept if item.problem and not item.lost]

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Nothing yet: Django asks for it before it deletes, and a store may refuse."""
        return []

    def delete_model(self, request: HttpRequest, obj: Agent) -> None:
        self._delete(request, [obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._delete(request, list(queryset))

    def _delete(self, request: HttpRequest, agents: list[Agent]) -> None:
        """Tells what went even when a store refuses in the middle."""
        numbers: list[int] = []
        try:
            for agent in agents:
                key = agent.pk
                numbers.append(services.delete_agent(agent))
                agent.pk = key  # which the deletion took
                gone: Any = [agent]
                super().log_deletions(request, gone)
        finally:
            if numbers:
                text = ngettext("%(count)d memory went with it.", "%(count)d memories went with it.", sum(numbers))
                messages.info(request, text % {"count": sum(numbers)})


def _counts(names: Sequence[str]) -> Mapping[str, AgentStatistics]:
    """What each agent keeps; taken anew when an agent was made since."""
    rows = {row.agent_name: row for row in search.cached_stats()[0]}
    if not rows.keys() >= set(names):
        search.forget_stats()
        rows = {row.agent_name: row for row in search.cached_stats()[0]}
    return rows


def memories_of(agent_name: str, **more: str) -> str:
    """The list of an agent's memories."""
    return f"{reverse('admin:memory_app_memory_changelist')}?{urlencode({'agentName': agent_name} | more)}"


def _told(agent: Any, kept: Kept) -> list[str]:
    """What goes with one agent."""
    if kept.counts is None:
        return [gettext("%(store)s is left alone: %(problem)s") % {"store": kept.store, "problem": kept.problem}]
    number, users = kept.counts.count or 0, kept.counts.users or 0
    memories = ngettext("%(count)d memory", "%(count)d memories", number) % {"count": number}
    of_users = ngettext("of %(count)d user", "of %(count)d users", users) % {"count": users}
    types = [f"{name} ({key}): {count}" for key, name, count in kept.by_type]
    keys, said = agent.keys.count(), agent.messages.count()
    more = [gettext("agent keys: %(count)d") % {"count": keys}] if keys else []
    more += [gettext("messages: %(count)d") % {"count": said}] if said else []
    return [f"{memories} {of_users}", *types, *more]
