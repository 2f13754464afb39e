"""The product's configuration: every NETACLAW_* variable, read once, checked, with a repair for each bad value.

Names, defaults and meanings are in the README's table. A bad value raises ImproperlyConfigured, whose text names the
variable and what to write instead; nothing else in the product reads the environment.
"""

import secrets
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

BASE_DIR = Path(__file__).resolve().parent.parent
PREFIX = "NETACLAW_"
DATABASE_ENGINES = {"sqlite": "django.db.backends.sqlite3", "mysql": "django.db.backends.mysql"}
WORDS = Annotated[tuple[str, ...], NoDecode]
URLS = Annotated[dict[str, tuple[str, ...]], NoDecode]
MAIN = "default"


class Environment(BaseSettings):
    """What the environment says; attribute `x_y` is variable NETACLAW_X_Y."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True, str_strip_whitespace=True)

    data_dir: Path = BASE_DIR / "var"
    database_url: str = ""
    databases: URLS = Field(default_factory=dict)
    replicas: URLS = Field(default_factory=dict)
    secret_key: str = ""
    cool_jwt_secret: str = ""
    debug: bool = False
    allowed_hosts: WORDS = ("localhost", "127.0.0.1", "[::1]")
    csrf_trusted_origins: WORDS = ()
    https: bool = False
    time_zone: str = "UTC"
    language: str = "en"
    log_level: str = "INFO"
    max_open_stores: int = Field(default=32, ge=1, le=10_000)
    prefetch_characters: int = Field(default=4_000, ge=500, le=200_000)
    history_days: int = Field(default=365, ge=1, le=36_500)
    history_megabytes: int = Field(default=1_024, ge=1, le=1_000_000)
    prefetch_seconds: float = Field(default=1.0, gt=0, le=60)
    openai_api_key: str = ""
    openai_base_url: str = "https://api.openai.com/v1"
    anthropic_api_key: str = ""
    anthropic_base_url: str = "https://api.anthropic.com"
    model_key_urls: WORDS = ()
    default_provider: str = "openai"
    default_model: str = ""
    model_seconds: float = Field(default=60.0, gt=0, le=3_600)
    chats: int = Field(default=4, ge=1, le=1_000)
    chat_seconds: float = Field(default=180.0, gt=0, le=3_600)
    chat_steps: int = Field(default=8, ge=1, le=100)
    chat_history_turns: int = Field(default=20, ge=0, le=1_000)
    chat_history_characters: int = Field(default=40_000, ge=0, le=10_000_000)

    @field_validator("allowed_hosts", "csrf_trusted_origins", "model_key_urls", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value

    @field_validator("databases", "replicas", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        named: dict[str, tuple[str, ...]] = {}
        for word in value.split():
            name, found, url = word.partition("=")
            if not found or not name.isidentifier() or urlsplit(url).scheme != "mysql":
                raise ValueError("write name=mysql://user:password@host:3306/name, with spaces between several")
            named[name] = (*named.get(name, ()), url)
        return named

    @field_validator("databases")
    @classmethod
    def _one_each(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        if MAIN in value or any(len(urls) > 1 for urls in value.values()):
            raise ValueError("give each database a name of its own, other than default")
        return value

    @field_validator("csrf_trusted_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not word.startswith(("http://", "https://")) for word in value):
            raise ValueError("write each origin with its scheme, for example https://memory.example.com")
        return value

    @field_validator("openai_base_url", "anthropic_base_url", "model_key_urls")
    @classmethod
    def _addresses(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for url in (value,) if isinstance(value, str) else value:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise ValueError("write an address such as http://models.internal:8000/v1")
        return value

    @field_validator("default_provider")
    @classmethod
    def _provider(cls, value: str) -> str:
        if value not in ("openai", "anthropic"):
            raise ValueError("use openai (for every service that speaks its protocol) or anthropic")
        return value

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        if value.exists() and not value.is_dir():
            raise ValueError("is a file; name a directory that the product may write to")
        return value.expanduser().resolve()

    @field_validator("secret_key", "cool_jwt_secret")
    @classmethod
    def _long(cls, value: str) -> str:
        if value and len(value) < 32:
            raise ValueError("use at least 32 random characters, or leave it unset")
        return value

    @field_validator("time_zone")
    @classmethod
    def _zone(cls, value: str) -> str:
        if value not in zoneinfo.available_timezones():
            raise ValueError("is no time zone; use a name such as Asia/Shanghai or UTC")
        return value

    @field_validator("language")
    @classmethod
    def _language(cls, value: str) -> str:
        if value not in ("en", "zh-hans"):
            raise ValueError("use en or zh-hans")
        return value

    @field_validator("log_level")
    @classmethod
    def _level(cls, value: str) -> str:
        if value.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
            raise ValueError("use DEBUG, INFO, WARNING, ERROR or CRITICAL")
        return value.upper()

    @field_validator("database_url")
    @classmethod
    def _scheme(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in DATABASE_ENGINES:
            raise ValueError("use mysql://user:password@host:3306/name or sqlite:////absolute/path, or leave it unset")
        return value


def load() -> Environment:
    """Reads and checks the environment; raises ImproperlyConfigured with one line per bad variable."""
    try:
        return Environment()
    except ValidationError as error:
        lines = [_repair(problem) for problem in error.errors(include_url=False)]
        raise ImproperlyConfigured("\n".join(lines)) from None


def _repair(problem: Any) -> str:
    name = PREFIX + str(problem["loc"][0]).upper()
    secret = name.endswith(("_KEY", "_SECRET", "_URL", "_DATABASES", "_REPLICAS"))
    shown = "" if secret else f"={problem['input']}"
    return f"{name}{shown}: {problem['msg'].removeprefix('Value error, ')}"


@dataclass(frozen=True, slots=True)
class Models:
    """What the installation knows of models: by provider its address and key, and what an agent has that names none."""

    urls: Mapping[str, str]
    keys: Mapping[str, str] = field(repr=False)
    trusted_urls: tuple[str, ...] = ()
    default_provider: str = "openai"
    default_model: str = ""


def models(environment: Environment) -> Models:
    """The settings for models; the keys are nowhere else in the settings."""
    return Models(
        {"openai": environment.openai_base_url, "anthropic": environment.anthropic_base_url},
        {"openai": environment.openai_api_key, "anthropic": environment.anthropic_api_key},
        environment.model_key_urls,
        environment.default_provider,
        environment.default_model,
    )


def secret_key(environment: Environment) -> str:
    """The given secret, or one made at first start and kept, readable by its owner only, in the data directory."""
    if environment.secret_key:
        return environment.secret_key
    path = environment.data_dir / "secret_key"
    try:
        environment.data_dir.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            draft = path.with_name(f".secret_key.{secrets.token_hex(8)}")
            draft.touch(mode=0o600)
            draft.write_text(secrets.token_urlsafe(50), encoding="ascii")
            _keep_first(draft, path)
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{PREFIX}DATA_DIR={environment.data_dir}: {error.strerror}; name a directory that the product may write to"
        ) from None


def _keep_first(draft: Path, path: Path) -> None:
    """Two first starts at once must end up with one secret: a hard link fails where the name is taken."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def databases(environment: Environment) -> dict[str, dict[str, Any]]:
    """Django's DATABASES: the main one, the named ones, and replicas as `name-replica-1`, …"""
    found = {MAIN: main_database(environment)}
    found |= {name: mysql_database(url, "DATABASES") for name, (url,) in environment.databases.items()}
    for name, urls in environment.replicas.items():
        if found.get(name, {}).get("ENGINE") != DATABASE_ENGINES["mysql"]:
            raise ImproperlyConfigured(
                f"{PREFIX}REPLICAS: {name} is no MySQL database of this installation; use its name"
            )
        for number, url in enumerate(urls, start=1):
            found[f"{name}-replica-{number}"] = mysql_database(url, "REPLICAS") | {"TEST": {"MIRROR": name}}
    return found


