"""The admin site: Django's own, under the product's name."""

from django.contrib.admin import AdminSite
from django.utils.translation import gettext_lazy as _


class ConsoleSite(AdminSite):
    """The operators' console."""

    site_header = _("NetaClaw Memory")
    site_title = _("NetaClaw Memory")
    index_title = _("Console")
    site_url = None
