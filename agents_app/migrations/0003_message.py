"""What was said in chats. Users and sessions are compared byte for byte on MySQL and MariaDB too."""

import django.db.models.deletion
from django.db import DEFAULT_DB_ALIAS, migrations, models


def compare_exactly(apps, schema_editor):
    if schema_editor.connection.vendor == "mysql" and schema_editor.connection.alias == DEFAULT_DB_ALIAS:
        exact = "VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
        schema_editor.execute(f"ALTER TABLE netaclaw_message MODIFY user_id {exact}, MODIFY session_id {exact}")


class Migration(migrations.Migration):
    atomic = False  # MySQL changes tables outside of transactions

    dependencies = [
        ("agents_app", "0002_exact_names"),
    ]

    operations = [
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("user_id", models.CharField(blank=True, max_length=100, verbose_name="user")),
                ("session_id", models.CharField(max_length=100, verbose_name="session")),
                (
                    "role",
                    models.CharField(
                        choices=[("user", "user"), ("assistant", "agent")], max_length=10, verbose_name="role"
                    ),
                ),
                ("content", models.TextField(blank=True, verbose_name="content")),
                ("tool_calls", models.JSONField(blank=True, default=list, verbose_name="tool calls")),
                ("model", models.CharField(blank=True, max_length=200, verbose_name="model")),
                ("input_tokens", models.PositiveIntegerField(default=0, verbose_name="input tokens")),
                ("output_tokens", models.PositiveIntegerField(default=0, verbose_name="output tokens")),
                ("error", models.CharField(blank=True, max_length=50, verbose_name="error")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="agents_app.agent",
                        verbose_name="agent",
                    ),
                ),
            ],
            options={
                "verbose_name": "message",
                "verbose_name_plural": "messages",
                "db_table": "netaclaw_message",
                "indexes": [models.Index(fields=["agent", "user_id", "session_id", "id"], name="idx_message_session")],
            },
        ),
        migrations.RunPython(compare_exactly, migrations.RunPython.noop),
    ]
