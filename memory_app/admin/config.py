"""The memory section of an agent's form, and what the agent keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from memory_app import registry, search
from memory_app.contracts import AgentStatistics
from memory_app.exceptions import StoreRejected, StoreUnavailable
from memory_app.models import MemoryConfig, MemoryType, available_backends
from memory_app.paths import Place


class MemoryConfigForm(forms.ModelForm):
    """The memory section; it is saved with a new agent even when every field keeps its default."""

    class Meta:
        model = MemoryConfig
        fields = ("enabled", "backend", "prefetch_limit", "sqlite_path", "database")

    wanted_place: Place | None = None

    def has_changed(self) -> bool:
        return self.instance.pk is None or super().has_changed()

    def save(self, commit: bool = True) -> MemoryConfig:
        """Keeps the store as it is: for another one the memories move, which is confirmed on a page of its own."""
        stored = MemoryConfig.objects.filter(pk=self.instance.pk).first()
        if stored and stored.place.normal() != self.instance.place.normal():
            self.wanted_place = self.instance.place
            self.instance.place = stored.place
        return super().save(commit)


class MemoryConfigInline(admin.StackedInline):
    """The memory section of an agent's form: switch, backend, memories per turn, and the file in its advanced part."""

    model = MemoryConfig
    form = MemoryConfigForm
    can_delete = False
    min_num = max_num = 1
    fieldsets = (
        (None, {"fields": ("enabled", "backend", "prefetch_limit")}),
        (_("Advanced"), {"classes": ("collapse",), "fields": ("sqlite_path", "database")}),
    )

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offers backend `mysql` only where there is a MySQL main database."""
        if db_field.name == "backend":
            kwargs["choices"] = [pair for pair in db_field.choices if pair[0] in available_backends()]
        return super().formfield_for_choice_field(db_field, request, **kwargs)


@dataclass(frozen=True, slots=True)
class Kept:
    """What an agent keeps: the store's name, its counts or, where the store can't be read, the reason.

    `lost` is a file that is no store: nothing can be read of it, and nothing is deleted from it.
    """

    store: str
    counts: AgentStatistics | None
    problem: str = ""
    lost: bool = False

    @property
    def by_type(self) -> Sequence[tuple[str, str, int]]:
        """The key, name and count of each type that is used, most used first."""
        names = {info.key: info.name for info in MemoryType.available()}
        used = sorted((self.counts.by_type if self.counts else {}).items(), key=lambda pair: (-pair[1], pair[0]))
        return [(key, names.get(key, key), number) for key, number in used]


def kept_by(agent_name: str) -> Kept:
    """What the agent keeps at the moment."""
    config = registry.config_for(agent_name)
    label = config.place.sqlite_path or config.place.database or config.get_backend_display()
    try:
        label = registry.store_at(config.place).label
        return Kept(label, search.stats_of(agent_name))
    except StoreUnavailable as error:
        return Kept(label, None, error.message, isinstance(error, StoreRejected))
