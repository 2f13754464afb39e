"""The four built-in memory types (second document, section 2.1)."""

from django.db import DEFAULT_DB_ALIAS, migrations

TYPES = [
    ("user", "用户画像", "用户偏好、角色、习惯", "user", "#2563eb"),
    ("project", "项目知识", "项目进展、决策、约束", "folder", "#059669"),
    ("feedback", "行为反馈", "用户对 Agent 行为的纠正或确认", "message", "#d97706"),
    ("reference", "引用资源", "外部资源链接、文档地址", "link", "#7c3aed"),
]


def compare_exactly(apps, schema_editor):
    """Keys are compared byte for byte on MySQL and MariaDB too."""
    if schema_editor.connection.vendor == "mysql" and schema_editor.connection.alias == DEFAULT_DB_ALIAS:
        schema_editor.execute(
            "ALTER TABLE netaclaw_memory_type MODIFY `key` VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
        )


def seed(apps, schema_editor):
    if schema_editor.connection.alias != DEFAULT_DB_ALIAS:
        return
    types = apps.get_model("memory_app", "MemoryType").objects.using(schema_editor.connection.alias)
    for key, name, description, icon, color in TYPES:
        defaults = {"name": name, "description": description, "icon": icon, "color": color, "is_system": True}
        types.get_or_create(key=key, defaults=defaults)


class Migration(migrations.Migration):
    atomic = False  # MySQL changes tables outside of transactions
    dependencies = [("memory_app", "0001_initial")]
    operations = [
        migrations.RunPython(compare_exactly, migrations.RunPython.noop),
        migrations.RunPython(seed, migrations.RunPython.noop),
    ]
