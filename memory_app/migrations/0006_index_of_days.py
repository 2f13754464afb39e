"""The index over the day of creation, for tables of memories that were made without it."""

from django.db import migrations

from memory_app.management.progress import adopting
from memory_app.providers import mysql_schema


def bring_up_to_date(apps, schema_editor):
    if schema_editor.connection.vendor == "mysql":
        with adopting() as advance:
            mysql_schema.bring_up_to_date(schema_editor.connection, advance)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory_app", "0005_agent_key")]
    operations = [migrations.RunPython(bring_up_to_date, migrations.RunPython.noop, hints={"store": True})]
