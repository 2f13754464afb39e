"""Signing in, tokens of ours and of another backend, and the front end's boot calls."""

from datetime import timedelta

import jwt
import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from memory_app.models import ApiToken
from netaclaw import tokens
from netaclaw.api import ENTITIES
from tests.api.conftest import LOGIN, Caller, sign_in

pytestmark = pytest.mark.django_db
PAGE = "/admin/netaclaw/memory/page"
SECRET = "a secret that two backends share, long enough"


def test_it_lists_tokens_and_ends_them_when_they_are_revoked(call):
    token = ApiToken.objects.get()
    call.post(PAGE)
    token.refresh_from_db()
    assert token.last_used is not None
    token.delete()
    assert call.raw(PAGE).status_code == 401


def test_it_ends_a_token_by_signing_out(call):
    call.post("/admin/base/comm/logout")
    assert call.raw(PAGE).status_code == 401


def test_it_uses_up_a_refresh_token(call):
    path = "/admin/base/open/refreshToken"
    pair = Caller().post(LOGIN, {"username": "root", "password": "pass-word-1"})
    renewed = Caller().get(path, refreshToken=pair["refreshToken"])
    assert Caller(renewed["token"]).post(PAGE)["list"] == []
    assert Caller().client.get(path, {"refreshToken": pair["refreshToken"]}).status_code == 401
    assert Caller(pair["token"]).raw(PAGE).status_code == 401


def test_it_takes_a_token_from_the_console(call, django_user_model, client):
    root = django_user_model.objects.get()
    client.force_login(root)
    expires = timezone.localtime() + timedelta(days=3)
    sent = {"name": "script", "user": root.pk, "expires_0": expires.date(), "expires_1": expires.time()}
    response = client.post("/admin/memory_app/apitoken/add/", sent)
    shown = response.context["secret"].text
    assert shown in response.content.decode()
    assert "no-store" in response.headers["Cache-Control"]
    assert shown not in str(client.session.items()) + str(response.cookies) + str(response.headers)
    assert Caller(shown).post(PAGE)["list"] == []
    assert ApiToken.objects.filter(name="script").count() == 1


def test_it_refuses_an_expired_token(call, django_user_model):
    issued = tokens.issue(django_user_model.objects.get(), "old", timedelta(seconds=-5))
    assert Caller(issued.token).raw(PAGE).status_code == 401


def other_backend(**claims) -> str:
    whole = {"isRefresh": False, "roleIds": [1], "username": "root", "userId": 1, "passwordVersion": 1}
    return jwt.encode(whole | {"exp": timezone.now() + timedelta(hours=1)} | claims, SECRET, algorithm="HS256")


def test_it_takes_the_tokens_of_a_backend_that_shares_its_secret(call, settings):
    assert Caller(other_backend()).raw(PAGE).status_code == 401
    settings.COOL_JWT_SECRET = SECRET
    assert Caller(other_backend()).post(PAGE)["list"] == []


@pytest.mark.parametrize(
    "claims",
    [{"username": "nobody"}, {"isRefresh": True}, {"exp": timezone.now() - timedelta(hours=1)}, {"username": None}],
)
def test_it_takes_none_of_nobody_here(call, settings, claims):
    settings.COOL_JWT_SECRET = SECRET
    assert Caller(other_backend(**claims)).raw(PAGE).status_code == 401


def test_it_says_who_calls(call):
    person = call.get("/admin/base/comm/person")
    assert (person["username"], person["status"]) == ("root", 1)
    assert "password" not in person


def test_it_says_what_the_caller_may(call, django_user_model):
    whole = call.get("/admin/base/comm/permmenu")
    assert {"netaclaw:memory:page", "netaclaw:memory_type:list", "netaclaw:agent:delete"} <= set(whole["perms"])
    assert [menu["router"] for menu in whole["menus"]] == ["/agent/memory", "/agent/memory_type", "/agent/list"]
    clerk = django_user_model.objects.create_user("clerk", password="pass-word-1")
    clerk.user_permissions.add(Permission.objects.get(codename="view_memory"))
    part = sign_in("clerk").get("/admin/base/comm/permmenu")
    assert set(part["perms"]) == {"netaclaw:memory:page", "netaclaw:memory:info", "netaclaw:memory:stats"}
    assert len(part["menus"]) == 1


def test_it_tells_the_generator_every_call_that_there_is(call):
    entities = Caller().get("/admin/base/open/eps")["netaclaw"]
    assert [entity["prefix"] for entity in entities] == [entity.prefix for entity in ENTITIES]
    for entity in entities:
        for api in entity["api"]:
            path = entity["prefix"] + api["path"]
            response = call.client.get(path) if api["method"] == "get" else call.raw(path, {})
            assert response.json()["code"] in (1000, 1001, 1002), path
            wrong = call.raw(path, {}) if api["method"] == "get" else call.client.get(path)
            assert wrong.json()["code"] == 1002, path


def test_it_answers_the_dictionary_call(call):
    assert call.post("/admin/dict/info/data", {"types": []}) == {}
