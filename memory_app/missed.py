"""Prefetches that failed, counted by day: for each of them a byte is appended to the day's file.

That needs neither a lock nor the database, which may be what failed; the cache forgets, and miscounts what several
processes add at once.
"""

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from secrets import token_hex

from django.conf import settings
from django.utils import timezone

FOLDER, LAST = "prefetch-failures", "last.json"
KEPT = timedelta(days=30)
WEEK = 7
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LastMissed:
    """The latest failure: when, for which agent, and its sentence."""

    at: datetime
    agent_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Missed:
    """How many turns went on without their memories today and in seven days, today among them, and the last one."""

    today: int
    week: int
    last: LastMissed | None


def note(agent_name: str, reason: str) -> None:
    """Counts one more; a disk that fails too is logged, and no further failure."""
    folder = _folder()
    day = folder / timezone.localdate().isoformat()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not day.exists():
            _forget_old(folder)
        with day.open("ab") as file:
            file.write(b".")
        draft = folder / f".{token_hex(8)}"
        last = {"at": timezone.now().isoformat(), "agent_name": agent_name, "reason": reason}
        draft.write_text(json.dumps(last, ensure_ascii=False), encoding="utf-8")
        draft.replace(folder / LAST)
    except OSError:
        logger.exception("A prefetch that failed could not be counted")


def missed() -> Missed:
    """The counts as they are now."""
    today = timezone.localdate()
    counts = [_count(today - timedelta(days=number)) for number in range(WEEK)]
    return Missed(counts[0], sum(counts), _last())


def _folder() -> Path:
    return Path(settings.DATA_DIR) / FOLDER


def _count(day: date) -> int:
    try:
        return (_folder() / day.isoformat()).stat().st_size
    except OSError:
        return 0


def _last() -> LastMissed | None:
    try:
        kept = json.loads((_folder() / LAST).read_text(encoding="utf-8"))
        return LastMissed(datetime.fromisoformat(kept["at"]), kept["agent_name"], kept["reason"])
    except (OSError, ValueError):
        return None


def _forget_old(folder: Path) -> None:
    oldest = (timezone.localdate() - KEPT).isoformat()
    for path in folder.glob("????-??-??"):
        if path.name < oldest:
            with suppress(OSError):
                path.unlink()
