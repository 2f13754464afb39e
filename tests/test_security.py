"""The headers that say what browsers may do with an answer."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
PATHS = [
    "/admin/login/",
    "/admin/",
    "/api/docs/",
    "/api/schema/",
    "/healthz",
    "/no-such-page",
    "/admin/base/open/login",
]


def policy(response) -> dict[str, str]:
    parts = response["Content-Security-Policy"].split("; ")
    return dict(part.split(" ", 1) for part in parts)


@pytest.mark.parametrize("path", PATHS)
def test_it_lets_pages_load_from_their_own_origin_only(client: Client, path):
    allowed = policy(client.get(path))
    assert {allowed[name] for name in ("default-src", "script-src", "style-src", "connect-src")} == {"'self'"}
    assert {allowed[name] for name in ("object-src", "base-uri", "frame-ancestors")} == {"'none'"}
    assert "unsafe" not in " ".join(allowed.values())


@pytest.mark.parametrize("path", PATHS)
def test_it_gives_away_neither_addresses_nor_devices_nor_kinds(client: Client, path):
    response = client.get(path)
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert "camera=()" in response["Permissions-Policy"]


def test_it_draws_the_apis_page_without_inline_code(client: Client):
    text = client.get("/api/docs/").content.decode()
    assert "<style" not in text
    assert text.count("<script") == text.count("<script src=") == 3
