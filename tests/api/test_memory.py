import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone
from rest_framework.test import APIClient

from agents_app.services import create_agent
from memory_app import search, services
from memory_app.contracts import PageQuery, Scope
from memory_app.models import default_backend
from memory_app.providers.sqlite import SqliteProvider
from tests.conftest import draft

pytestmark = pytest.mark.django_db
PAGE, ADD, LOGIN = "/admin/netaclaw/memory/page", "/admin/netaclaw/memory/add", "/admin/base/open/login"


def sign_in(username: str, password: str = "pass-word-1") -> APIClient:
    client = APIClient()
    answer = client.post(LOGIN, {"username": username, "password": password}, format="json").json()
    client.credentials(HTTP_AUTHORIZATION=answer["data"]["token"])
    return client


@pytest.fixture
def api(agent, django_user_model) -> APIClient:
    django_user_model.objects.create_superuser("root", password="pass-word-1")
    return sign_in("root")


def post(client: APIClient, path: str, body: object = None, **headers):
    return client.post(path, None if body is None else json.dumps(body), content_type="application/json", **headers)


def data(response):
    body = response.json()
    assert (response.status_code, body["code"], body["message"]) == (200, 1000, "success"), body
    return body["data"]


def failure(response) -> tuple[int, str]:
    body = response.json()
    assert response.status_code == 200
    assert set(body) <= {"code", "message", "data"}
    assert body["message"]
    return body["code"], body["message"]


# who may


@pytest.mark.parametrize("token", [None, "", "nonsense", "Bearer nonsense", "a.b.c"])
def test_it_answers_401_without_a_good_token(agent, token):
    client = APIClient()
    response = client.post(PAGE, {}, format="json", **({} if token is None else {"HTTP_AUTHORIZATION": token}))
    assert (response.status_code, response.json()["code"]) == (401, 1001)


def test_it_takes_the_bare_token_and_the_bearer_form(api):
    token = api._credentials["HTTP_AUTHORIZATION"]
    assert data(post(APIClient(), PAGE, {}, HTTP_AUTHORIZATION=f"Bearer {token}"))["list"] == []
    assert data(post(api, PAGE))["list"] == []


def test_it_answers_403_without_the_right(agent, django_user_model):
    reader = django_user_model.objects.create_user("reader", password="pass-word-1")
    reader.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client = sign_in("reader")
    assert data(post(client, PAGE, {}))["list"] == []
    response = post(client, ADD, {"agentName": "helper", "type": "user", "content": "x"})
    assert (response.status_code, response.json()["code"]) == (403, 1001)


def test_it_ends_tokens_with_the_password_and_the_account(api, django_user_model):
    user = django_user_model.objects.get(username="root")
    user.set_password("another-1")
    user.save()
    assert post(api, PAGE, {}).status_code == 401
    client = sign_in("root", "another-1")
    django_user_model.objects.update(is_active=False)
    assert post(client, PAGE, {}).status_code == 401


def test_it_tells_the_two_kinds_of_token_apart(api):
    answer = data(post(APIClient(), LOGIN, {"username": "root", "password": "pass-word-1"}))
    assert (answer["expire"], answer["refreshExpire"]) == (7200, 1296000)
    path = "/admin/base/open/refreshToken?refreshToken="
    assert APIClient().get(path + answer["token"]).status_code == 401
    assert post(APIClient(), PAGE, {}, HTTP_AUTHORIZATION=answer["refreshToken"]).status_code == 401


@pytest.mark.parametrize(
    "body", [{}, {"username": "root"}, {"username": "root", "password": "no"}, {"username": 1, "password": []}, [], "x"]
)
def test_it_refuses_a_bad_sign_in(api, body):
    assert failure(post(APIClient(), LOGIN, body))[0] in (1001, 1002)


def test_it_throttles_sign_in(api):
    for _ in range(9):
        post(APIClient(), LOGIN, {"username": "root", "password": "no"})
    assert "wait" in failure(post(APIClient(), LOGIN, {"username": "root", "password": "pass-word-1"}))[1]


# page


def test_it_pages_with_the_backend_of_each_row(api):
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    services.save(draft("first", metadata={"k": "中"}))
    services.save(draft("second", Scope("own", "")))
    page = data(post(api, PAGE, {"page": 1, "size": 20}))
    assert page["pagination"] == {"page": 1, "size": 20, "total": 2}
    second, first = page["list"]
    assert (first["agentName"], first["userId"], first["_backend"]) == ("helper", "ann", default_backend())
    assert second["_backend"] == "sqlite"
    assert (first["metadata"], second["userId"], second["metadata"]) == ({"k": "中"}, "", {})
    assert len(first["updatedAt"]) == len("2026-01-01 00:00:00.000000")


