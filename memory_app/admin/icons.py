"""Icons and colours of types as the console shows them."""

from typing import Final

from django.templatetags.static import static
from django.utils.html import format_html

from memory_app.admin.type_tags import COLOR

# The symbols of netaclaw/static/netaclaw/icons.svg.
ICONS: Final = (
    "user",
    "users",
    "folder",
    "message",
    "link",
    "star",
    "heart",
    "home",
    "briefcase",
    "calendar",
    "clock",
    "tag",
    "flag",
    "bell",
    "lock",
    "key",
    "settings",
    "server",
    "database",
    "code",
    "book",
    "globe",
    "pin",
    "bulb",
    "shield",
    "check",
    "alert",
    "phone",
    "mail",
    "cart",
    "music",
    "camera",
)


def icon(name: str) -> str:
    """The icon of a name, as a decoration beside a text; "" for a name that is none of ours."""
    if name not in ICONS:
        return ""
    html = '<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>'
    return format_html(html, static("netaclaw/icons.svg"), name)


def swatch(color: str) -> str:
    """A patch of a colour, beside its text; "" for a text that is none."""
    if not COLOR.fullmatch(color):
        return ""
    patch = '<rect width="16" height="16" rx="3" fill="{}"/>'
    return format_html(f'<svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">{patch}</svg>', color)
