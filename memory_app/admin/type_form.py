"""The form of a memory type: icons to choose from, a colour, and a JSON Schema as checked text."""

from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory_app.admin.icons import ICONS, icon
from memory_app.admin.metadata import MetadataField
from memory_app.admin.type_tags import COLOR
from memory_app.models import MemoryType

OTHER = "other"
PREVIEW, CHECK = "_preview", "_check"


class IconInput(forms.TextInput):
    """A choice of our icons, and text for another name; without a choice in the form, the text counts."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        chosen = value or ""
        context = {
            "name": name,
            "icons": [(item, icon(item)) for item in ICONS],
            "chosen": chosen,
            "is_other": bool(chosen) and chosen not in ICONS,
            "text": super().render(name, chosen, attrs, renderer),
        }
        return render_to_string("admin/memory_app/memorytype/icon.html", context)

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        choice = data.get(f"{name}-choice", OTHER)
        return super().value_from_datadict(data, files, name) if choice == OTHER else choice


class ColorInput(forms.TextInput):
    """A colour as text, with the browser's own picker beside it where there is JavaScript."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        text = super().render(name, value, attrs, renderer)
        return render_to_string("admin/memory_app/memorytype/color.html", {"text": text})


class SchemaField(MetadataField):
    """A JSON Schema as text; empty means none."""

    widget: Any = forms.Textarea(attrs={"rows": 16, "class": "metadata", "spellcheck": "false", "dir": "ltr"})

    def to_python(self, value: Any) -> Any:
        return super().to_python(value) or None


class MemoryTypeForm(forms.ModelForm):
    """A memory type."""

    icon = forms.CharField(label=capfirst(_("icon")), required=False, max_length=50, widget=IconInput)
    color = forms.CharField(
        label=capfirst(_("colour")), required=False, max_length=20, widget=ColorInput, help_text=_("Such as #0891b2.")
    )
    metadata_schema = SchemaField(
        label=capfirst(_("metadata schema")),
        required=False,
        help_text=_(
            "A JSON Schema that metadata of this type must fit, for example: "
            '{"type": "object", "properties": {"os": {"type": "string"}, "cores": {"type": "integer"}}, '
            '"required": ["os"]}. Empty: metadata is free.'
        ),
    )

    class Meta:
        model = MemoryType
        fields = ("key", "name", "description", "icon", "color", "metadata_schema")
        help_texts = {"key": _("What agents write; it never changes once the type is made.")}

    def is_valid(self) -> bool:
        """False for a form that was sent to be looked at: nothing of it is saved."""
        return super().is_valid() and not (PREVIEW in self.data or CHECK in self.data)

    def clean_color(self) -> str:
        """A colour that another door stored in its own way is kept."""
        color = str(self.cleaned_data["color"]).strip()
        if color and "color" in self.changed_data and not COLOR.fullmatch(color):
            raise forms.ValidationError(gettext("Write a colour such as #0891b2."))
        return color