def test_it_filters_by_value_and_by_array(api):
    for user, type in (("ann", "user"), ("bob", "project"), ("", "feedback")):
        services.save(draft("花生过敏", Scope("helper", user), type=type))
    for filters, number in (
        ({"agentName": "helper"}, 3),
        ({"agentName": "ghost"}, 0),
        ({"agentName": ["helper", "ghost"], "type": ["user", "project"]}, 2),
        ({"type": "user", "keyWord": "花生"}, 1),
        ({"userId": "bob"}, 1),
        ({"keyWord": "花"}, 3),
        ({"keyWord": "花 猫"}, 0),
        ({"agentName": None, "type": "", "userId": "", "keyWord": None}, 3),
        ({"shared": True}, 1),
        ({"shared": "0"}, 2),
        ({"shared": 1, "userId": "bob"}, 0),
        ({"backend": default_backend()}, 3),
        ({"backend": ["mysql", "sqlite"], "shared": None, "updated": "", "created": None}, 3),
    ):
        assert data(post(api, PAGE, filters))["pagination"]["total"] == number


def save_at(text: str, time: datetime) -> None:
    services.save(draft(text, created_at=time))


@pytest.mark.parametrize(
    ("days", "found"),
    [
        ("2026-03-01", ["first minute", "last minute"]),
        ("2026-02-28..2026-03-01", ["the day before", "first minute", "last minute"]),
        ("2026-03-02..", ["the day after"]),
        ("..2026-02-28", ["the day before"]),
        ("today", []),
    ],
)
def test_it_filters_by_days_of_the_installations_zone(api, settings, days, found):
    settings.TIME_ZONE = "Asia/Shanghai"
    first = datetime(2026, 3, 1, tzinfo=UTC) - timedelta(hours=8)
    minute, day = timedelta(minutes=1), timedelta(days=1)
    save_at("the day before", first - minute)
    save_at("first minute", first)
    save_at("last minute", first + day - minute)
    save_at("the day after", first + day)
    for field in ("updated", "created"):
        page = data(post(api, PAGE, {field: days, "order": "createdAt", "sort": "asc"}))
        assert [row["content"] for row in page["list"]] == found


def test_it_finds_what_was_written_lately(api):
    for days in (0, 6, 29):
        save_at(f"{days} days ago", timezone.now() - timedelta(days=days))
    for days, number in {"today": 1, "7d": 2, "30d": 3, "90d": 3}.items():
        assert data(post(api, PAGE, {"updated": days}))["pagination"]["total"] == number


@pytest.mark.parametrize(
    ("filters", "sentence"),
    [
        ({"updated": "yesterday"}, "updated: Write today, 7d"),
        ({"created": "2026-02-30"}, "created: Write today, 7d"),
        ({"created": "20260203"}, "created: Write today, 7d"),
        ({"created": "9999-12-31"}, "created: Write today, 7d"),
        ({"created": ".."}, "created: Write today, 7d"),
        ({"created": ["today"]}, "created: Write today, 7d"),
        ({"updated": "2026-03-02..2026-03-01"}, "updated: The range ends before it begins"),
        ({"backend": "oracle"}, "backend: Give mysql or sqlite."),
        ({"shared": "maybe"}, "shared: Give true or false."),
    ],
)
def test_it_says_what_is_wrong_with_a_filter(api, filters, sentence):
    code, message = failure(post(api, PAGE, filters))
    assert code == 1002
    assert message.startswith(sentence)


def test_it_does_not_ask_stores_of_other_backends(file_agent, monkeypatch):
    monkeypatch.setattr(SqliteProvider, "reading", None)
    page = search.page(PageQuery(backends=("mysql",)))
    assert (page.total, page.unavailable) == (0, ())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"order": "name", "sort": "asc"}, ["a", "b", "c"]),
        ({"order": "name", "sort": "DESC"}, ["c", "b", "a"]),
        ({"prop": "name", "order": "asc"}, ["a", "b", "c"]),
        ({"order": "createTime", "sort": "asc"}, ["b", "a", "c"]),
        ({"order": None, "sort": None}, ["c", "a", "b"]),
        ({"order": "metadata", "sort": "asc"}, ["c", "a", "b"]),
        ({"order": "id;--", "sort": "asc"}, ["c", "a", "b"]),
        ({"order": "user__password"}, ["c", "a", "b"]),
        ({"order": "(select 1)", "sort": ["asc"]}, ["c", "a", "b"]),
        ({"order": ["name"], "sort": {}}, ["c", "a", "b"]),
    ],
)
def test_it_sorts_by_allowed_fields_only(api, body, expected):
    for name in ("b", "a", "c"):
        services.save(draft(name))
    assert [row["name"] for row in data(post(api, PAGE, body))["list"]] == expected


