"""Names are compared byte for byte on MySQL and MariaDB too: `Bot` and `bot` are two agents."""

from django.db import DEFAULT_DB_ALIAS, migrations


def compare_exactly(apps, schema_editor):
    if schema_editor.connection.vendor == "mysql" and schema_editor.connection.alias == DEFAULT_DB_ALIAS:
        schema_editor.execute(
            "ALTER TABLE netaclaw_agent MODIFY name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
        )


class Migration(migrations.Migration):
    atomic = False  # MySQL changes tables outside of transactions
    dependencies = [("agents_app", "0001_initial")]
    operations = [migrations.RunPython(compare_exactly, migrations.RunPython.noop)]
