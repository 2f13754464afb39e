"""The tables of the memory: types, each agent's memory settings, and the memories of both backends on one base."""

import json
import math
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory_app.contracts import (
    MAX_AGENT_NAME,
    MAX_DESCRIPTION,
    MAX_NAME,
    MAX_TYPE,
    MAX_USER_ID,
    Backend,
    MemoryEntry,
    clean_key,
)
from memory_app.exceptions import InvalidInput, StoreRejected
from memory_app.metadata_schema import problem_of_schema
from memory_app.paths import Place, resolve


class TypeInfo(NamedTuple):
    """A memory type as agents and prompts see it, and the JSON Schema of its metadata, where it has one."""

    key: str
    name: str
    description: str
    metadata_schema: Any = None


BUILTIN_TYPES = (
    TypeInfo("user", "用户画像", "用户偏好、角色、习惯"),
    TypeInfo("project", "项目知识", "项目进展、决策、约束"),
    TypeInfo("feedback", "行为反馈", "用户对 Agent 行为的纠正或确认"),
    TypeInfo("reference", "引用资源", "外部资源链接、文档地址"),
)

BUILTIN_LOOKS = {
    "user": {"icon": "user", "color": "#2563eb", "is_system": True},
    "project": {"icon": "folder", "color": "#059669", "is_system": True},
    "feedback": {"icon": "message", "color": "#d97706", "is_system": True},
    "reference": {"icon": "link", "color": "#7c3aed", "is_system": True},
}


class MetadataEncoder(json.JSONEncoder):
    """JSON as people read it: Chinese and emoji as themselves, not as escapes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"ensure_ascii": False})


def validate_type_key(value: str) -> None:
    """Refuses keys that other doors would have to trim or could not address."""
    try:
        cleaned = clean_key(value, "key", MAX_TYPE)
    except InvalidInput as error:
        raise ValidationError(error.message) from None
    if cleaned != value:
        raise ValidationError(_("Remove the spaces around the key."))


def validated(row: models.Model) -> None:
    """Raises InvalidInput, in one sentence, for the first field of a row that can't be saved as it is."""
    try:
        row.full_clean()
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        label = "" if name == NON_FIELD_ERRORS else f"{name}: "
        raise InvalidInput(label + " ".join(messages)) from None


def validate_metadata_schema(value: Any) -> None:
    """Refuses what metadata can't be held to."""
    if problem := problem_of_schema(value):
        raise ValidationError(_("This is no JSON Schema for metadata: %(problem)s") % {"problem": problem})


class MemoryType(models.Model):
    """A kind of memory (second document, section 2.1). System types can't be deleted; keys never change."""

    key = models.CharField(_("key"), max_length=MAX_TYPE, unique=True, validators=[validate_type_key])
    name = models.CharField(_("name"), max_length=100)
    description = models.CharField(_("description"), max_length=500, blank=True)
    icon = models.CharField(_("icon"), max_length=50, blank=True)
    color = models.CharField(_("color"), max_length=20, blank=True)
    is_system = models.BooleanField(_("built in"), default=False, editable=False)
    metadata_schema = models.JSONField(
        _("metadata schema"), null=True, blank=True, validators=[validate_metadata_schema]
    )
    create_time = models.DateTimeField(_("created"), auto_now_add=True)
    update_time = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        db_table = "netaclaw_memory_type"
        verbose_name = _("memory type")
        verbose_name_plural = _("memory types")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def available(cls) -> tuple[TypeInfo, ...]:
        """The types that memories may have; the built-in four when the table can't be read (second document, 5.1)."""
        try:
            rows = tuple(TypeInfo(*row) for row in cls.objects.values_list(*TypeInfo._fields))
        except DatabaseError:
            return BUILTIN_TYPES
        return rows or BUILTIN_TYPES

    @classmethod
    def seed(cls) -> int:
        """Adds the built-in types that are missing; leaves operators' wording alone. Returns how many were added."""
        made = [
            cls.objects.get_or_create(key=info.key, defaults=info._asdict() | BUILTIN_LOOKS[info.key])[1]
            for info in BUILTIN_TYPES
        ]
        return sum(made)


def mysql_is_main() -> bool:
    """Whether the main database is MySQL or MariaDB, where backend `mysql` can be chosen."""
    return connection.vendor == "mysql"


def available_backends() -> tuple[str, ...]:
    """The backends that this installation can offer."""
    return (Backend.MYSQL, Backend.SQLITE) if mysql_is_main() else (Backend.SQLITE,)


def named_databases() -> tuple[str, ...]:
    """The databases besides the main one in which agents may keep their memories."""
    return tuple(name for name in settings.DATABASES if name != DEFAULT_DB_ALIAS and "-replica-" not in name)


def default_backend() -> str:
    """The backend of a new agent."""
    return available_backends()[0]


def validate_sqlite_path(value: str) -> None:
    """Refuses a path that is not a .db file inside the data directory."""
    try:
        resolve(settings.DATA_DIR, value)
    except StoreRejected as error:
        raise ValidationError(error.message) from None


