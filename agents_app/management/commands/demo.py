from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from agents_app import demo


class Command(BaseCommand):
    help = _("Adds the demo agent to an empty installation, or removes it.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove", action="store_true", help=_("remove the demo agent and its memories"))

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(self._remove() if options["remove"] else self._add())

    def _add(self) -> str:
        number = demo.add()
        if not number:
            return _("There are agents already; the demo agent is only for an empty installation.")
        text = _(
            'Agent "%(agent)s" remembers %(count)d things for user "%(user)s"; manage.py demo --remove removes it.'
        )
        return text % {"agent": demo.NAME, "count": number, "user": demo.USER}

    def _remove(self) -> str:
        number = demo.remove()
        if number < 0:
            return _("There is no demo agent.")
        return _("The demo agent and its %(count)d memories are gone.") % {"count": number}
