from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory_app import services


class Command(BaseCommand):
    help = _("Adds the built-in memory types that are missing; can be run again at any time.")

    def handle(self, *args: Any, **options: Any) -> None:
        added = services.seed_types()
        text = ngettext("%(count)d memory type added.", "%(count)d memory types added.", added)
        self.stdout.write(text % {"count": added})
