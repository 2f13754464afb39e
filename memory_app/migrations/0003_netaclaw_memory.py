"""The table netaclaw_memory on MySQL and MariaDB: made, or adopted from the older system with every row, id and time.

Agents that the adopted rows name and nobody has made yet are made, so that their memories can be seen and recalled.
"""

from django.db import DEFAULT_DB_ALIAS, migrations

from memory_app.management.progress import adopting
from memory_app.providers import mysql_schema


def bring_up_to_date(apps, schema_editor):
    if schema_editor.connection.vendor == "mysql":
        with adopting() as advance:
            mysql_schema.bring_up_to_date(schema_editor.connection, advance)


def make_missing_agents(apps, schema_editor):
    alias = schema_editor.connection.alias
    if schema_editor.connection.vendor != "mysql" or alias != DEFAULT_DB_ALIAS:
        return
    agents = apps.get_model("agents_app", "Agent").objects.using(alias)
    configs = apps.get_model("memory_app", "MemoryConfig").objects.using(alias)
    for name in filter(None, mysql_schema.agent_names(schema_editor.connection)):
        agent, _made = agents.get_or_create(name=name)
        configs.get_or_create(agent=agent, defaults={"backend": "mysql"})


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory_app", "0002_seed_memory_types"), ("agents_app", "0002_exact_names")]
    operations = [
        migrations.RunPython(bring_up_to_date, migrations.RunPython.noop, hints={"store": True}),
        migrations.RunPython(make_missing_agents, migrations.RunPython.noop, hints={"store": True}),
    ]
