"""The OpenAPI document, and the API held to it by generated requests."""

from collections.abc import Iterator

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from agents_app.models import Agent
from agents_app.services import create_agent
from memory_app import keys, services
from netaclaw.api import ENTITIES
from netaclaw.environment import Models
from netaclaw.wsgi import application
from tests.api.conftest import sign_in
from tests.conftest import draft
from tests.model_server import ModelServer, running

pytestmark = pytest.mark.django_db
# Left out, because the contract answers them with HTTP 200 and a code of its own (tests/api/test_memory.py has them):
# requests against the schema (negative_data_rejection), wrong methods (unsupported_method). Signing in and the tokens'
# own calls would end the token that the run uses.


def no_failure_of_ours(context, response, case) -> None:
    """The envelope hides what nobody foresaw from callers, but not from this test."""
    message = response.json()["message"]
    assert "went wrong on the server" not in message
    assert "database can't be used" not in message


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    no_failure_of_ours,
]


RUNTIME = [
    ("get", "/api/tools"),
    *(("post", path) for path in ("/api/tools/{name}", "/api/prefetch", "/api/system-prompt")),
    ("get", "/api/system-prompt"),
]


def document(client: Client) -> dict:
    return client.get("/api/schema/?format=json").json()


def test_it_describes_every_call(client):
    paths = document(client)["paths"]
    for entity in ENTITIES:
        for action in entity.actions:
            operation = paths[f"{entity.prefix}/{action.path}"][action.method]
            assert operation["description"]
            assert set(operation["responses"]) == {"200", "401", "403"}
            assert operation["security"] == [{"token": []}]


@pytest.mark.parametrize(("method", "path"), RUNTIME)
def test_it_describes_every_call_of_agents(client, method, path):
    whole = document(client)
    operation = whole["paths"][path][method]
    assert operation["description"]
    assert operation["responses"]["200"]["content"]["application/json"]["examples"]
    assert {"400", "401", "403", "404", "422", "429", "503"} < set(operation["responses"])
    assert operation["security"] == [{"agentKey": []}]
    assert whole["components"]["securitySchemes"]["agentKey"]["scheme"] == "bearer"


def test_it_gives_an_example_of_every_body(client):
    for path, operations in document(client)["paths"].items():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            assert content is None or content["examples"], path


def test_it_serves_its_page_without_any_other_host(client):
    text = client.get("/api/docs/").content.decode()
    assert "swagger-ui-bundle" in text
    assert "//cdn" not in text
    assert "https://" not in text.replace("https://github.com", "")


@pytest.fixture
def model_server(settings) -> Iterator[ModelServer]:
    with running() as server:
        settings.MODELS = Models({"openai": f"{server.url}/v1"}, {"openai": "key"}, default_model="model-1")
        yield server


@pytest.fixture
def signed_in(django_user_model):
    """An operator's token, and something to find."""
    django_user_model.objects.create_superuser("root", password="pass-word-1")
    create_agent("helper")
    services.save(draft("drinks tea 花生"))
    token = sign_in("root").token
    for signal in (request_started, request_finished):  # requests keep the test's connection, as Django's client has it
        signal.disconnect(close_old_connections)
    yield token
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


CALLS = [(action.method, f"{entity.prefix}/{action.path}") for entity in ENTITIES for action in entity.actions]
BOOT = [
    ("get", "/admin/base/comm/person"),
    ("get", "/admin/base/comm/permmenu"),
    ("get", "/admin/base/open/eps"),
    ("post", "/admin/dict/info/data"),
]


@pytest.mark.parametrize(("method", "path"), [*CALLS, *BOOT])
def test_it_answers_generated_requests_as_described(signed_in, method, path):
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    operation = schema[path][method]

    @given(case=operation.as_strategy())
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    def ask(case):
        case.call_and_validate(checks=CHECKS, headers={"Authorization": signed_in})

    ask()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), RUNTIME)
def test_it_answers_agents_as_described(signed_in, method, path, mode):
    key = keys.issue(Agent.objects.get().pk, "root", {"name": "generated"}).text
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    operation = schema[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    def ask(case):
        response = case.call_and_validate(checks=CHECKS[:-1], headers={"Authorization": f"Bearer {key}"})
        assert response.status_code != 503

    ask()


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_it_answers_requests_that_break_the_description(signed_in, method, path):
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    operation = schema[path][method]

    @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    def ask(case):
        case.call_and_validate(checks=CHECKS, headers={"Authorization": signed_in})

    ask()


CHAT = "/api/netaclaw/chat"


def test_it_describes_the_chat(client):
    operation = document(client)["paths"][CHAT]["post"]
    assert set(operation["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}
    assert {"401", "422", "502", "503", "504"} < set(operation["responses"])
    assert operation["security"] == [{"agentKey": []}, {"token": []}]


def as_described_or_a_stream(context, response, case) -> None:
    """The events of a stream are for tests/test_chat.py; here it must only be one."""
    if response.headers["content-type"][0].startswith("text/event-stream"):
        assert response.content.startswith(b"event: memory")
    else:
        response_schema_conformance(context, response, case)
        assert response.status_code != 500


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_it_answers_generated_chats_as_described(signed_in, model_server, mode):
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    operation = schema[CHAT]["post"]
    checks = [status_code_conformance, content_type_conformance, as_described_or_a_stream]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    def ask(case):
        if isinstance(case.body, dict) and mode is GenerationMode.POSITIVE:
            case.body |= {"agentName": "helper"}  # or nearly all would end at an agent that is not there
        case.call_and_validate(checks=checks, headers={"Authorization": signed_in})

    ask()
