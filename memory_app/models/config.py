"""An agent's memory settings: the switch, and where its memories are."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS, connection, models
from django.utils.translation import gettext_lazy as _

from memory_app.contracts import Backend
from memory_app.exceptions import StoreRejected
from memory_app.paths import Place, resolve


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
