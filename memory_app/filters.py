"""How memories and types are filtered, declared once for the API and the console."""

from functools import reduce
from operator import or_
from typing import Any

import django_filters
from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from memory_app.contracts import clean_text
from memory_app.exceptions import InvalidInput
from memory_app.merged import MergedRows
from memory_app.models import MemoryType


class ValuesField(forms.Field):
    """One value or a list of values, as texts; nothing means no filter."""

    def to_python(self, value: Any) -> tuple[str, ...]:
        if value in (None, "", []):
            return ()
        values = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in values):
            raise forms.ValidationError(_("Give text, or an array of texts."))
        try:
            return tuple(clean_text(str(item), "", 1_000) for item in values)
        except InvalidInput as error:
            raise forms.ValidationError(error.message) from None


class Values(django_filters.Filter):
    """Equal to a value, or to any of several."""

    field_class = ValuesField

    def filter(self, qs: Any, value: Any) -> Any:
        if not value:
            return qs
        name = str(self.field_name)
        return qs.filter(**{name if isinstance(qs, MergedRows) else f"{name}__in": value})


class FlagField(forms.Field):
    """true or false, also as 1 and 0 and as text; nothing means no filter."""

    def to_python(self, value: Any) -> bool | None:
        if value in (None, ""):
            return None
        spelled = str(value).lower()
        if isinstance(value, list | dict | float) or spelled not in ("true", "false", "1", "0"):
            raise forms.ValidationError(_("Give true or false."))
        return spelled in ("true", "1")


class Flag(django_filters.Filter):
    """A switch that is on, or off."""

    field_class = FlagField


class KeyWord(Values):
    """Every word must occur as a substring."""

    def filter(self, qs: Any, value: Any) -> Any:
        return qs.filter(keyword=" ".join(value)) if value else qs


class Words(Values):
    """Every word must occur in one of the fields of a model."""

    def __init__(self, *fields: str) -> None:
        super().__init__()
        self.fields = fields

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        for word in " ".join(value).split():
            qs = qs.filter(reduce(or_, (Q(**{f"{field}__icontains": word}) for field in self.fields)))
        return qs


class MemoryFilter(django_filters.FilterSet):
    """Filters of memories over all stores: each takes a value or several; keyWord words must all occur."""

    agentName = Values(field_name="agent_names")
    userId = Values(field_name="user_ids")
    type = Values(field_name="types")
    keyWord = KeyWord(field_name="keyword")

    def filter_queryset(self, queryset: Any) -> Any:
        for name, value in self.form.cleaned_data.items():
            queryset = self.filters[name].filter(queryset, value)
        return queryset


def filtered(values: Any, rows: MergedRows | None = None) -> MergedRows:
    """The memories that the request's values leave; raises InvalidInput for a value of the wrong kind."""
    everything: Any = rows if rows is not None else MergedRows()
    found: MergedRows = left_by(MemoryFilter(data=values, queryset=everything))
    return found


def left_by(chosen: django_filters.FilterSet) -> Any:
    """The rows that a bound filter set leaves; raises InvalidInput, in one sentence, for the first bad value."""
    if not chosen.is_valid():
        name, errors = next(iter(chosen.errors.items()))
        raise InvalidInput(f"{name}: {' '.join(errors)}")
    return chosen.qs


class TypeFilter(django_filters.FilterSet):
    """Filters of memory types."""

    key = Values(field_name="key")
    isSystem = Flag(field_name="is_system")
    keyWord = Words("key", "name", "description")

    class Meta:
        model = MemoryType
        fields: list[str] = []
