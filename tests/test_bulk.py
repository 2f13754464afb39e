"""Bulk actions on the list of all stores."""

import csv
import io
import json
import os
from contextlib import contextmanager

import pytest
from django.test import Client
from django.utils import timezone

from agents_app.services import create_agent
from memory_app import search, services
from memory_app.admin import bulk_forms, chosen, exporting
from memory_app.contracts import MemoryChanges, PageQuery, Scope
from memory_app.importing import read_lines
from memory_app.models import MemoryType
from memory_app.providers.pool import POOL
from tests.conftest import draft
from tests.test_admin import LIST

pytestmark = pytest.mark.django_db
YES = {"confirmed": "1", "select_across": "1", "_selected_action": "x"}
TO_BOB = {"agent": "", "owner": "user", "user": "bob"}


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


@pytest.fixture
def memories(agent) -> dict[str, object]:
    """Two memories in each of two stores."""
    create_agent("own", memory={"backend": "sqlite", "sqlite_path": "memory/own.db"})
    drafts = [draft(f"{name} {n}", Scope(name, "ann")) for name in ("helper", "own") for n in (1, 2)]
    return {result.memory.content: result.memory for result in services.save_many(drafts)}


def reference(memory) -> str:
    return f"{memory.agent_name}:{memory.id}"


def ask(console: Client, action: str, chosen, *, follow: bool = False, **more):
    sent = {"action": action, "_selected_action": [reference(memory) for memory in chosen]} | more
    return console.post(LIST, sent, follow=follow)


def confirm(console: Client, page, **more):
    """The confirmation, as a browser sends the page's form; the page that it leads to."""
    context = page.context
    hidden = ("action", "shown_count", "carried", "carried_left_out", "token")
    sent = {name: context[name] for name in hidden} | {"across": "1" if context["across"] else "0"}
    return console.post(page.request["PATH_INFO"] + f"?{page.request['QUERY_STRING']}", sent | YES | more, follow=True)


def ask_for_all(console: Client, action: str, path: str, **more):
    return console.post(path, {"action": action, "select_across": "1", "_selected_action": "x"} | more)


@contextmanager
def broken(path):
    """The store's file can't be read for a while."""
    POOL.close_all()
    kept = path.read_bytes()
    path.write_bytes(b"no database " * 500)
    yield
    POOL.close_all()
    path.write_bytes(kept)


def outcome(result) -> dict[str, int]:
    """The totals of a result page that aren't 0."""
    return {fate: number for fate, number in result.context["totals"].items() if number}


def contents() -> set[str]:
    return {entry.content for entry in entries()}


def entries():
    return [entry for _backend, entry in search.page(PageQuery(size=100)).rows]


def types() -> set[str]:
    return {entry.type for entry in entries()}


def owners() -> dict[str, str]:
    return {entry.content: f"{entry.agent_name}/{entry.user_id}" for entry in entries()}


def test_it_deletes_over_stores_after_a_confirmation_with_counts(console, memories):
    page = ask(console, "delete_chosen", [memories["helper 1"], memories["own 2"]])
    assert page.context["total"] == 2
    assert dict(page.context["by_agent"]) == {"helper": 1, "own": 1}
    assert 'value="Delete 2 memories"' in page.content.decode()
    assert len(contents()) == 4
    result = confirm(console, page)
    assert "2 memories deleted" in result.content.decode()
    assert result.context["level"] == "success"
    assert contents() == {"helper 2", "own 1"}


def test_it_takes_all_that_match_the_filters(console, memories):
    page = ask_for_all(console, "delete_chosen", f"{LIST}?agentName=own")
    assert page.context["total"] == 2
    confirm(console, page)
    assert contents() == {"helper 1", "helper 2"}


def test_it_asks_again_when_the_list_matches_another_number(console, memories):
    page = ask_for_all(console, "delete_chosen", f"{LIST}?agentName=own", shown_count=1)
    assert "matched 1 memories; the list now matches 2" in page.content.decode()
    services.save(draft("own 3", Scope("own", "ann")))
    again = confirm(console, page)
    assert "matched 2 memories; the list now matches 3" in again.content.decode()
    assert len(contents()) == 5
    assert outcome(confirm(console, again)) == {"done": 3}
    assert contents() == {"helper 1", "helper 2"}


def test_it_asks_again_for_nothing_that_was_ticked(console, memories):
    page = ask(console, "delete_chosen", [memories["own 1"]])
    services.save(draft("own 3", Scope("own", "ann")))
    assert outcome(confirm(console, page)) == {"done": 1}


