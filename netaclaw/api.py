"""What a Cool Admin front end calls besides its entities: signing in, who am I, what may I, what is there."""

from contextlib import suppress
from typing import Any

from django.contrib.auth import authenticate
from django.urls import path, re_path
from django.utils.translation import gettext as _
from rest_framework.exceptions import AuthenticationFailed, NotFound
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle

from agents_app.api import agent
from agents_app.api.chat import Chat
from memory_app.api import memory, memory_type
from memory_app.contracts import clean_text
from memory_app.exceptions import InvalidInput, Refused
from netaclaw import tokens
from netaclaw.cool import CoolView, ok, shown_time
from netaclaw.crud import Entity
from netaclaw.openapi import ANY_OBJECT, ID, TEXT, TOKENS, described, many, obj

ENTITIES = (memory.ENTITY, memory_type.ENTITY, agent.ENTITY)
MENU = {"memory": "/agent/memory", "memory_type": "/agent/memory_type", "agent": "/agent/list"}


class SignInRate(AnonRateThrottle):
    """Ten attempts a minute from one address."""

    rate = "10/min"
    scope = "sign-in"


class OpenView(CoolView):
    """A call that needs no token."""

    authentication_classes = []
    permission_classes = []


class PersonalView(CoolView):
    """A call that needs a token and no right of its own."""

    permission_classes = [IsAuthenticated]


class Login(OpenView):
    """User name and password for a token; the same answer for an unknown user and a wrong password."""

    throttle_classes = [SignInRate]

    @described(
        body=obj("username password", username=TEXT, password=TEXT),
        data=TOKENS,
        example={"username": "admin", "password": "…"},
        answer={"expire": 7200, "token": "…", "refreshExpire": 1296000, "refreshToken": "…"},
        open_to_all=True,
    )
    def post(self, request: Request) -> Response:
        user = authenticate(request._request, **_credentials(self.body()))
        if user is None:
            raise Refused(_("User name or password is wrong."))
        return ok(tokens.sign_in(user, _("Sign-in by the API")))


class RefreshToken(OpenView):
    """A new pair of tokens for a refresh token; HTTP 401 when it is no good."""

    @described(query={"refreshToken": TEXT}, data=TOKENS)
    def get(self, request: Request) -> Response:
        try:
            return ok(tokens.renew(request.query_params.get("refreshToken", "")))
        except tokens.BadToken:
            raise AuthenticationFailed from None


class Logout(PersonalView):
    """Ends the token that the call comes with; one of another backend ends there."""

    @described(data=None)
    def post(self, request: Request) -> Response:
        with suppress(tokens.BadToken):
            tokens.revoke(str(request.auth))
        return ok()


class Person(PersonalView):
    """The operator who calls."""

    @described(data=obj("id username", id=ID, username=TEXT), answer={"id": 1, "username": "admin"})
    def get(self, request: Request) -> Response:
        user: Any = request.user
        return ok(
            {
                "id": user.pk,
                "username": user.get_username(),
                "name": user.get_full_name(),
                "nickName": user.get_short_name() or user.get_username(),
                "headImg": "",
                "phone": "",
                "email": user.email,
                "remark": "",
                "status": int(user.is_active),
                "departmentId": None,
                "createTime": shown_time(user.date_joined),
            }
        )


class PermMenu(PersonalView):
    """The permission keys that the operator has, and the menu that they make."""

    @described(data=obj("perms menus", perms=many(TEXT), menus=many(ANY_OBJECT)))
    def get(self, request: Request) -> Response:
        perms = [key for entity in ENTITIES for key in entity.permission_keys(request.user)]
        shown = [entity for entity in ENTITIES if f"netaclaw:{entity.name}:page" in perms]
        return ok({"perms": perms, "menus": [_menu(number, entity) for number, entity in enumerate(shown, start=1)]})


class DictData(PersonalView):
    """The front end's dictionaries; we have none."""

    @described(body=obj(types=many(TEXT)), data=ANY_OBJECT, example={"types": []}, answer={})
    def post(self, request: Request) -> Response:
        return ok({})


class Eps(OpenView):
    """What calls there are, for the front end's generator of services."""

    @described(data={"type": "object", "additionalProperties": many(ANY_OBJECT)}, open_to_all=True)
    def get(self, request: Request) -> Response:
        return ok({"netaclaw": [_eps(entity) for entity in ENTITIES]})


class Unknown(OpenView):
    """Any other address of the API, whatever the method."""

    schema = None

    def initial(self, request: Request, *args: str, **kwargs: str) -> None:
        raise NotFound


def _credentials(body: dict[str, Any]) -> dict[str, str]:
    credentials = {name: body.get(name) for name in ("username", "password")}
    if not all(isinstance(value, str) and value for value in credentials.values()):
        raise InvalidInput(_("username and password are missing."))
    return {name: clean_text(value, name, 1_000) for name, value in credentials.items()}


def _menu(number: int, entity: Entity) -> dict[str, Any]:
    return {
        "id": number,
        "parentId": None,
        "name": entity.description,
        "router": MENU[entity.name],
        "perms": None,
        "type": 1,
        "icon": "icon-menu",
        "orderNum": number,
        "viewPath": f"modules/agent/views/{entity.name}.vue",
        "keepAlive": True,
        "isShow": True,
    }


def _eps(entity: Entity) -> dict[str, Any]:
    return {
        "module": "netaclaw",
        "info": {"type": {"name": entity.name, "description": entity.description}},
        "prefix": entity.prefix,
        "name": f"Netaclaw{entity.name.title().replace('_', '')}Entity",
        "api": [
            {
                "method": action.method,
                "path": f"/{action.path}",
                "summary": action.summary,
                "dts": {},
                "tag": "",
                "prefix": entity.prefix,
                "ignoreToken": False,
            }
            for action in entity.actions
        ],
        "columns": [
            {
                "propertyName": column.name,
                "type": column.type,
                "length": column.length,
                "comment": column.comment,
                "nullable": column.nullable,
                "defaultValue": None,
                "source": f"a.{column.name}",
            }
            for column in entity.columns
        ],
        "pageColumns": [],
        "pageQueryOp": {
            "keyWordLikeFields": [f"a.{name}" for name in entity.like],
            "fieldEq": [f"a.{name}" for name in entity.equal],
            "fieldLike": [],
        },
    }


urlpatterns = [
    *[pattern for entity in ENTITIES for pattern in entity.urls()],
    path("admin/base/open/login", Login.as_view()),
    path("admin/base/open/refreshToken", RefreshToken.as_view()),
    path("admin/base/open/eps", Eps.as_view()),
    path("admin/base/comm/person", Person.as_view()),
    path("admin/base/comm/permmenu", PermMenu.as_view()),
    path("admin/base/comm/logout", Logout.as_view()),
    path("admin/dict/info/data", DictData.as_view()),
    path("api/netaclaw/chat", Chat.as_view()),
    re_path(r"^admin/(?:netaclaw|base|dict)/", Unknown.as_view()),
]
