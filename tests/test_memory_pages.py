"""A memory as those see it who may not change it."""

import pytest
from django.test import Client

from memory_app import services
from memory_app.contracts import Scope
from tests.conftest import draft
from tests.test_admin import LIST

pytestmark = pytest.mark.django_db
ANN = Scope("helper", "ann")


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def memory(agent):
    text = "first line\nsecond line 花生"
    return services.save(draft(text, name="title", description="kept")).memory


def address(memory) -> str:
    return f"{LIST}{memory.agent_name}_3A{memory.id}/change/"


def text_of(response) -> str:
    return response.content.decode()


def test_it_shows_a_reader_the_same_page_without_a_form(client, django_user_model, memory):
    from django.contrib.auth.models import Permission

    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client.force_login(clerk)
    page = text_of(client.get(address(memory)))
    assert "second line" in page
    assert "Read-only" in page
    assert "<textarea" not in page
    assert 'name="_save"' not in page
    assert client.post(address(memory), {"content": "x"}).status_code == 403


def test_it_leads_the_documents_route_to_the_list(console):
    assert console.get("/agent/memory?agentName=x").headers["Location"] == f"{LIST}?agentName=x"