def test_it_says_what_was_gone_before_the_question(console, memories):
    services.delete(Scope.all_users("helper"), [memories["helper 1"].id])
    page = ask(console, "delete_chosen", [memories["helper 1"], memories["helper 2"]])
    assert [item.name for item in page.context["left_out"]] == [reference(memories["helper 1"])]
    result = confirm(console, page)
    assert outcome(result) == {"done": 1}
    assert result.context["level"] == "warning"
    assert reference(memories["helper 1"]) in result.content.decode()


def test_it_says_what_was_gone_after_the_question(console, memories):
    page = ask(console, "delete_chosen", [memories["helper 1"], memories["helper 2"]])
    services.delete(Scope.all_users("helper"), [memories["helper 1"].id])
    result = confirm(console, page)
    assert outcome(result) == {"done": 1, "skipped": 1}
    assert result.context["not_done"] == [[reference(memories["helper 1"]), "skipped", "It was deleted meanwhile."]]


@pytest.mark.parametrize(("action", "answer"), [("delete", {}), ("retype", {"type": "project"}), ("move", TO_BOB)])
def test_it_leaves_alone_what_changed_after_the_question(console, memories, action, answer):
    page = ask(console, f"{action}_chosen", memories.values())
    changed = memories["own 1"]
    services.update(Scope.all_users("own"), changed.id, MemoryChanges(content="edited"))
    result = confirm(console, page, **answer)
    assert outcome(result) == {"done": 3, "conflict": 1}
    assert result.context["not_done"][0][:2] == [reference(changed), "conflict"]
    assert result.context["level"] == "warning"
    kept = search.get(Scope.all_users("own"), changed.id)
    assert (kept.content, kept.type, kept.user_id) == ("edited", "user", "ann")


def test_it_repeats_nothing_when_a_confirmation_is_sent_twice(console, memories):
    page = ask(console, "move_chosen", [memories["own 1"]])
    first = confirm(console, page, **TO_BOB)
    second = confirm(console, page, **TO_BOB)
    assert outcome(first) == outcome(second) == {"done": 1}
    assert second.request["PATH_INFO"] == first.request["PATH_INFO"]
    assert outcome(console.get(first.request["PATH_INFO"])) == {"done": 1}


def test_it_shows_a_result_to_its_owner_alone(console, memories, django_user_model):
    path = confirm(console, ask(console, "delete_chosen", [memories["own 1"]])).request["PATH_INFO"]
    console.force_login(django_user_model.objects.create_superuser("other"))
    assert console.get(path).status_code == 404


def test_it_forgets_a_result_after_a_day(console, memories, data_dir):
    path = confirm(console, ask(console, "delete_chosen", [memories["own 1"]])).request["PATH_INFO"]
    for file in (data_dir / "console").iterdir():
        os.utime(file, (0, 0))
    confirm(console, ask(console, "delete_chosen", [memories["own 2"]]))
    assert console.get(path).status_code == 404


def test_it_changes_types_and_says_which_had_it_already(console, memories):
    services.update(Scope.all_users("own"), memories["own 1"].id, MemoryChanges(type="project"))
    result = confirm(console, ask(console, "retype_chosen", memories.values()), type="project")
    assert outcome(result) == {"done": 3, "skipped": 1}
    assert "No change: it has this type already." in result.content.decode()
    assert types() == {"project"}


def test_it_changes_no_type_to_one_that_the_metadata_does_not_fit(console, memories):
    MemoryType.objects.create(key="skill", name="s", metadata_schema={"type": "object", "required": ["level"]})
    result = confirm(console, ask(console, "retype_chosen", [memories["own 1"]]), type="skill")
    assert outcome(result) == {"skipped": 1}
    assert "fit the schema" in result.context["not_done"][0][2]


@pytest.mark.parametrize(
    ("action", "answer", "problem"),
    [
        ("retype", {"type": "nope"}, "Select a valid choice"),
        ("move", {"agent": "ghost", "owner": "keep", "user": ""}, "Select a valid choice"),
        ("move", {"agent": "", "owner": "keep", "user": ""}, "Choose another agent, another user, or both."),
        ("move", {"agent": "", "owner": "user", "user": " "}, "Name the user"),
        ("move", {"agent": "", "owner": "keep", "user": "bob"}, "A user is named, but not chosen."),
        ("move", {"agent": "", "owner": "user", "user": "a\nb"}, "control characters"),
    ],
)
def test_it_asks_again_for_an_answer_that_can_not_be(console, memories, action, answer, problem):
    again = confirm(console, ask(console, f"{action}_chosen", memories.values()), **answer)
    assert problem in again.content.decode()
    assert again.context["total"] == 4
    assert types() == {"user"}


