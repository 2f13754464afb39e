"""Processes that edit one memory at the same time, each under its version: no update is lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS, PROCESSES = 40, 2
SETUP = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from agents_app.services import create_agent
from memory_app import services
from memory_app.contracts import MemoryDraft
create_agent("hammered")
print(services.save(MemoryDraft("hammered", "u", "user", "n", "start", metadata={"count": 0})).memory.id)
"""
HAMMER = """
from memory_app import search, services
from memory_app.contracts import MemoryChanges, Scope
from memory_app.exceptions import Conflict
scope, conflicts = Scope("hammered", "u"), 0
for _ in range(ROUNDS):
    memory = search.get(scope, ID)
    while True:
        try:
            changes = MemoryChanges(metadata={"count": memory.metadata["count"] + 1})
            services.update(scope, ID, changes, memory.updated_at)
            break
        except Conflict as conflict:
            conflicts += 1
            memory = conflict.current
print(conflicts)
"""
LOOK = """
from memory_app import search
from memory_app.contracts import Scope
print(search.get(Scope("hammered", "u"), ID).metadata["count"])
"""


def test_it_loses_no_update(run_in_process):
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM netaclaw_memory")
    made = run_in_process(SETUP)
    number = made.stdout.strip()
    assert number, made.stderr
    code = HAMMER.replace("ROUNDS", str(ROUNDS)).replace("ID", number)
    with ThreadPoolExecutor(PROCESSES) as pool:
        results = list(pool.map(run_in_process, [code] * PROCESSES))
    assert [result.returncode for result in results] == [0] * PROCESSES, results[0].stderr
    assert run_in_process(LOOK.replace("ID", number)).stdout.strip() == str(ROUNDS * PROCESSES)
