"""URLs. The API's paths come first: the admin would answer everything under /admin/ with its own login page."""

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView


def health(request: HttpRequest) -> HttpResponse:
    """Answers 200 when the main database does; for process managers and load balancers."""
    try:
        User.objects.exists()
    except DatabaseError:
        return HttpResponse("the database does not answer\n", content_type="text/plain", status=503)
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [
    path("", include("netaclaw.api")),
    path("admin/", admin.site.urls),
    path("api/", include("memory_app.api.agent_calls")),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema")),
    path("api/", include("memory_app.api.runtime")),
    path("agent/memory", RedirectView.as_view(pattern_name="admin:memory_app_memory_changelist", query_string=True)),
    path("i18n/", include("django.conf.urls.i18n")),
    path("healthz", health),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
handler403 = "netaclaw.errors.forbidden"