def test_it_moves_to_another_user_or_to_all(console, memories):
    confirm(console, ask(console, "move_chosen", [memories["own 1"]]), **TO_BOB)
    confirm(console, ask(console, "move_chosen", [memories["own 2"]]), agent="", owner="shared", user="")
    assert owners() == {"helper 1": "helper/ann", "helper 2": "helper/ann", "own 1": "own/bob", "own 2": "own/"}


def test_it_moves_to_another_agent_and_says_the_new_id(console, memories):
    page = ask(console, "move_chosen", [memories["own 1"], memories["helper 1"]])
    result = confirm(console, page, agent="helper", owner="keep", user="")
    assert outcome(result) == {"done": 1, "skipped": 1}
    ((old, new),) = result.context["moved"]
    assert old == reference(memories["own 1"])
    agent, _colon, number = new.partition(":")
    assert search.get(Scope.all_users(agent), int(number)).content == "own 1"
    assert owners()["own 1"] == "helper/ann"


def test_it_moves_no_second_of_the_same_memory(console, memories):
    services.save(draft("own 1", Scope("helper", "ann")))
    result = confirm(console, ask(console, "move_chosen", [memories["own 1"]]), agent="helper", owner="keep", user="")
    assert outcome(result) == {"skipped": 1}
    assert search.get(Scope.all_users("own"), memories["own 1"].id)


def test_it_asks_for_the_number_when_it_deletes_many(console, memories, monkeypatch):
    monkeypatch.setattr(bulk_forms, "TYPED_ABOVE", 3)
    page = ask(console, "delete_chosen", memories.values())
    again = confirm(console, page, typed="3")
    assert "it is 4" in again.content.decode()
    assert len(contents()) == 4
    assert outcome(confirm(console, again, typed="4")) == {"done": 4}


def test_it_works_in_batches(console, memories, monkeypatch):
    monkeypatch.setattr("memory_app.bulk.BATCH", 1)
    assert outcome(confirm(console, ask(console, "delete_chosen", memories.values()))) == {"done": 4}
    assert contents() == set()


def test_it_says_which_rows_a_dead_store_left_undone_and_tries_them_again(console, memories, data_dir):
    page = ask(console, "delete_chosen", memories.values())
    with broken(data_dir / "memory" / "own.db"):
        result = confirm(console, page)
        assert outcome(result) == {"done": 2, "failed": 2}
        assert {row[0] for row in result.context["not_done"]} == {reference(memories[f"own {n}"]) for n in (1, 2)}
        assert "Retry 2 failed memories" in result.content.decode()
        assert result.context["level"] == "warning"
    again = console.post(result.request["PATH_INFO"], follow=True)
    assert outcome(again) == {"done": 2}
    assert contents() == set()
    assert again.request["PATH_INFO"] in console.get(result.request["PATH_INFO"]).content.decode()
    assert outcome(console.post(result.request["PATH_INFO"], follow=True)) == {"done": 2}


def test_it_leaves_out_what_can_not_be_read_and_never_counts_it_as_none(console, memories, data_dir):
    with broken(data_dir / "memory" / "own.db"):
        page = ask_for_all(console, "delete_chosen", LIST)
        assert "At least 2 memories" in page.content.decode()
        result = confirm(console, page)
        assert outcome(result) == {"done": 2}
        assert result.context["unread_stores"] == ["memory/own.db"]
        assert result.context["level"] == "warning"
        ticked = ask(console, "delete_chosen", [memories["own 1"]])
        assert [item.name for item in ticked.context["left_out"]] == [reference(memories["own 1"])]


@pytest.mark.parametrize(
    "carried",
    ["", "[]", "{}", "[[1]]", '{"helper": {"x": "y"}}', "null", '{"helper": [[], {}, 5]}', '{"helper": {"1": 5}}'],
)
def test_it_does_nothing_for_a_confirmation_that_names_nothing(console, memories, carried):
    sent = YES | {"action": "delete_chosen", "carried": carried}
    assert "Nothing was done" in console.post(LIST, sent, follow=True).content.decode()
    assert len(contents()) == 4


@pytest.mark.parametrize("name", ["token", "carried_left_out", "shown_count", "across"])
@pytest.mark.parametrize("value", ["", "../../x", "[[1]]", "[" * 100_000, "²"])
def test_it_takes_a_spoilt_form_for_what_it_says(console, memories, name, value):
    page = ask(console, "delete_chosen", [memories["own 1"]])
    assert outcome(confirm(console, page, **{name: value})) == {"done": 1}


