"""Agents' keys: made and shown once, revoked, tested when a program calls."""

import shlex
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from agents_app.services import create_agent, update_agent
from memory_app import keys
from memory_app.exceptions import InvalidInput
from memory_app.models import AgentKey

pytestmark = pytest.mark.django_db
KEYS = "/admin/memory_app/agentkey/"


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


def page_of(agent) -> str:
    return f"/admin/agents_app/agent/{agent.pk}/change/"


def clerk(client: Client, django_user_model, *codenames: str) -> Client:
    """An operator who may do only this."""
    user = django_user_model.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def made(console: Client, agent, **more):
    return console.post(f"{KEYS}add/", {"agent": agent.pk, "name": "crm", "user_id": ""} | more)


def test_it_knows_a_key_that_it_made(agent):
    issued = keys.issue(agent.pk, "root", {"name": "crm", "user_id": "ann", "read_only": True})
    assert keys.FORM.fullmatch(issued.text)
    found = keys.authenticate(issued.text)
    assert (found.agent.name, found.user_id, found.read_only, found.created_by) == ("helper", "ann", True, "root")


@pytest.mark.parametrize("text", ["", "nck_", "nck_" + "A" * 43, "Bearer x", "nck_" + "花" * 43, "\0", "x" * 10_000])
def test_it_knows_no_other_text(agent, text):
    issued = keys.issue(agent.pk, "root", {"name": "crm"})
    assert keys.authenticate(text) is None
    assert keys.authenticate(issued.text.lower()) is None
    assert keys.authenticate(issued.text + "\n") is None


def test_it_keeps_no_more_than_the_digest_and_the_beginning(agent):
    issued = keys.issue(agent.pk, "root", {"name": "crm"})
    kept = " ".join(str(value) for value in AgentKey.objects.values_list().get())
    assert issued.text[len(issued.row.prefix) :] not in kept
    assert issued.text.startswith(issued.row.prefix)
    assert len(issued.row.prefix) <= 12


def test_it_refuses_a_revoked_key_and_keeps_its_row(agent):
    issued = keys.issue(agent.pk, "root", {"name": "crm"})
    assert keys.revoke(issued.row)
    first = issued.row.revoked
    assert not keys.revoke(issued.row)
    assert (keys.authenticate(issued.text), AgentKey.objects.get().revoked) == (None, first)


def test_it_refuses_an_expired_key(agent):
    issued = keys.issue(agent.pk, "root", {"name": "crm", "expires": timezone.now() + timedelta(hours=1)})
    assert keys.authenticate(issued.text)
    AgentKey.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert keys.authenticate(issued.text) is None


def test_it_refuses_the_keys_of_a_disabled_agent(agent):
    issued = keys.issue(agent.pk, "root", {"name": "crm"})
    update_agent(agent, enabled=False)
    assert keys.authenticate(issued.text) is None


def test_it_notes_the_use_of_a_key_once_a_minute(agent):
    issued = keys.issue(agent.pk, "root", {"name": "crm"})
    keys.authenticate(issued.text)
    first = AgentKey.objects.get().last_used
    keys.authenticate(issued.text)
    assert AgentKey.objects.get().last_used == first is not None
    AgentKey.objects.update(last_used=first - timedelta(minutes=2))
    keys.authenticate(issued.text)
    assert AgentKey.objects.get().last_used >= first


@pytest.mark.parametrize(
    "fields",
    [
        {"name": " "},
        {"name": "x" * 101},
        {"name": "crm", "user_id": "a\nb"},
        {"name": "crm", "user_id": "u" * 101},
        {"name": "crm", "expires": timezone.now() - timedelta(days=1)},
    ],
)
def test_it_makes_no_key_of_bad_values(agent, fields):
    with pytest.raises(InvalidInput):
        keys.issue(agent.pk, "root", fields)
    assert not AgentKey.objects.exists()


def test_it_gives_a_name_to_one_good_key_of_an_agent(agent):
    first = keys.issue(agent.pk, "root", {"name": "crm"})
    with pytest.raises(InvalidInput, match="a key of this name already"):
        keys.issue(agent.pk, "root", {"name": "crm"})
    keys.revoke(first.row)
    keys.issue(agent.pk, "root", {"name": "crm"})
    keys.issue(create_agent("other").pk, "root", {"name": "crm"})
    assert AgentKey.objects.count() == 3


def test_it_shows_a_key_once_and_in_no_other_place(console, agent):
    response = made(console, agent, user_id="ann", read_only="on")
    text = keys.FORM.search(response.content.decode()).group()
    assert keys.authenticate(text).user_id == "ann"
    assert "no-store" in response.headers["Cache-Control"]
    kept = str(response.cookies) + " ".join(str(session.get_decoded()) for session in Session.objects.all())
    log = " ".join(entry.object_repr + entry.change_message for entry in LogEntry.objects.all())
    later = "".join(console.get(path).content.decode() for path in (page_of(agent), KEYS, f"{KEYS}1/change/"))
    assert text not in kept + log + later + str(response.headers)


