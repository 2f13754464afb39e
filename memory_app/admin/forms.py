"""The form of a memory: it carries what was read and its version, so that no edit is lost."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app import services
from memory_app.admin.base import agent_choices
from memory_app.admin.metadata import MetadataEditor, MetadataField, with_fields
from memory_app.contracts import MAX_CONTENT, MAX_DESCRIPTION, MAX_NAME, MAX_USER_ID
from memory_app.exceptions import NetaclawError
from memory_app.models import Memory, MemoryType
from memory_app.tools import title_of

TEXT = ("type", "name", "content", "description", "metadata")
CHOICES = ("theirs", "mine")


class LimitedField(forms.CharField):
    """Text whose length the page counts; a browser's own limit would cut what is pasted without a word."""

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {"data-limit": str(self.max_length), "dir": "auto"}

    def to_python(self, value: Any) -> str | None:
        """Browsers send line breaks as CR LF."""
        return super().to_python(value.replace("\r\n", "\n").replace("\r", "\n") if isinstance(value, str) else value)


class MemoryForm(forms.ModelForm):
    """Hidden copies of what was read tell, when it is saved, which fields the operator changed."""

    agent_name = forms.ChoiceField(label=_("agent"))
    type = forms.ChoiceField(label=_("type"), show_hidden_initial=True)
    user_id = LimitedField(
        label=_("user"),
        required=False,
        max_length=MAX_USER_ID,
        help_text=_("User: empty = shared with all users of the agent."),
    )
    name = LimitedField(
        label=_("title"),
        required=False,
        max_length=MAX_NAME,
        show_hidden_initial=True,
        help_text=_("Empty: the text's beginning."),
    )
    content = LimitedField(
        label=_("content"),
        max_length=MAX_CONTENT,
        show_hidden_initial=True,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8}),
    )
    description = LimitedField(
        label=_("description"),
        required=False,
        max_length=MAX_DESCRIPTION,
        show_hidden_initial=True,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    metadata = MetadataField(label=_("metadata"), required=False, show_hidden_initial=True)
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Memory
        fields = ("agent_name", "user_id", *TEXT)

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        self.wrong_metadata = ""
        super().__init__(data if data is None else self._resolved(data), *args, **kwargs)
        self._offer_types()
        if self.instance.pk:
            for name in ("agent_name", "user_id"):
                self.fields.pop(name, None)
            self.initial["version"] = self.instance.updated_at.isoformat() if self.instance.updated_at else ""
            if any(end in self.instance.name for end in "\r\n") and "name" in self.fields:
                self.fields["name"].widget = forms.Textarea(attrs=self.fields["name"].widget.attrs | {"rows": 2})
        elif "agent_name" in self.fields:
            self._offer_agents()
        if "metadata" in self.fields:
            self._offer_fields()

    def _resolved(self, data: Any) -> Any:
        """What was posted, with the choices of a conflict made and the form of metadata turned into its text."""
        resolved = data.copy()
        for name in TEXT:
            if data.get(f"choice-{name}") in CHOICES:
                resolved[name] = data.get(f"{data[f'choice-{name}']}-{name}", "")
        if (found := with_fields(data)) is not None:
            text, self.wrong_metadata = found
            resolved["metadata"] = text or data.get("metadata", "")
        return resolved

    def _offer_types(self) -> None:
        if "type" in self.fields:
            types = MemoryType.available()
            choices = [(info.key, f"{info.name} ({info.key})") for info in types]
            if self.instance.type and self.instance.type not in dict(choices):
                choices.append((self.instance.type, self.instance.type))
            self._choose("type", choices)
            with_schema = [info.key for info in types if info.metadata_schema is not None]
            self.fields["type"].widget.attrs["data-with-schema"] = json.dumps(with_schema)

    def _offer_agents(self) -> None:
        """An agent that is known is fixed; it is changed by going back."""
        choices = agent_choices()
        self._choose("agent_name", choices)
        chosen = self.now("agent_name")
        if chosen in dict(choices):
            self.fields["agent_name"].widget = forms.HiddenInput()
            self.instance.agent_name = chosen

    def _offer_fields(self) -> None:
        editor = self.fields["metadata"].widget
        if isinstance(editor, MetadataEditor):
            first = next(iter(self.fields["type"].choices), ("",))[0] if "type" in self.fields else ""  # type: ignore[attr-defined]
            text = self.fields["metadata"].prepare_value(self.now("metadata"))
            editor.show_fields(self.now("type") or first, text or "")

    def now(self, name: str) -> Any:
        """What a field of the page holds, before anything is checked."""
        return self.data.get(name, "") if self.is_bound else self.get_initial_for_field(self.fields[name], name)

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def changed_fields(self) -> list[str]:
        """The fields that the operator changed since the page was opened."""
        return [name for name in self.changed_data if name in TEXT]

    def read_version(self) -> datetime:
        """The version that the page was opened on; raises ValidationError without one."""
        version = version_of(self.cleaned_data)
        if version is None:
            raise forms.ValidationError(gettext("The page lost its version; open the memory again."))
        return version

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance.pk:
            self.read_version()
        if not data.get("name") and data.get("content"):
            data["name"] = title_of(data["content"])
        if self.wrong_metadata:
            self.add_error("metadata", self.wrong_metadata)
        elif "metadata" in data and "type" in data:
            self._check_metadata(data)
        return data

    def _check_metadata(self, data: Mapping[str, Any]) -> None:
        """An edit of another field is not held to a schema that came later."""
        if self.instance.pk and not {"type", "metadata"} & set(self.changed_fields()):
            return
        try:
            services.check_metadata(MemoryType.available(), data["type"], data["metadata"])
        except NetaclawError as error:
            self.add_error("metadata", forms.ValidationError(error.message, code="schema"))

    def keep_only_unreadable(self) -> None:
        """For a page that is only shown anew: what is unfinished is no error, text that is no JSON is."""
        for name, errors in list(self.errors.as_data().items()):
            if name != "metadata" or any(error.code == "schema" for error in errors):
                del self.errors[name]

    def _post_clean(self) -> None:
        """The services check and write; the row is only for the page."""


def version_of(data: Mapping[str, Any]) -> datetime | None:
    """The version that a form carries, or None."""
    try:
        version = datetime.fromisoformat(data.get("version") or "")
    except ValueError:
        return None
    return version if version.tzinfo else None