def replicas(environment: Environment) -> dict[str, tuple[str, ...]]:
    """The aliases of each database's replicas."""
    counts = {name: len(urls) for name, urls in environment.replicas.items()}
    return {name: tuple(f"{name}-replica-{n}" for n in range(1, count + 1)) for name, count in counts.items()}


def main_database(environment: Environment) -> dict[str, Any]:
    """The main database: SQLite in the data directory unless NETACLAW_DATABASE_URL says else."""
    url = environment.database_url
    if not url:
        return sqlite_database(environment.data_dir / "netaclaw.sqlite3")
    if urlsplit(url).scheme == "sqlite":
        return sqlite_database(Path(_parsed(url, "DATABASE_URL")["NAME"]))
    return mysql_database(url, "DATABASE_URL")


def mysql_database(url: str, variable: str) -> dict[str, Any]:
    """A MySQL or MariaDB database: utf8mb4 on every connection, strict mode, connections that are kept and checked."""
    settings = _parsed(url, variable)
    if not settings["NAME"]:
        raise ImproperlyConfigured(f"{PREFIX}{variable}: names no database; write mysql://user:password@host:3306/name")
    return settings | {
        "ENGINE": DATABASE_ENGINES["mysql"],
        "CONN_MAX_AGE": 300,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": settings.get("OPTIONS", {})
        | {
            "charset": "utf8mb4",
            "connect_timeout": 5,
            "init_command": "SET sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', innodb_strict_mode=1",
        },
        "TEST": {"CHARSET": "utf8mb4"},
    }


def _parsed(url: str, variable: str) -> dict[str, Any]:
    try:
        return dict(dj_database_url.parse(url))
    except (ValueError, KeyError):
        raise ImproperlyConfigured(f"{PREFIX}{variable}: is no database URL; check its port and its escapes") from None


def sqlite_database(path: Path) -> dict[str, Any]:
    """SQLite as a server needs it: WAL, five seconds of patience, and write transactions that never deadlock."""
    return {
        "ENGINE": DATABASE_ENGINES["sqlite"],
        "NAME": path,
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": 5,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        },
    }
