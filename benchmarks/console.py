#!/usr/bin/env python
"""Measures the console's pages against reading one page of rows straight from the stores, in the same run.

    benchmarks/console.py [--store sqlite|mysql|mariadb] [--rows N] [--rounds N]

Two agents are filled with N memories each (20,000 unless told otherwise), on sqlite in a file of their own each. Every
page is opened over Django's test client as an operator; the table has the median time and its ratio to the baseline:
the keys of the newest fifty rows of each store, and these rows.
"""

import argparse
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.product import SERVERS, product

LIST = "/admin/memory_app/memory/"
PAGES = {
    "list": LIST,
    "list, page 100": f"{LIST}?p=100",
    "list of an agent": f"{LIST}?agentName=bench0",
    "list of a type": f"{LIST}?type=project",
    "list of a user": f"{LIST}?userId=u7",
    "list of 7 days": f"{LIST}?updated=7d",
    "search, three characters": f"{LIST}?q=tea",
    "search, one character": f"{LIST}?q=茶",
    "overview": "/admin/",
    "audit": "/admin/memory_app/memorychange/",
}
WORDS = (
    "green",
    "tea",
    "train",
    "window",
    "morning",
    "report",
    "deploy",
    "绿茶",
    "火车",
    "靠窗",
    "早上",
    "值班",
    "花生",
)
TYPES = ("user", "project", "feedback", "reference")
AGENTS = ("bench0", "bench1")
BATCH = 500
SHOWN = 50


def main() -> int:
    """Fills the stores, opens every page, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=["sqlite", *SERVERS], default="sqlite")
    parser.add_argument("--rows", type=int, default=20_000, help="memories of each of the two agents")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    os.environ["NETACLAW_LOG_LEVEL"] = "ERROR"
    with product(options.store):
        _fill(options)
        baseline = _median(_newest_rows(), options.rounds)
        print(f"{2 * options.rows} rows, {options.store}; baseline {1000 * baseline:.1f} ms")
        for name, opened in _opened_pages():
            spent = _median(opened, options.rounds)
            print(f"{name:26} {1000 * spent:8.1f} ms   ratio {spent / baseline:6.1f}")
    return 0


def _fill(options: argparse.Namespace) -> None:
    from agents_app.services import create_agent
    from memory_app import registry
    from memory_app.providers import transfer

    for name in AGENTS:
        own = {"backend": "sqlite", "sqlite_path": f"memory/{name}.db"} if options.store == "sqlite" else {}
        create_agent(name, memory=own)
        provider = registry.provider_for(name)
        for start in range(0, options.rows, BATCH):
            count = min(BATCH, options.rows - start)
            transfer.insert(provider, name, [_memory(number) for number in range(start, start + count)], keep_ids=False)


def _memory(number: int) -> Any:
    from memory_app.providers.transfer import RawMemory

    chance = random.Random(number)
    time = datetime.now(UTC) - timedelta(seconds=chance.randrange(90 * 86_400))
    text = " ".join(chance.choices(WORDS, k=12))
    return RawMemory(0, f"u{number % 200}", chance.choice(TYPES), text[:30], text, "", time, time, None)


def _newest_rows() -> Callable[[], None]:
    from memory_app import registry
    from memory_app.contracts import PageQuery

    def read() -> None:
        for store in registry.stores():
            store.entries([key.id for key in store.keys(PageQuery(), SHOWN)])

    return read


def _opened_pages() -> Iterator[tuple[str, Callable[[], None]]]:
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.test import Client

    call_command("collectstatic", interactive=False, verbosity=0)
    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model()._default_manager.create_superuser("bench"))
    for name, path in PAGES.items():

        def opened(path: str = path) -> None:
            answer = client.get(path)
            if answer.status_code != 200:
                raise SystemExit(f"{path} answered {answer.status_code}")

        yield name, opened


def _median(work: Callable[[], None], rounds: int) -> float:
    work()
    times = []
    for _round in range(rounds):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    raise SystemExit(main())
