import json

import pytest
from rest_framework.test import APIClient

LOGIN = "/admin/base/open/login"


class Caller:
    """A front end's request layer: sends JSON, checks the envelope, gives back `data` or the failure."""

    def __init__(self, token: str = "") -> None:
        self.client = APIClient()
        self.token = token
        if token:
            self.client.credentials(HTTP_AUTHORIZATION=token)

    def raw(self, path: str, body: object = None, **headers):
        return self.client.post(path, json.dumps(body), content_type="application/json", **headers)

    def post(self, path: str, body: object = None, **headers):
        return data(self.raw(path, {} if body is None else body, **headers))

    def get(self, path: str, **query):
        return data(self.client.get(path, query))

    def fails(self, path: str, body: object = None, **headers) -> tuple[int, str]:
        return failure(self.raw(path, {} if body is None else body, **headers))


def data(response):
    body = response.json()
    assert (response.status_code, body["code"], body["message"]) == (200, 1000, "success"), body
    return body.get("data")


def failure(response) -> tuple[int, str]:
    body = response.json()
    assert response.status_code == 200, body
    assert set(body) <= {"code", "message", "data"}
    assert body["code"] != 1000
    assert body["message"]
    return body["code"], body["message"]


def sign_in(username: str, password: str = "pass-word-1") -> Caller:
    return Caller(Caller().post(LOGIN, {"username": username, "password": password})["token"])


@pytest.fixture
def call(db, django_user_model) -> Caller:
    django_user_model.objects.create_superuser("root", password="pass-word-1")
    return sign_in("root")
