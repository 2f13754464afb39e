"""Secrets that are shown once: on the page that answers their making, and nowhere else."""

from dataclasses import dataclass
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import AdminSplitDateTime, RelatedFieldWidgetWrapper
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext

from memory_app.admin.base import ErrorsAsMessages


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, the header that carries it, and an example call (without the secret; "" for none)."""

    text: str
    header: str
    example: str
    back: str


class ShownOnce(ErrorsAsMessages):
    """Pages of rows that are made with a secret: `save_model` sets `request.secret`.

    It goes into the answer to the POST, never into a message, a cookie, a session or a URL.
    """

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        changelist.title = str(capfirst(self.opts.verbose_name_plural))
        return changelist

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Without the links that make or edit what a row belongs to: they would leave the form."""
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(getattr(field, "widget", None), RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget
        if isinstance(getattr(field, "widget", None), AdminSplitDateTime):
            for part, name in zip(field.widget.widgets, (gettext("Date:"), gettext("Time:")), strict=True):
                part.attrs["aria-label"] = f"{field.label} – {name}"
        return field

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        secret: Secret = request.secret  # type: ignore[attr-defined]
        context = self.admin_site.each_context(request) | {
            "title": gettext("Copy it now: it is shown only once"),
            "opts": self.opts,
            "object": obj,
            "secret": secret,
        }
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        return TemplateResponse(request, "admin/memory_app/secret.html", context, headers=headers)


def changelist_of(model_admin: Any) -> str:
    """The address of a model's list."""
    return reverse(f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_changelist")
