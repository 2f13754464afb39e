from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AdminConfig):
    """Django's admin with the product's own site (netaclaw/console.py)."""

    default_site = "netaclaw.console.ConsoleSite"
