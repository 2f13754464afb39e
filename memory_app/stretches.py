"""Days of the installation's time zone as stretches of UTC: databases know no zones (MySQL may lack their tables)."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from django.utils import timezone

SECOND = timedelta(seconds=1)


class Stretch(NamedTuple):
    """From `start` up to, but not including, `end` (UTC) local time is `offset` seconds ahead of UTC."""

    start: datetime
    end: datetime
    offset: int


def today() -> date:
    """The day it is in the installation's zone."""
    return timezone.localdate(timezone=timezone.get_default_timezone())


def last_days(number: int) -> tuple[date, ...]:
    """The last days, the oldest first, today included."""
    last = today()
    return tuple(last - timedelta(days=ago) for ago in reversed(range(number)))


def start_of(day: date) -> datetime:
    """The first instant of a day (UTC), also where the clock skips or repeats midnight."""
    return datetime.combine(day, time.min, timezone.get_default_timezone()).astimezone(UTC)


def stretches(first: date, last: date) -> Sequence[Stretch]:
    """The time from the first day to the end of the last one, cut where the zone's offset changes."""
    found: list[Stretch] = []
    for piece in _pieces(first, last):
        if found and found[-1].offset == piece.offset:
            piece = Stretch(found.pop().start, piece.end, piece.offset)
        found.append(piece)
    return found


def _pieces(first: date, last: date) -> Iterator[Stretch]:
    """Each day by itself, or its two parts where the clock is changed on that day."""
    day = first
    while day <= last:
        start, end = start_of(day), start_of(day + timedelta(days=1))
        before, after = _offset(start), _offset(end - SECOND)
        if before == after:
            yield Stretch(start, end, before)
        else:
            change = _change(start, end)
            yield Stretch(start, change, before)
            yield Stretch(change, end, after)
        day += timedelta(days=1)


def _change(start: datetime, end: datetime) -> datetime:
    """The first second with the later offset, found by halving."""
    before = _offset(start)
    low, high = 0, int((end - start).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(start + middle * SECOND) == before else (low, middle)
    return start + high * SECOND


def _offset(instant: datetime) -> int:
    delta = instant.astimezone(timezone.get_default_timezone()).utcoffset()
    return int(delta.total_seconds()) if delta else 0
