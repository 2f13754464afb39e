"""Memory types, and what makes a row fit to be saved."""

from typing import Any, NamedTuple

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import DatabaseError, models
from django.utils.translation import gettext_lazy as _

from memory_app.contracts import MAX_TYPE, clean_key
from memory_app.exceptions import InvalidInput
from memory_app.metadata_schema import problem_of_schema


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
