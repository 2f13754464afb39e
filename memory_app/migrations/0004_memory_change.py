"""The history of memories. Agents and users are compared byte for byte on MySQL and MariaDB too."""

from django.db import DEFAULT_DB_ALIAS, migrations, models


def compare_exactly(apps, schema_editor):
    if schema_editor.connection.vendor == "mysql" and schema_editor.connection.alias == DEFAULT_DB_ALIAS:
        exact = "VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
        schema_editor.execute(f"ALTER TABLE netaclaw_memory_change MODIFY agent_name {exact}, MODIFY user_id {exact}")


class Migration(migrations.Migration):
    atomic = False  # MySQL changes tables outside of transactions

    dependencies = [
        ("memory_app", "0003_netaclaw_memory"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemoryChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent_name", models.CharField(max_length=100, verbose_name="agent")),
                ("user_id", models.CharField(blank=True, max_length=100, verbose_name="user")),
                ("memory_id", models.BigIntegerField(verbose_name="memory")),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("created", "added"),
                            ("updated", "changed"),
                            ("deleted", "deleted"),
                            ("forgotten", "erased"),
                        ],
                        max_length=10,
                        verbose_name="action",
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=255, verbose_name="title")),
                ("fields", models.CharField(blank=True, max_length=100, verbose_name="fields")),
                ("door", models.CharField(max_length=10, verbose_name="door")),
                ("actor", models.CharField(blank=True, max_length=150, verbose_name="who")),
                ("at", models.DateTimeField(verbose_name="time")),
                ("note", models.CharField(blank=True, max_length=300, verbose_name="note")),
                ("before", models.TextField(blank=True)),
                ("size", models.PositiveIntegerField(default=0)),
            ],
            options={
                "verbose_name": "change",
                "verbose_name_plural": "changes",
                "db_table": "netaclaw_memory_change",
                "indexes": [
                    models.Index(fields=["agent_name", "memory_id", "id"], name="idx_change_memory"),
                    models.Index(fields=["agent_name", "user_id"], name="idx_change_owner"),
                    models.Index(fields=["at"], name="idx_change_at"),
                ],
            },
        ),
        migrations.RunPython(compare_exactly, migrations.RunPython.noop),
    ]
