"""What a model's failures mean: a stable code and a sentence for each."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic_ai import exceptions

from agents_app.exceptions import ModelFailed

DETAIL = 500

# The first that fits counts.
_MEANINGS: tuple[tuple[type[Exception], str, Any], ...] = (
    (
        exceptions.ModelAuthenticationError,
        "model_unauthorized",
        gettext_lazy("The provider of model %(model)s refused the key; whoever runs this installation must check it."),
    ),
    (
        exceptions.ModelQuotaExceededError,
        "model_quota_exceeded",
        gettext_lazy("The account at the provider of model %(model)s has no quota left."),
    ),
    (
        exceptions.ModelRateLimitError,
        "model_rate_limited",
        gettext_lazy("Model %(model)s gets too many requests at the moment; try again in a while."),
    ),
    (
        exceptions.ModelNotFoundError,
        "model_not_found",
        gettext_lazy("The provider knows no model %(model)s; check the agent's model and base URL."),
    ),
    (
        exceptions.ModelContextWindowExceededError,
        "context_too_long",
        gettext_lazy("The conversation is too long for model %(model)s; begin a new session."),
    ),
    (
        exceptions.ModelRequestRejectedError,
        "model_rejected",
        gettext_lazy("Model %(model)s refused the request as it is; the server's log has its reason."),
    ),
    (
        TimeoutError,
        "turn_timeout",
        gettext_lazy("The turn took too long and was ended; ask for less at once, or try again."),
    ),
    (
        exceptions.ModelTimeoutError,
        "model_timeout",
        gettext_lazy("Model %(model)s didn't answer in time; try again."),
    ),
    (
        exceptions.ModelConnectionError,
        "model_unreachable",
        gettext_lazy("Model %(model)s can't be reached, or broke off in its answer; try again."),
    ),
    (
        (exceptions.ModelUnavailableError),
        "model_unavailable",
        gettext_lazy("Model %(model)s is overloaded or down at the moment; try again in a while."),
    ),
    (
        exceptions.ModelServerError,
        "model_unavailable",
        gettext_lazy("Model %(model)s is overloaded or down at the moment; try again in a while."),
    ),
    (
        exceptions.UsageLimitExceeded,
        "too_many_steps",
        gettext_lazy("Model %(model)s called tools again and again without an answer, and was stopped."),
    ),
    (
        exceptions.ContentFilterError,
        "content_filtered",
        gettext_lazy("The provider of model %(model)s withheld the answer by its content filter."),
    ),
)


def explained(error: Exception, model: str) -> ModelFailed:
    """The failure as an error of the product; its `detail` is the provider's own word."""
    for kind, code, sentence in _MEANINGS:
        if isinstance(error, kind):
            return ModelFailed(code, sentence % {"model": model}, _detail(error))
    sentence = _("Model %(model)s gave an answer that can't be understood; try again.")
    return ModelFailed("model_failed", sentence % {"model": model}, _detail(error))


def _detail(error: Exception) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    said = inner.get("message") if isinstance(inner, Mapping) else None
    return str(said or error)[:DETAIL]
