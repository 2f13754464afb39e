#!/usr/bin/env python
"""Measures whether recall finds what raw user messages need: a folder of retrieval sets against the product's stores.

    benchmarks/recall.py DATA_FOLDER [--store sqlite|mysql|mariadb] [--limit N] [--json FILE] [--floor set=figure …]

A set is a pair of files: NAME.corpus.jsonl (user, memory_id, name, content, description, created_at?) and
NAME.queries.jsonl (user, query, gold, gold_groups?). Each set becomes an agent, each of its users a user; every query
is asked through memory_app.search.recall. The stores are new ones, in a temporary directory or a temporary database
of the server that NETACLAW_TEST_MYSQL_URL or NETACLAW_TEST_MARIADB_URL names.

recall@k is the share of the needed facts found in the first k answers (a fact is found when any of its interchangeable
memories is; at most k facts are counted), mrr@10 the mean of 1/rank of the first needed memory; none% and err% are the
questions without an answer and with an error; a leak is an answer that belongs to another user. With floors, the
exit status is 1 when a set's recall@5 is below its floor, or when there is a leak or an error.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.product import SERVERS, product

COLUMNS = ("dataset", "store", "n", "recall@5", "recall@10", "mrr@10", "none%", "err%", "leaks", "p50_ms", "p95_ms")
DEPTH = 10
BATCH = 500
Row = dict[str, Any]


def main() -> int:
    """Runs every set of the folder and prints the table."""
    options = _options()
    with product(options.store):
        rows = [_measure(options, name) for name in _sets(options.folder)]
    print(_table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return _verdict(rows, dict(floor.split("=") for floor in options.floor))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", choices=["sqlite", *SERVERS], default="sqlite")
    parser.add_argument("--limit", type=int, default=0, help="at most N questions of a set, evenly spaced")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--floor", nargs="*", default=[], metavar="SET=FIGURE", help="the least recall@5 of a set")
    return parser.parse_args()


def _sets(folder: Path) -> Sequence[str]:
    names = sorted(path.name.removesuffix(".corpus.jsonl") for path in folder.glob("*.corpus.jsonl"))
    if not names:
        raise SystemExit(f"{folder} holds no NAME.corpus.jsonl.")
    return names


def _measure(options: argparse.Namespace, name: str) -> Row:
    keys = _load(options.folder / f"{name}.corpus.jsonl", name)
    with (options.folder / f"{name}.queries.jsonl").open(encoding="utf-8") as file:
        questions = [json.loads(line) for line in file if line.strip()]
    if options.limit and len(questions) > options.limit:
        step = len(questions) / options.limit
        questions = [questions[int(index * step)] for index in range(options.limit)]
    answers = [_ask(name, question, keys) for question in questions]
    return {"dataset": name, "store": options.store, "n": len(answers)} | _summary(answers)


def _load(corpus: Path, agent_name: str) -> Mapping[int, tuple[str, str]]:
    """Imports a corpus for a new agent; returns the (user, memory_id) of each stored id."""
    from agents_app.services import create_agent
    from memory_app.importing import read_lines
    from memory_app.services import save_many

    create_agent(agent_name)
    keys: dict[int, tuple[str, str]] = {}
    with corpus.open(encoding="utf-8") as file:
        drafts = [line.draft for line in read_lines(file, agent_name, None, "user") if line.draft]
    for start in range(0, len(drafts), BATCH):
        for draft, result in zip(batch := drafts[start : start + BATCH], save_many(batch), strict=True):
            keys.setdefault(result.memory.id, (draft.user_id, draft.metadata["memory_id"]))
    return keys


def _ask(agent_name: str, question: Mapping[str, Any], keys: Mapping[int, tuple[str, str]]) -> Row:
    from memory_app.contracts import Scope
    from memory_app.exceptions import NetaclawError
    from memory_app.search import recall

    start = perf_counter()
    failed = False
    try:
        hits = recall(Scope(agent_name, question["user"]), question["query"], limit=DEPTH)
    except NetaclawError:
        hits, failed = (), True
    spent = (perf_counter() - start) * 1000
    found = [keys[hit.memory.id] for hit in hits]
    own = [key for user, key in found if user == question["user"]]
    groups = [set(group) for group in question.get("gold_groups") or [[key] for key in question["gold"]]]
    return _figures(own, groups) | {"none": not own, "err": failed, "leaks": len(found) - len(own), "ms": spent}


def _figures(ranked: Sequence[str], groups: Sequence[set[str]]) -> Row:
    gold = set().union(*groups)
    rank = next((place for place, key in enumerate(ranked, start=1) if key in gold), 0)
    shares = {k: sum(bool(group & set(ranked[:k])) for group in groups) / min(len(groups), k) for k in (5, 10)}
    return {"recall@5": shares[5], "recall@10": shares[10], "mrr@10": 1 / rank if rank else 0.0}


def _summary(answers: Sequence[Row]) -> Row:
    times = sorted(answer["ms"] for answer in answers)
    means = {name: statistics.fmean(answer[name] for answer in answers) for name in ("recall@5", "recall@10", "mrr@10")}
    shares = {f"{name}%": 100 * statistics.fmean(answer[name] for answer in answers) for name in ("none", "err")}
    return (
        means
        | shares
        | {
            "leaks": sum(answer["leaks"] for answer in answers),
            "p50_ms": times[len(times) // 2],
            "p95_ms": times[int(len(times) * 0.95)],
        }
    )


def _table(rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
    for row in rows:
        cells = [f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _verdict(rows: Sequence[Row], floors: Mapping[str, str]) -> int:
    if not floors:
        return 0
    measured = {row["dataset"]: row for row in rows}
    complaints = [f"{name}: not in the folder" for name in floors if name not in measured]
    for name, row in measured.items():
        if row["recall@5"] < float(floors.get(name, 0)):
            complaints.append(f"{name}: recall@5 is {row['recall@5']:.3f}, below {floors[name]}")
        if row["leaks"] or row["err%"]:
            complaints.append(f"{name}: {row['leaks']} leaks, {row['err%']:.1f} % errors")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())
