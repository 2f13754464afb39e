"""The form of a memory: metadata as checked JSON text, and the version that was read, so that no edit is lost."""

import json
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app.admin.base import agent_choices
from memory_app.contracts import clean_metadata
from memory_app.exceptions import InvalidInput
from memory_app.models import Memory, MemoryType

TEXT = ("type", "name", "content", "description", "metadata")


class MetadataField(forms.CharField):
    """A JSON object as text: keys keep their order, numbers stay what they are; empty means none."""

    widget = forms.Textarea(attrs={"rows": 6, "class": "metadata", "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else shown_metadata(value)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        if not text.strip():
            return {}
        try:
            return clean_metadata(json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse))
        except json.JSONDecodeError as error:
            message = gettext("No JSON: look at line %(line)d, column %(column)d (%(problem)s).")
            values = {"line": error.lineno, "column": error.colno, "problem": error.msg}
            raise forms.ValidationError(message % values) from None
        except RecursionError:
            raise forms.ValidationError(gettext("metadata is nested too deeply; flatten it.")) from None
        except InvalidInput as error:
            raise forms.ValidationError(error.message) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        """By what the text means, not by its blanks; an order of keys is a meaning."""
        try:
            return self._meaning(initial) != self._meaning(data)
        except forms.ValidationError:
            return True

    def _meaning(self, value: Any) -> str:
        return json.dumps(self.to_python(value) if isinstance(value, str) else value or {}, ensure_ascii=False)


def shown_metadata(value: Any) -> str:
    """Metadata as people edit it; "" for none."""
    return json.dumps(value, ensure_ascii=False, indent=2) if value else ""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidInput(gettext("A key stands twice in one object; keep one of them."))
    return found


def _refuse(name: str) -> None:
    raise InvalidInput(gettext("metadata must not contain NaN or Infinity; use null or text."))


class MemoryForm(forms.ModelForm):
    """Hidden copies of what was read tell, when it is saved, which fields the operator changed."""

    agent_name = forms.ChoiceField(label=_("agent"))
    user_id = forms.CharField(
        label=_("user"), required=False, max_length=100, help_text=_("Empty: shared with all users of the agent.")
    )
    type = forms.ChoiceField(label=_("type"), show_hidden_initial=True)
    name = forms.CharField(
        label=_("title"),
        required=False,
        max_length=255,
        show_hidden_initial=True,
        help_text=_("Empty: the text's beginning."),
    )
    content = forms.CharField(
        label=_("content"), show_hidden_initial=True, strip=False, widget=forms.Textarea(attrs={"rows": 10})
    )
    description = forms.CharField(label=_("description"), required=False, max_length=500, show_hidden_initial=True)
    metadata = MetadataField(label=_("metadata"), required=False, show_hidden_initial=True)
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Memory
        fields = ("agent_name", "user_id", *TEXT)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._offer_types()
        if self.instance.pk:
            for name in ("agent_name", "user_id"):
                self.fields.pop(name, None)
            self.initial["version"] = self.instance.updated_at.isoformat()
        elif "agent_name" in self.fields:
            self._choose("agent_name", agent_choices())

    def _offer_types(self) -> None:
        if "type" in self.fields:
            choices = [(info.key, f"{info.name} ({info.key})") for info in MemoryType.available()]
            if self.instance.type and self.instance.type not in dict(choices):
                choices.append((self.instance.type, self.instance.type))
            self._choose("type", choices)

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean_content(self) -> str:
        """Browsers send line breaks as CR LF."""
        return str(self.cleaned_data["content"]).replace("\r\n", "\n")

    def changed_fields(self) -> list[str]:
        """The fields that the operator changed since the page was opened."""
        return [name for name in self.changed_data if name in TEXT and not self._same_lines(name)]

    def _same_lines(self, name: str) -> bool:
        field = self[name]
        shown = field.field.hidden_widget().value_from_datadict(self.data, self.files, field.html_initial_name)
        sent = field.data
        if name == "metadata" or not isinstance(shown, str) or not isinstance(sent, str):
            return False
        return shown.replace("\r\n", "\n") == sent.replace("\r\n", "\n")

    def read_version(self) -> datetime:
        """The version that the page was opened on; raises ValidationError without one."""
        try:
            version = datetime.fromisoformat(self.cleaned_data.get("version") or "")
        except ValueError:
            version = None
        if version is None or version.tzinfo is None:
            raise forms.ValidationError(gettext("The page lost its version; open the memory again."))
        return version

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance.pk:
            self.read_version()
        return data

    def _post_clean(self) -> None:
        """The services check and write; the row is only for the page."""