def test_it_exports_what_an_import_takes(console, memories):
    response = ask(console, "export_json", memories.values())
    lines = b"".join(response.streaming_content).decode().splitlines()
    drafts = [line.draft for line in read_lines(lines, "other", None, "user")]
    assert {item.content for item in drafts} == contents()
    assert {item.user_id for item in drafts} == {"ann"}
    assert json.loads(lines[0])["metadata"] == {}


@pytest.mark.parametrize("action", ["export_json", "export_csv"])
def test_it_exports_all_that_match_or_says_that_they_are_too_many(console, memories, monkeypatch, action):
    monkeypatch.setattr(exporting, "MAX_SELECTED", 3)
    chosen = {"action": action, "select_across": "1", "_selected_action": [reference(memories["own 1"])]}
    page = console.post(LIST, chosen, follow=True)
    assert "4 memories match; at most 3 are exported at once." in page.content.decode()
    few = console.post(f"{LIST}?agentName=own", chosen)
    assert "attachment" in few["Content-Disposition"]


@pytest.mark.parametrize("begin", [*"=+-@\t\r\n", "＝", "＋", "－", "＠"])
def test_it_exports_csv_in_which_no_text_is_a_formula(console, agent, begin):
    content = f'{begin}1+1 "q", 花生\n<script>alert(1)</script>'
    memory = services.save(draft(content, name="@name", description="-1")).memory
    text = b"".join(ask(console, "export_csv", [memory]).streaming_content).decode()
    assert text.startswith("\ufeffagentName,")
    (row,) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    assert (row["content"], row["name"], row["description"]) == (f"'{content}", "'@name", "'-1")


def test_it_exports_other_text_to_csv_as_it_is(console, agent):
    content = "x" * 8_000 + "\u202e🙂 'quoted'\r\n\u2028end"
    memory = services.save(draft(content, metadata={"a": [1, None]})).memory
    text = b"".join(ask(console, "export_csv", [memory]).streaming_content).decode()
    (row,) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    assert (row["content"], json.loads(row["metadata"])) == (content, {"a": [1, None]})


@pytest.mark.parametrize(
    ("agents", "name"),
    [(["own"], "memories-own-"), (["客服 A"], "memories-%E5%AE%A2"), (["own", "helper"], "memories-20")],
)
def test_it_names_the_file_after_the_agent_and_the_day(console, memories, agents, name):
    create_agent("客服 A")
    services.save(draft("花生", Scope("客服 A", "ann")))
    chosen = [entry for entry in entries() if entry.agent_name in agents]
    header = ask(console, "export_json", chosen)["Content-Disposition"]
    assert name in header
    assert f"{timezone.localdate().isoformat()}.jsonl" in header


@pytest.mark.parametrize("across", [True, False])
def test_it_exports_nothing_while_a_store_is_dead(console, memories, data_dir, across):
    with broken(data_dir / "memory" / "own.db"):
        more = {"select_across": "1"} if across else {}
        page = ask(console, "export_json", memories.values(), follow=True, **more)
    assert "memory/own.db" in page.content.decode()
    assert "Content-Disposition" not in page


@pytest.mark.parametrize(("action", "told"), [("export_json", '{"error": "The memory store'), ("export_csv", "ERROR,")])
def test_it_ends_a_file_with_an_error_when_a_store_dies_underway(
    console, memories, data_dir, monkeypatch, action, told
):
    monkeypatch.setattr(chosen, "MAX_PAGE_SIZE", 1)
    content = ask(console, action, memories.values(), select_across="1").streaming_content
    begin = next(content) + next(content)
    with broken(data_dir / "memory" / "own.db"):
        lines = (begin + b"".join(content)).decode().splitlines()
    assert "helper 1" in begin.decode()
    assert lines[-1].startswith(told)
    assert "memory/own.db" in lines[-1]


def test_it_exports_the_oldest_first(console, memories):
    response = ask(console, "export_json", memories.values(), select_across="1")
    times = [json.loads(line)["createdAt"] for line in b"".join(response.streaming_content).splitlines()]
    assert times == sorted(times)
    assert len(times) == 4


def test_it_offers_only_what_the_operator_may(client, django_user_model, memories):
    from django.contrib.auth.models import Permission

    clerk = django_user_model.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client.force_login(clerk)
    page = client.get(LIST).content.decode()
    assert "export_csv" in page
    assert "delete_chosen" not in page
    ask(client, "delete_chosen", memories.values())
    assert len(contents()) == 4
