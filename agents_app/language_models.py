"""Which model an agent asks, where, and with which key; and the client for one turn.

An installation's key goes to the address that the installation names for its provider, and to those of
NETACLAW_MODEL_KEY_URLS. Another base URL of an agent gets no key: whoever may edit agents could otherwise send the key
to a server of their own. Servers inside a network mostly need none.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
from anthropic import AsyncAnthropic
from django.conf import settings
from django.utils.translation import gettext as _
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from agents_app.exceptions import ModelUnconfigured
from agents_app.models import Agent

OPENAI, ANTHROPIC = "openai", "anthropic"
PROVIDERS = (OPENAI, ANTHROPIC)
OPENAI_HOST = "api.openai.com"
CREDENTIALS = ("authorization", "x-api-key", "openai-organization", "openai-project")
CONNECT_SECONDS = 5.0
RETRIES = 1
SCHEMAS_AS_THEY_ARE = ModelProfile(json_schema_transformer=None)


@dataclass(frozen=True, slots=True)
class Choice:
    """A model: its provider, its name there, the address, and the key ("" for none)."""

    provider: str
    name: str
    url: str
    key: str = field(repr=False)

    @property
    def title(self) -> str:
        """How messages and errors name it."""
        return f"{self.provider}:{self.name}"


def choice_of(agent: Agent) -> Choice:
    """The agent's own model, or the installation's; raises ModelUnconfigured where something is missing."""
    known = settings.MODELS
    provider = agent.provider.strip().lower() or known.default_provider
    if provider not in PROVIDERS:
        message = _('The agent\'s model provider "%(name)s" is unknown; use one of: %(known)s.')
        raise ModelUnconfigured(message % {"name": agent.provider, "known": ", ".join(PROVIDERS)})
    name = agent.model.strip() or (known.default_model if provider == known.default_provider else "")
    if not name:
        raise ModelUnconfigured(
            _("The agent has no model; name one in its settings, or set NETACLAW_DEFAULT_MODEL for all agents.")
        )
    url = agent.base_url or known.urls[provider]
    return Choice(provider, name, url, _key(provider, url))


def _key(provider: str, url: str) -> str:
    trusted = {_normal(address) for address in (settings.MODELS.urls[provider], *settings.MODELS.trusted_urls)}
    return settings.MODELS.keys[provider] if _normal(url) in trusted else ""


def _normal(url: str) -> tuple[str, str, int | None, str]:
    """What makes two addresses the same; anything after the path makes an address of its own."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    standard = {"http": 80, "https": 443}
    host = (parts.hostname or "") + ("@" if parts.username is not None else "")
    rest = parts.path.rstrip("/") + (f"?{parts.query}#{parts.fragment}" if parts.query or parts.fragment else "")
    return parts.scheme, host, port or standard.get(parts.scheme), rest


@asynccontextmanager
async def opened(choice: Choice) -> AsyncIterator[Model]:
    """The model, with connections of its own until the end of the turn."""
    timeout = httpx2.Timeout(settings.MODEL_SECONDS, connect=min(CONNECT_SECONDS, settings.MODEL_SECONDS))
    hooks: dict[str, Any] = {} if choice.key else {"request": [_without_credentials]}
    async with httpx2.AsyncClient(timeout=timeout, verify=_trusted_roots(), event_hooks=hooks) as client:
        # A placeholder where there is no key: without it the libraries look for one in the environment.
        options: dict[str, Any] = {
            "api_key": choice.key or "none",
            "base_url": choice.url,
            "http_client": client,
            "timeout": timeout,
            "max_retries": RETRIES,
        }
        yield _anthropic(choice, options) if choice.provider == ANTHROPIC else _openai(choice, options)


def _anthropic(choice: Choice, options: dict[str, Any]) -> Model:
    provider = AnthropicProvider(anthropic_client=AsyncAnthropic(**options))
    return AnthropicModel(choice.name, provider=provider, profile=SCHEMAS_AS_THEY_ARE)


def _openai(choice: Choice, options: dict[str, Any]) -> Model:
    """Others speak OpenAI's protocol without its latest refinements."""
    client = AsyncOpenAI(**options)
    is_openai = urlsplit(choice.url).hostname == OPENAI_HOST
    provider = (
        OpenAIProvider(openai_client=client)
        if is_openai
        else OpenAICompatibleProvider("compatible", openai_client=client)
    )
    return OpenAIChatModel(choice.name, provider=provider, profile=SCHEMAS_AS_THEY_ARE)


async def _without_credentials(request: httpx2.Request) -> None:
    for name in CREDENTIALS:
        request.headers.pop(name, None)


@cache
def _trusted_roots() -> ssl.SSLContext:
    """Read once: reading them takes longer than everything else that a turn prepares."""
    return httpx2.create_ssl_context()
