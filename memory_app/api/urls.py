from django.urls import path, re_path
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from memory_app.api.memory import MemoryAdd, MemoryPage
from memory_app.api.session import Login, RefreshToken
from netaclaw.cool import CoolView


class Unknown(CoolView):
    """Any other address of the API, whatever the method."""

    def initial(self, request: Request, *args: str, **kwargs: str) -> None:
        raise NotFound


urlpatterns = [
    path("admin/netaclaw/memory/page", MemoryPage.as_view()),
    path("admin/netaclaw/memory/add", MemoryAdd.as_view()),
    path("admin/base/open/login", Login.as_view()),
    path("admin/base/open/refreshToken", RefreshToken.as_view()),
    re_path(r"^admin/(netaclaw|base)/", Unknown.as_view()),
]
