"""How memories and types are filtered, declared once for the API and the console."""

from collections.abc import Mapping
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

import django_filters
from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from memory_app.contracts import Backend, clean_text
from memory_app.days import days_of
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

    def filter(self, qs: Any, value: Any) -> Any:
        return qs if value is None else qs.filter(**{str(self.field_name): value})


class BackendsField(ValuesField):
    """Stores of one backend, or of several."""

    def to_python(self, value: Any) -> tuple[str, ...]:
        values = super().to_python(value)
        if not set(values) <= set(Backend):
            raise forms.ValidationError(_("Give mysql or sqlite."))
        return values


class Backends(Values):
    """Kept in a backend, or in any of several: the stores of others are not asked."""

    field_class = BackendsField


class DaysField(forms.Field):
    """A range of days (memory_app.days) as its first moment and the first one after it; nothing means no filter."""

    def to_python(self, value: Any) -> tuple[datetime | None, datetime | None]:
        if value in (None, ""):
            return None, None
        try:
            return days_of(value if isinstance(value, str) else repr(value)).times()
        except InvalidInput as error:
            raise forms.ValidationError(error.message) from None


class Days(django_filters.Filter):
    """On one of some days."""

    field_class = DaysField

    def filter(self, qs: Any, value: Any) -> Any:
        begin, end = value
        return qs.filter(**{f"{self.field_name}_from": begin, f"{self.field_name}_before": end})


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
    """Filters of memories over all stores: names take a value or several; keyWord words must all occur."""

    agentName = Values(field_name="agent_names")
    userId = Values(field_name="user_ids")
    type = Values(field_name="types")
    backend = Backends(field_name="backends")
    shared = Flag(field_name="shared")
    updated = Days(field_name="updated")
    created = Days(field_name="created")
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


def filtered_leniently(values: Mapping[str, Any]) -> tuple[MergedRows, dict[str, str]]:
    """The memories that the good ones of the values leave, and what is wrong with each of the others."""
    chosen = MemoryFilter(data=values, queryset=MergedRows())  # type: ignore[arg-type]
    problems = {name: " ".join(errors) for name, errors in chosen.errors.items()}
    return filtered({name: value for name, value in values.items() if name not in problems}), problems


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