PAGES = {
    0: [(3, 10), (10**9, 10), (10**30, 10)],
    1: [(2, 10), ("2", "10"), (1, -5)],
    10: [(0, 10), (-1, 10), (1.5, 10)],
    11: [("abc", "x"), (1, 0), (1, 100_000), (True, None), ([], {})],
}


@pytest.mark.parametrize(
    ("page", "size", "shown"),
    [(page, size, shown) for shown, pairs in PAGES.items() for page, size in pairs],
)
def test_it_reads_any_page_and_size(api, page, size, shown):
    services.save_many([draft(str(number)) for number in range(11)])
    answer = data(post(api, PAGE, {"page": page, "size": size}))
    assert len(answer["list"]) == shown
    assert answer["pagination"]["total"] == 11
    assert 1 <= answer["pagination"]["size"] <= 1_000


# add


def test_it_adds_one_and_tells_duplicates(api):
    body = {"agentName": "helper", "userId": "ann", "type": "user", "name": "茶", "content": "🍣 tea", "metadata": None}
    first = data(post(api, ADD, body | {"unknown": 1, "id": 99, "createdAt": "x"}))
    assert first["outcome"] == "created"
    assert data(post(api, ADD, body)) == {"id": first["id"], "outcome": "duplicate"}
    assert search.get(Scope("helper", "ann"), first["id"]).content == "🍣 tea"


def test_it_adds_an_array_or_nothing_of_it(api):
    good = {"agentName": "helper", "type": "user", "content": "a"}
    assert len(data(post(api, ADD, [good, good | {"content": "b"}]))["id"]) == 2
    assert failure(post(api, ADD, [good | {"content": "c"}, good | {"type": "nope"}]))[0] == 1002
    assert search.page(PageQuery()).total == 2


GOOD = {"agentName": "helper", "userId": "ann", "type": "user", "name": "n", "content": "c"}


@pytest.mark.parametrize(
    "change",
    [
        {"agentName": None},
        {"agentName": "ghost"},
        {"agentName": 5},
        {"userId": ["ann"]},
        {"userId": "a\nb"},
        {"type": ""},
        {"type": "nope"},
        {"name": "x" * 256},
        {"content": ""},
        {"content": " \n"},
        {"content": None},
        {"content": {"a": 1}},
        {"content": "x" * 65_537},
        {"description": "x" * 501},
        {"metadata": "text"},
        {"metadata": [1]},
        {"metadata": {"a": "x" * 65_536}},
        {"metadata": {"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}},
    ],
)
def test_it_refuses_bad_memories_with_a_sentence_and_writes_nothing(api, change):
    code, message = failure(post(api, ADD, GOOD | change))
    assert code in (1001, 1002)
    assert message.endswith((".", "。"))
    assert search.page(PageQuery()).total == 0


@pytest.mark.parametrize("body", ["{", "[", "nul", '{"a": NaN}', '"text"', "5", b"\xff\xfe", "[" * 100_000, "{}x"])
@pytest.mark.parametrize("path", [PAGE, ADD])
def test_it_refuses_a_body_that_is_no_json_object(api, path, body):
    response = api.post(path, body, content_type="application/json")
    assert failure(response)[0] == 1002


def test_it_refuses_a_body_that_is_too_large(api):
    response = api.post(ADD, b'{"content": "' + b"x" * 3_000_000 + b'"}', content_type="application/json")
    assert failure(response)[0] == 1002


def test_it_cleans_nul_and_lone_surrogates(api):
    response = api.post(ADD, json.dumps(GOOD | {"content": "a\0b\ud83d"}), content_type="application/json")
    assert search.get(Scope("helper", "ann"), data(response)["id"]).content == "ab\ufffd"


# the rest of the contract


def test_it_answers_unknown_addresses_in_the_envelope(api):
    assert failure(api.get("/admin/netaclaw/nothing"))[0] == 404
    assert failure(APIClient().post("/admin/netaclaw/memory/page/", {}))[0] == 404


def test_it_answers_a_wrong_method_in_the_envelope(api):
    assert failure(api.get(PAGE))[0] == 1002
    assert failure(api.put(ADD, {}, format="json"))[0] == 1002


def test_it_speaks_the_callers_language(api):
    response = post(api, ADD, GOOD | {"type": "nope"}, HTTP_ACCEPT_LANGUAGE="zh-CN,zh;q=0.9")
    assert "没有" in failure(response)[1]


def test_it_hides_what_went_wrong_inside(api, monkeypatch, caplog):
    def broken(query):
        raise RuntimeError("SELECT secret FROM place")

    monkeypatch.setattr(search, "page", broken)
    code, message = failure(post(api, PAGE, {}))
    assert (code, "SELECT" in message) == (1001, False)
    assert "SELECT secret" in caplog.text
