from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from memory_app import history


class Command(BaseCommand):
    help = _("Deletes the oldest changes: what is over NETACLAW_HISTORY_DAYS and NETACLAW_HISTORY_MEGABYTES.")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(_("%(count)d changes deleted.") % {"count": history.prune()})
