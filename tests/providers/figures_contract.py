"""What every store must count alike: by the days of the installation's zone, to the microsecond."""

from datetime import UTC, date, datetime

import pytest
from django.utils import timezone

from memory_app.contracts import Scope
from memory_app.providers.figures import Asked, figures, health, size_of
from memory_app.providers.mysql import MysqlProvider
from memory_app.providers.rows import RowProvider
from memory_app.stretches import stretches
from tests.conftest import draft

OTHER = Scope("other", "bob")


def asked(first: date, last: date | None = None, **more) -> Asked:
    days = stretches(first, last or first)
    return Asked(days, days, **more)


@pytest.fixture
def zone(settings):
    def choose(name: str) -> None:
        settings.TIME_ZONE = name

    return choose


class FiguresContract:
    """A subclass gives the fixture `provider`: an empty store."""

    @pytest.mark.parametrize(
        ("zone_name", "last_before", "first_of"),
        [
            ("UTC", "2026-03-07 23:59:59.999999", "2026-03-08 00:00"),
            ("Asia/Shanghai", "2026-03-07 15:59:59.999999", "2026-03-07 16:00"),
            ("Asia/Kathmandu", "2026-03-07 18:14:59.999999", "2026-03-07 18:15"),
            ("America/New_York", "2026-03-08 04:59:59.999999", "2026-03-08 05:00"),
        ],
    )
    def test_it_counts_a_row_on_its_local_day(self, provider: RowProvider, zone, zone_name, last_before, first_of):
        zone(zone_name)
        for number, text in enumerate((last_before, first_of)):
            provider.save(draft(f"{number}", created_at=datetime.fromisoformat(text).replace(tzinfo=UTC)))
        found = figures(provider, asked(date(2026, 3, 6), date(2026, 3, 9)), 5).by_day
        assert found == {("helper", date(2026, 3, 7)): 1, ("helper", date(2026, 3, 8)): 1}

    @pytest.mark.parametrize(
        ("day", "after_change"),
        [(date(2026, 3, 8), ("2026-03-09 03:59:59.9", "2026-03-09 04:00")),
         (date(2026, 11, 1), ("2026-11-02 04:59:59.9", "2026-11-02 05:00"))],
    )  # fmt: skip
    def test_it_ends_the_day_of_a_change_of_clocks_at_midnight(self, provider, zone, day, after_change):
        zone("America/New_York")
        for number, text in enumerate(after_change):
            provider.save(draft(f"{number}", created_at=datetime.fromisoformat(text).replace(tzinfo=UTC)))
        found = figures(provider, asked(day, date.fromordinal(day.toordinal() + 1)), 5).by_day
        assert found == {("helper", day): 1, ("helper", date.fromordinal(day.toordinal() + 1)): 1}

    def test_it_counts_by_agent_type_and_user(self, provider):
        for text, scope, kind in (("a", None, "user"), ("b", None, "project"), ("c", OTHER, "user")):
            provider.save(draft(text, scope, type=kind))
        provider.save(draft("d", Scope("other", "")))
        found = figures(provider, asked(date(2026, 3, 8)), 5)
        by_type = {("helper", "user"): 1, ("helper", "project"): 1, ("other", "user"): 2}
        assert (found.by_type, found.users) == (by_type, {"ann", "bob"})
        assert found.owners == [("helper", "ann", 2), ("other", "bob", 1)]

    def test_it_tells_what_was_updated_and_the_latest_write(self, provider):
        day = timezone.localdate()
        saved = provider.save(draft("new")).memory
        old = datetime(2021, 1, 1, tzinfo=UTC)
        provider.save(draft("old", OTHER, created_at=old))
        found = figures(provider, asked(day), 5)
        assert found.updated == {"helper": 1}
        assert found.latest == {"helper": saved.updated_at, "other": old}

    def test_it_leaves_out_agents_that_are_not_to_be_seen(self, provider):
        provider.save(draft("mine"))
        provider.save(draft("theirs", OTHER))
        found = figures(provider, asked(timezone.localdate(), without_agents=["other"]), 5)
        names = {name for name, _rest in (*found.by_type, *found.by_day)} | set(found.updated) | set(found.latest)
        assert (names, found.users) == ({"helper"}, {"ann"})

    def test_it_tells_how_the_store_does(self, provider):
        provider.save(draft("tea"))
        found = health(provider, 5)
        assert (found.rows, found.full_text) == (1, True)
        assert found.schema == ("complete" if isinstance(provider, MysqlProvider) else "version 1")
        assert found.size == size_of(provider) > 0
