"""What a type's schema means: the form that it makes of metadata, and the memories that don't fit it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_app.admin.type_form import CHECK
from memory_app.merged import reference_of
from memory_app.metadata_form import MetadataFields, fields_of
from memory_app.misfits import Misfits, misfits
from memory_app.models import MemoryType


@dataclass(frozen=True, slots=True)
class Panel:
    """What the page says of the schema that is in the form, saved or not."""

    schema: Any = None
    problem: str = ""
    fields: MetadataFields | None = None
    misfits: Misfits | None = None

    @property
    def rows(self) -> Sequence[tuple[str, str, str, bool]]:
        """Name, kind, description and need of each field, for browsers without JavaScript."""
        drawn = (self.fields and self.fields.schema) or {}
        return [
            (name, part["type"], part.get("description", ""), name in drawn["required"])
            for name, part in drawn.get("properties", {}).items()
        ]

    @property
    def first(self) -> Sequence[tuple[str, str, str]]:
        """Reference, title and problem of the first memories that don't fit."""
        found = self.misfits.first if self.misfits else ()
        return [(reference_of(memory), memory.name, problem) for memory, problem in found]


def panel_of(form: Any, item: MemoryType | None) -> Panel:
    """What the form's schema means; memories are checked when that was asked for."""
    if "metadata_schema" in form.errors:
        return Panel(problem=" ".join(form.errors["metadata_schema"]))
    stored = item.metadata_schema if item else None
    schema: Any = form.cleaned_data.get("metadata_schema") if form.is_bound else stored
    if schema is None:
        return Panel()
    checked = misfits(item.key, schema) if item and CHECK in form.data else None
    return Panel(schema, "", fields_of(schema, {}), checked)
