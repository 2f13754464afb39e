"""The zone in which the console shows times: the operator's, which the browser tells by a cookie (zone.js).

Days, of filters and of figures, are those of the installation's zone for everybody: two operators who talk of "today"
see the same numbers.
"""

from datetime import tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest
from django.utils import timezone

COOKIE = "netaclaw_zone"


def zone_of(request: HttpRequest) -> tzinfo:
    """The operator's zone; the installation's where the browser tells none that is known."""
    name = request.COOKIES.get(COOKIE, "")
    return ZoneInfo(name) if name in _known() else timezone.get_default_timezone()


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(available_timezones())
