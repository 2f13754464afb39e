"""Times in the console are the operator's; those of the API are the installation's."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from memory_app import services
from memory_app.contracts import Scope
from tests.conftest import draft
from tests.test_admin import LIST

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def page(agent, console):
    memory = services.save(draft("tea", Scope("helper", "ann"), created_at=datetime(2026, 2, 28, 23, 30, tzinfo=UTC)))

    def opened(zone: str) -> str:
        console.cookies["netaclaw_zone"] = zone
        return console.get(f"{LIST}helper_3A{memory.memory.id}/change/").content.decode()

    return opened


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Asia/Shanghai", "2026-03-01 07:30:00 CST"),
        ("Asia/Kathmandu", "2026-03-01 05:15:00 +0545"),
        ("", "2026-02-28 23:30:00 UTC"),
        ("../../etc/passwd", "2026-02-28 23:30:00 UTC"),
        ("Nowhere/Atall", "2026-02-28 23:30:00 UTC"),
    ],
)
def test_it_shows_times_in_the_operators_zone(page, zone, shown):
    assert shown in page(zone)


def test_it_leaves_no_zone_behind(page, console):
    page("Asia/Shanghai")
    del console.cookies["netaclaw_zone"]
    assert "2026-02-28 23:30:00 UTC" in page("")


def test_it_says_whose_days_the_filters_have(page, console):
    page("Asia/Shanghai")
    assert "Days of the zone UTC." in console.get(LIST).content.decode()
    console.cookies["netaclaw_zone"] = "UTC"
    assert "Days of the zone" not in console.get(LIST).content.decode()
