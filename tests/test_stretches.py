from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from memory_app.stretches import Stretch, last_days, start_of, stretches


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_it_is_one_stretch_where_the_clock_is_never_changed(settings):
    settings.TIME_ZONE = "Asia/Kathmandu"
    expected = Stretch(at("2026-03-01 18:15"), at("2026-03-31 18:15"), 20_700)
    assert stretches(date(2026, 3, 2), date(2026, 3, 31)) == [expected]


def test_it_is_cut_at_the_second_of_a_change(settings):
    settings.TIME_ZONE = "America/New_York"
    assert stretches(date(2026, 3, 7), date(2026, 3, 9)) == [
        Stretch(at("2026-03-07 05:00"), at("2026-03-08 07:00"), -18_000),
        Stretch(at("2026-03-08 07:00"), at("2026-03-10 04:00"), -14_400),
    ]


def test_it_begins_a_day_that_has_no_midnight_with_its_first_instant(settings):
    settings.TIME_ZONE = "Africa/Cairo"  # 24 April 2026: from 00:00 to 01:00
    assert start_of(date(2026, 4, 24)) == at("2026-04-23 22:00")


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe"])
def test_it_leaves_no_gap_and_knows_each_offset(settings, zone):
    settings.TIME_ZONE = zone
    found = stretches(date(2026, 1, 1), date(2026, 12, 31))
    assert all(first.end == second.start for first, second in pairwise(found))
    for stretch in found:
        local = (stretch.end - timedelta(microseconds=1) + timedelta(seconds=stretch.offset)).replace(tzinfo=None)
        assert start_of(local.date()) < stretch.end <= start_of(local.date() + timedelta(days=1))


def test_it_lists_the_last_days_up_to_today():
    days = last_days(7)
    assert (len(days), days[-1] - days[0]) == (7, timedelta(days=6))