class MemoryConfig(models.Model):
    """An agent's memory settings: the documents' `config.memory` (first document, section 8.1)."""

    agent = models.OneToOneField(
        "agents_app.Agent", on_delete=models.CASCADE, related_name="memory", verbose_name=_("agent")
    )
    enabled = models.BooleanField(
        _("memory"), default=True, help_text=_("Whether the agent recalls and saves memories.")
    )
    backend = models.CharField(
        _("backend"),
        max_length=10,
        choices=[(Backend.MYSQL, _("MySQL")), (Backend.SQLITE, _("Local SQLite"))],
        default=default_backend,
    )
    sqlite_path = models.CharField(
        _("SQLite file"),
        max_length=200,
        blank=True,
        validators=[validate_sqlite_path],
        help_text=_("Relative to the data directory; empty for the file that agents share, memory/memory.db."),
    )
    database = models.CharField(
        _("database"),
        max_length=50,
        blank=True,
        help_text=_("Of backend mysql: a database named in NETACLAW_DATABASES; empty for the main one."),
    )
    prefetch_limit = models.PositiveSmallIntegerField(
        _("memories per turn"),
        default=5,
        help_text=_("How many memories are put before the model in each turn, 1 to 50."),
    )

    move = models.JSONField(null=True, editable=False)

    class Meta:
        db_table = "netaclaw_memory_config"
        verbose_name = _("memory settings")
        verbose_name_plural = _("memory settings")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(prefetch_limit__gte=1, prefetch_limit__lte=50),
                name="prefetch_limit_from_1_to_50",
                violation_error_message=_("Choose 1 to 50 memories per turn."),
            )
        ]

    def __str__(self) -> str:
        return str(self.agent)

    @property
    def place(self) -> Place:
        """Where the agent's memories are now."""
        return Place(self.backend, self.database, self.sqlite_path)

    @place.setter
    def place(self, place: Place) -> None:
        self.backend, self.database, self.sqlite_path = place.backend, place.database, place.sqlite_path

    def clean(self) -> None:
        """Refuses backend `mysql` on an installation whose main database isn't MySQL."""
        if self.backend not in available_backends():
            message = _("Backend mysql needs a MySQL main database: set NETACLAW_DATABASE_URL, or choose Local SQLite.")
            raise ValidationError({"backend": message})
        if self.database and self.database not in named_databases():
            message = _("There is no database of this name in NETACLAW_DATABASES.")
            raise ValidationError({"database": message})


def validate_future(value: datetime) -> None:
    """Refuses a time that is over."""
    if value <= timezone.now():
        raise ValidationError(_("Choose a time in the future."))


class ApiToken(models.Model):
    """An operator's access to the API, made by signing in there or in the console; deleting it revokes it.

    The token itself is a signed JWT that carries `jti`, and is not kept.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens", verbose_name=_("operator")
    )
    name = models.CharField(_("name"), max_length=100, help_text=_("What the token is for."))
    jti = models.CharField(max_length=32, unique=True, editable=False)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    expires = models.DateTimeField(_("expires"), validators=[validate_future])
    last_used = models.DateTimeField(_("last used"), null=True, editable=False)

    class Meta:
        db_table = "netaclaw_api_token"
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["-created"]

    def __str__(self) -> str:
        return self.name


def _shown(metadata: Any) -> dict[str, Any]:
    """Metadata as an object that JSON can carry, whatever the older system or another program stored."""
    found = {} if metadata is None else metadata if isinstance(metadata, dict) else {"value": metadata}
    cleaned: dict[str, Any] = _finite(found)
    return cleaned


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class MemoryRow(models.Model):
    """The columns of a memory, whichever store holds it. `terms` is derived from the text (analysis.index_terms)."""

    agent_name = models.CharField(_("agent"), max_length=MAX_AGENT_NAME)
    user_id = models.CharField(_("user"), max_length=MAX_USER_ID, blank=True)
    type = models.CharField(_("type"), max_length=MAX_TYPE)
    name = models.CharField(_("title"), max_length=MAX_NAME)
    content = models.TextField(_("content"))
    description = models.CharField(_("description"), max_length=MAX_DESCRIPTION, blank=True, default="")
    metadata = models.JSONField(_("metadata"), null=True, blank=True, encoder=MetadataEncoder)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    terms = models.TextField(default="", editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def entry(self) -> MemoryEntry:
        """The row as a frozen value."""
        return MemoryEntry(
            id=self.pk,
            agent_name=self.agent_name,
            user_id=self.user_id,
            type=self.type,
            name=self.name,
            content=self.content,
            description=self.description,
            metadata=_shown(self.metadata),
            created_at=self.created_at,
            updated_at=self.updated_at,
        )


class Memory(MemoryRow):
    """Memories in a MySQL database: backend `mysql`. providers/mysql_schema.py owns the table."""

    class Meta(MemoryRow.Meta):
        abstract = False
        managed = False
        db_table = "netaclaw_memory"
        verbose_name = _("memory")
        verbose_name_plural = _("memories")


class SqliteMemory(MemoryRow):
    """Memories in a .db file: backend `sqlite`. providers/sqlite_schema.py owns the table; no migration touches it."""

    class Meta(MemoryRow.Meta):
        abstract = False
        managed = False
        db_table = "memory"
        verbose_name = _("memory")
        verbose_name_plural = _("memories")
