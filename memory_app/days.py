"""Ranges of days, as the API and the console's addresses write them: `7d`, `2026-11-03`, `2026-11-01..2026-11-30`."""

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

from django.utils.translation import gettext as _

from memory_app.exceptions import InvalidInput
from memory_app.stretches import start_of, today

PRESETS = {"today": 1, "7d": 7, "30d": 30, "90d": 90}
YEARS = range(1900, 3000)  # what every database and time zone can carry


class Days(NamedTuple):
    """From the first day to the last, both included; None is an open end."""

    first: date | None
    last: date | None

    def times(self) -> tuple[datetime | None, datetime | None]:
        """The moment of its beginning, and the first moment after it, in the installation's zone."""
        return _beginning(self.first), _beginning(self.last + timedelta(days=1) if self.last else None)


def days_of(text: str) -> Days:
    """The days that a range means today; raises InvalidInput, with the ways to write one, for anything else."""
    if text in PRESETS:
        return Days(today() - timedelta(days=PRESETS[text] - 1), today())
    first, between, last = text.partition("..")
    days = Days(_day(first), _day(last if between else first))
    if days == (None, None):
        raise InvalidInput(_unreadable())
    if days.first and days.last and days.first > days.last:
        raise InvalidInput(_("The range ends before it begins; write the earlier day first."))
    return days


def _day(text: str) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) else None
    except ValueError:
        day = None
    if day is None or day.year not in YEARS:
        raise InvalidInput(_unreadable())
    return day


def _unreadable() -> str:
    return _("Write today, 7d, 30d, 90d, a day such as 2026-11-03, or a range such as 2026-11-01..2026-11-30.")


def _beginning(day: date | None) -> datetime | None:
    return start_of(day) if day else None