@pytest.mark.parametrize("user", ["", "ann"])
def test_it_shows_a_call_that_works(console, agent, user):
    secret = made(console, agent, user_id=user).context["secret"]
    curl, url, *rest, data = shlex.split(secret.example.replace("$KEY", secret.text))
    headers = dict(word.split(": ") for word in rest if ": " in word)
    assert (curl, url, rest[-1]) == ("curl", "http://testserver/api/tools/memory_recall", "-d")
    assert (keys.USER_HEADER in headers) is not bool(user)
    answer = Client().post(url, data, content_type="application/x-www-form-urlencoded", headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"memories": []})


def test_it_says_why_a_key_is_not_made(console, agent):
    made(console, agent)
    assert "a key of this name already" in made(console, agent).content.decode()
    late = made(console, agent, name="late", expires_0="2020-01-01", expires_1="10:00")
    assert "Choose a time in the future" in late.content.decode()
    assert AgentKey.objects.count() == 1


def test_it_trims_what_an_operator_types(console, agent):
    made(console, agent, name=" crm ", user_id=" ann ")
    assert AgentKey.objects.values_list("name", "user_id").get() == ("crm", "ann")


def test_it_lists_the_keys_on_the_page_of_their_agent(console, agent):
    issued = keys.issue(agent.pk, "root", {"name": "<b>crm</b>", "read_only": True})
    keys.issue(create_agent("other").pk, "root", {"name": "elsewhere"})
    text = console.get(page_of(agent)).content.decode()
    assert "&lt;b&gt;crm&lt;/b&gt;" in text
    assert f"{issued.row.prefix}…" in text
    assert f"{KEYS}{issued.row.pk}/revoke/" in text
    assert "elsewhere" not in text


def test_it_asks_before_it_revokes(console, agent):
    key = keys.issue(agent.pk, "root", {"name": "crm"}).row
    assert "never works again" in console.get(f"{KEYS}{key.pk}/revoke/").content.decode()
    assert AgentKey.objects.get().revoked is None
    assert console.post(f"{KEYS}{key.pk}/revoke/").headers["Location"] == page_of(agent)
    assert AgentKey.objects.get().revoked
    assert "revoked before" in console.post(f"{KEYS}{key.pk}/revoke/", follow=True).content.decode()


def test_it_filters_keys_by_state(console, agent):
    keys.revoke(keys.issue(agent.pk, "root", {"name": "old key"}).row)
    keys.issue(agent.pk, "root", {"name": "new key"})
    good, ended = (console.get(KEYS, {"state": state}).content.decode() for state in ("good", "ended"))
    assert ("new key" in good, "old key" in good) == (True, False)
    assert ("new key" in ended, "old key" in ended) == (False, True)


def test_it_lets_a_reader_make_and_revoke_nothing(client, django_user_model, agent):
    key = keys.issue(agent.pk, "root", {"name": "crm"}).row
    reader = clerk(client, django_user_model, "view_agent", "view_agentkey")
    for path in (page_of(agent), KEYS):
        text = reader.get(path).content.decode()
        assert ("crm" in text, "/revoke/" in text, f"{KEYS}add/" in text) == (True, False, False)
    assert reader.post(f"{KEYS}{key.pk}/revoke/").status_code == 403
    assert made(reader, agent, name="mine").status_code == 403
    assert AgentKey.objects.get().revoked is None


def test_it_hides_keys_from_those_who_may_not_see_them(client, django_user_model, agent):
    keys.issue(agent.pk, "root", {"name": "crm"})
    reader = clerk(client, django_user_model, "view_agent")
    assert "crm" not in reader.get(page_of(agent)).content.decode()
    assert reader.get(KEYS).status_code == 403


def test_it_lets_those_revoke_who_may_change_keys(client, django_user_model, agent):
    key = keys.issue(agent.pk, "root", {"name": "crm"}).row
    assert clerk(client, django_user_model, "change_agentkey").post(f"{KEYS}{key.pk}/revoke/").status_code == 302
    assert AgentKey.objects.get().revoked


def test_it_deletes_keys_with_their_agent(console, agent):
    issued = keys.issue(agent.pk, "root", {"name": "crm"})
    console.post(f"/admin/agents_app/agent/{agent.pk}/delete/", {"post": "yes"})
    assert keys.authenticate(issued.text) is None
    assert not AgentKey.objects.exists()
