"""Agents' keys."""

import django.db.models.deletion
from django.db import migrations, models

import memory_app.models


class Migration(migrations.Migration):
    dependencies = [
        ("agents_app", "0002_exact_names"),
        ("memory_app", "0004_memory_change"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="What the key is for.", max_length=100, verbose_name="name")),
                ("prefix", models.CharField(editable=False, max_length=12, verbose_name="begins with")),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "user_id",
                    models.CharField(
                        blank=True,
                        help_text="The only user the key acts for; empty: the program names the user with each call.",
                        max_length=100,
                        validators=[memory_app.models.validate_user_id],
                        verbose_name="user",
                    ),
                ),
                (
                    "read_only",
                    models.BooleanField(
                        default=False,
                        help_text="The key recalls, and saves, changes and deletes nothing.",
                        verbose_name="read-only",
                    ),
                ),
                ("created", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("created_by", models.CharField(blank=True, editable=False, max_length=150, verbose_name="created by")),
                (
                    "expires",
                    models.DateTimeField(
                        blank=True,
                        help_text="Empty: never.",
                        null=True,
                        validators=[memory_app.models.validate_future],
                        verbose_name="expires",
                    ),
                ),
                ("last_used", models.DateTimeField(editable=False, null=True, verbose_name="last used")),
                ("revoked", models.DateTimeField(editable=False, null=True, verbose_name="revoked")),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="keys",
                        to="agents_app.agent",
                        verbose_name="agent",
                    ),
                ),
            ],
            options={
                "verbose_name": "agent key",
                "verbose_name_plural": "agent keys",
                "db_table": "netaclaw_agent_key",
                "ordering": ["-created", "-id"],
            },
        ),
    ]
