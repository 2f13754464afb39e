"""A memory's `terms`: what recall finds it by, derived from its text, its owner and the day it was made."""

from datetime import datetime

from django.utils import timezone

from memory_app.analysis import index_terms, owner_prefixes


def terms_of(agent_name: str, user_id: str, name: str, content: str, description: str, created_at: datetime) -> str:
    """The value of the `terms` column; the day of `created_at` is taken in the installation's time zone."""
    try:
        day = timezone.localtime(created_at, timezone.get_default_timezone()).date()
    except (OverflowError, ValueError):  # the first and the last day of the calendar
        day = created_at.date()
    return index_terms(f"{name}\n{content}\n{description}", owner_prefixes(agent_name, user_id), day)
