"""What every store must do: one class, run against each backend on a real engine."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections

from memory_app.contracts import MemoryChanges, Outcome, PageQuery, Scope, SearchOptions
from memory_app.exceptions import Conflict, InvalidInput, MemoryNotFound, Refused
from memory_app.providers.base import MemoryProvider
from memory_app.providers.rows import SMALL_OWNER
from tests.conftest import draft

ANN, BOB, SHARED = Scope("helper", "ann"), Scope("helper", "bob"), Scope("helper", "")
EVERYONE = Scope.all_users("helper")
SYNTAX = """status: open|say "hi|tea OR|AND|NOT tea|NEAR(tea|(tea|tea)|*
^tea|{body}: tea|body:tea|a,b|x=1|#tag|[x]|<b>|\\|+*
tea**|@3 tea|~|- -|'; --|"tea" @8|%|_|a-|kit@example.test|C++|++tea|"--dry-run"|"unfinished|-- tea"""
MORE = {"Mia lives in Asia", "🍣 for lunch", "café au lait"}
QUERIES = SYNTAX.replace("\n", "|").split("|")


def texts(hits) -> list[str]:
    return [hit.memory.content for hit in hits]


def find(provider: MemoryProvider, query: str, scope: Scope = ANN, **options) -> list[str]:
    return texts(provider.search(query, SearchOptions(scope, **options)))


class ProviderContract:
    """A subclass gives the fixture `provider`: an empty store."""

    @pytest.fixture
    def save(self, provider: MemoryProvider) -> Callable:
        return lambda content, scope=ANN, **fields: provider.save(draft(content, scope, **fields)).memory

    # save

    def test_it_returns_what_it_saved(self, provider, save):
        memory = save("Drinks green tea", name="Tea", description="Drinks", metadata={"n": 1, "中文": None, "x": [1.5]})
        assert provider.get(ANN, memory.id) == memory
        assert (memory.name, memory.description, memory.metadata) == (
            "Tea",
            "Drinks",
            {"n": 1, "中文": None, "x": [1.5]},
        )
        assert memory.created_at == memory.updated_at
        assert memory.created_at.tzinfo is not None

    def test_it_keeps_text_as_written(self, save):
        text = "🍣 \r\n\t“q” \\ ' \" % _ <b> \u202eRTL 𠮷野家"
        assert save(text, name="🍺").content == text

    def test_it_recognises_the_same_text_of_the_same_owner_and_type(self, provider):
        first = provider.save(draft("Same"))
        second = provider.save(draft("Same", metadata={"other": 1}))
        assert (first.outcome, second.outcome) == (Outcome.CREATED, Outcome.DUPLICATE)
        assert second.memory == first.memory

    @pytest.mark.parametrize(
        "other", [{"scope": BOB}, {"type": "project"}, {"name": "other"}, {"description": "other"}, {"content": "same"}]
    )
    def test_it_takes_anything_else_for_another_memory(self, provider, other):
        provider.save(draft("Same", name="n"))
        changed = {"content": "Same", "name": "n"} | other
        assert provider.save(draft(changed.pop("content"), **changed)).outcome is Outcome.CREATED

    def test_it_saves_many_and_tells_each_outcome(self, provider, save):
        save("a")
        results = provider.save_many([draft("a"), draft("b"), draft("b"), draft("c")])
        assert [result.outcome for result in results] == ["duplicate", "created", "duplicate", "created"]
        assert results[1].memory.id == results[2].memory.id

    def test_it_keeps_a_given_time_to_the_microsecond(self, save):
        time = datetime(2021, 5, 6, 1, 2, 3, 456789, tzinfo=UTC)
        assert save("old", created_at=time).created_at == time
        assert save("whole", created_at=time.replace(microsecond=0)).updated_at == time.replace(microsecond=0)

    def test_it_saves_a_deleted_text_again(self, provider, save):
        provider.delete(ANN, [save("again").id])
        save("again")
        assert provider.count(PageQuery()) == 1

    def test_it_stores_one_of_many_identical_saves_at_once(self, provider):
        outcomes: list[str] = []
        run_at_once(20, lambda: outcomes.append(provider.save(draft("at once")).outcome))
        assert sorted(outcomes) == ["created"] + ["duplicate"] * 19
        assert provider.count(PageQuery()) == 1

    # update

    def test_it_changes_only_what_is_named(self, provider, save):
        memory = save("old", description="kept", metadata={"src": "chat"})
        changed = provider.update(ANN, memory.id, MemoryChanges(content="new"))
        assert (changed.content, changed.description, changed.metadata) == ("new", "kept", {"src": "chat"})
        assert (changed.type, changed.created_at) == (memory.type, memory.created_at)
        assert provider.get(ANN, memory.id) == changed

    def test_it_clears_metadata_by_none(self, provider, save):
        memory = save("text", metadata={"a": 1})
        assert provider.update(ANN, memory.id, MemoryChanges(metadata=None)).metadata == {}

    def test_it_finds_the_new_text_and_not_the_old(self, provider, save):
        provider.update(ANN, save("green parrot").id, MemoryChanges(content="blue whale", name="whale"))
        assert find(provider, "parrot") == []
        assert find(provider, "whale") == ["blue whale"]

    def test_it_refuses_a_stale_update_and_shows_the_current_row(self, provider, save):
        memory = save("first")
        current = provider.update(ANN, memory.id, MemoryChanges(content="second"), memory.updated_at)
        with pytest.raises(Conflict) as caught:
            provider.update(ANN, memory.id, MemoryChanges(content="third"), memory.updated_at)
        assert caught.value.current == current
        assert provider.get(ANN, memory.id) == current

    def test_it_lets_a_check_see_the_memory_and_refuse_the_edit(self, provider, save):
        memory = save("first")
        seen: list[object] = []

        def refuse(current) -> None:
            seen.append(current)
            raise InvalidInput("no")

        with pytest.raises(InvalidInput):
            provider.update(ANN, memory.id, MemoryChanges(content="second"), memory.updated_at, refuse)
        assert seen == [memory]
        assert provider.get(ANN, memory.id) == memory

    def test_it_moves_the_version_strictly_forward(self, provider, save):
        memory = save("v", created_at=datetime.now(UTC) + timedelta(days=1))
        for number in range(20):
            later = provider.update(EVERYONE, memory.id, MemoryChanges(content=f"v{number}"), memory.updated_at)
            assert later.updated_at > memory.updated_at
            memory = later

    def test_it_lets_one_of_many_writers_with_the_same_version_win(self, provider, save):
        memory = save("start")
        outcomes: list[str] = []

        def write() -> None:
            try:
                name = threading.current_thread().name
                provider.update(ANN, memory.id, MemoryChanges(content=name), memory.updated_at)
                outcomes.append("won")
            except Conflict:
                outcomes.append("conflict")

        run_at_once(8, write)
        assert sorted(outcomes) == ["conflict"] * 7 + ["won"]

    def test_it_loses_no_blind_update(self, provider, save):
        memory = save("n", metadata={})
        run_at_once(4, lambda: [provider.update(ANN, memory.id, MemoryChanges(content=f"{i}")) for i in range(5)])
        assert provider.get(ANN, memory.id).updated_at > memory.updated_at

    def test_it_refuses_a_missing_memory(self, provider):
        with pytest.raises(MemoryNotFound):
            provider.update(ANN, 12345, MemoryChanges(content="x"))

    def test_it_refuses_a_shared_memory_to_a_user(self, provider, save):
        shared = save("for all", SHARED)
        with pytest.raises(Refused):
            provider.update(ANN, shared.id, MemoryChanges(content="x"))
        assert provider.update(EVERYONE, shared.id, MemoryChanges(content="y")).content == "y"

    # delete

    def test_it_deletes_and_counts(self, provider, save):
        ids = [save("one").id, save("two").id]
        assert provider.delete(ANN, [*ids, 999]) == 2
        assert provider.delete(ANN, ids) == 0
        assert find(provider, "one two") == []

    def test_it_updates_many_and_tells_what_it_refused(self, provider, save):
        good, stale, refused = save("one"), save("two"), save("three")
        provider.update(ANN, stale.id, MemoryChanges(name="edited"))

        def check(memory):
            if memory.content == "three":
                raise InvalidInput("no")

        expected = {memory.id: memory.updated_at for memory in (good, stale, refused)} | {10**9: good.updated_at}
        told = provider.update_many(EVERYONE, MemoryChanges(type="project"), expected, check)
        assert (told[good.id].type, provider.get(ANN, good.id)) == ("project", told[good.id])
        assert [type(told[number]) for number in (stale.id, refused.id, 10**9)] == [
            Conflict,
            InvalidInput,
            MemoryNotFound,
        ]
        assert provider.get(ANN, refused.id) == refused

    def test_it_deletes_only_what_is_as_expected(self, provider, save):
        kept, changed, unread = save("a"), save("b"), save("c")
        current = provider.update(ANN, changed.id, MemoryChanges(content="edited"))
        expected = {memory.id: memory.updated_at for memory in (kept, changed)}
        assert provider.delete(ANN, [kept.id, changed.id, unread.id], expected) == 1
        assert provider.get(ANN, kept.id) is None
        assert provider.get(ANN, changed.id) == current
        assert provider.get(ANN, unread.id) == unread

    def test_it_deletes_only_within_the_scope(self, provider, save):
        ids = [save("a", BOB).id, save("b", SHARED).id, save("c", Scope("other", "ann")).id]
        assert provider.delete(ANN, ids) == 0
        assert provider.count(PageQuery()) == 3
        assert provider.delete(EVERYONE, ids) == 2

    # search

    def test_it_recalls_by_a_raw_question_in_english(self, provider, save):
        save("Prefers decaf coffee after 3pm")
        save("The cat sleeps on the sofa")
        assert find(provider, "what coffee does she usually drink in the afternoon?") == [
            "Prefers decaf coffee after 3pm"
        ]

    def test_it_recalls_by_a_raw_question_in_chinese(self, provider, save):
        save("用户对花生过敏")
        save("GitHub备份放在NAS")
        assert find(provider, "我对什么东西过敏？") == ["用户对花生过敏"]
        assert find(provider, "花生可以吃吗") == ["用户对花生过敏"]
        assert find(provider, "GitHub备份怎么恢复") == ["GitHub备份放在NAS"]
        assert find(provider, "NAS上的备份") == ["GitHub备份放在NAS"]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("locker code is QX-417", "-417"),
            ("Mina doesn't eat peanuts", "Mina doesn't eat"),
            ("Mina doesn't eat peanuts", "doesn't"),
            ("rota lives at /srv/rota.txt, ask @kit, budget 50% (why?)", "@kit"),
            ("rota lives at /srv/rota.txt, ask @kit, budget 50% (why?)", "50%"),
            ("rota lives at /srv/rota.txt, ask @kit, budget 50% (why?)", "why?"),
            ("rota lives at /srv/rota.txt, ask @kit, budget 50% (why?)", "/srv/rota.txt"),
            ("野猫在院子里", "猫"),
            ("野猫在院子里", "院子"),
            ("Ключ у Сони", "Сони"),
            ("Zoë likes café crème", "cafe creme"),
            ("năm nay", "nam"),
            ("likes C#", "C#"),
            ("stranger in a strange land", "in a strange land"),
            ("Mia lives in Asia", "Asia"),
            ("dinner with 🍣", "🍣"),
            ("written on 5月6号", "May 6th"),
            ("moved to PostgreSQL", "postgres"),
        ],
    )
    def test_it_finds_text_by_its_parts(self, provider, save, text, query):
        save(text)
        save("an unrelated note 无关的记录")
        assert find(provider, query) == [text]

    @pytest.mark.parametrize("query", [*QUERIES, "a\0b", "\ud83d", "tea " * 3000, "茶" * 3000, "\u200b", "\u202e"])
    def test_it_takes_query_syntax_for_text(self, provider, save, query):
        save("tea in the body of the text")
        assert find(provider, query) in ([], ["tea in the body of the text"])

    @pytest.mark.parametrize("query", ["", "   ", '"', '""', "---", "!!!", "。。。", "？", "？？", "\n"])
    def test_it_finds_nothing_for_a_query_without_terms(self, provider, save, query):
        save("anything")
        assert find(provider, query) == []

    def test_it_ranks_the_row_with_more_of_the_words_first(self, provider, save):
        save("quick tea")
        save("quick ok lunch")
        assert find(provider, "quick ok")[0] == "quick ok lunch"
        assert find(provider, "ok") == ["quick ok lunch"]

    def test_it_ranks_ties_newest_first(self, provider, save):
        first, second = save("tea one"), save("tea two")
        assert find(provider, "tea") == ["tea two", "tea one"]
        provider.update(ANN, first.id, MemoryChanges(description="x"))
        provider.update(ANN, second.id, MemoryChanges(description="x"))
        assert find(provider, "tea") == ["tea two", "tea one"]

    def test_it_narrows_by_type_and_limit(self, provider, save):
        for number in range(4):
            save(f"tea {number}", type="project" if number % 2 else "user")
        assert find(provider, "tea", type="project") == ["tea 3", "tea 1"]
        assert find(provider, "tea", limit=1) == ["tea 3"]

    def test_it_recalls_shared_memories_for_every_user(self, provider, save):
        save("office wifi code", SHARED)
        assert (
            find(provider, "wifi")
            == find(provider, "wifi", BOB)
            == find(provider, "wifi", SHARED)
            == ["office wifi code"]
        )

    def test_it_searches_all_users_only_when_asked(self, provider, save):
        save("gate code heron", ANN)
        save("gate code crane", BOB)
        save("gate code stork", Scope("other", "ann"))
        assert sorted(find(provider, "gate code", EVERYONE)) == ["gate code crane", "gate code heron"]

    # a large owner, whose rows come from the full-text index

    @pytest.fixture
    def crowd(self, provider):
        drafts = [
            draft(f"note {n} about {'parrots' if n % 50 == 0 else 'whales'} 第{n}条", BOB)
            for n in range(SMALL_OWNER * 2)
        ]
        provider.save_many(drafts)

    def test_it_finds_the_same_in_a_large_owner(self, provider, save, crowd):
        save("the only heron, 花生过敏", BOB)
        save("a heron of somebody else 花生过敏", ANN)
        assert find(provider, "where is the heron?", BOB) == ["the only heron, 花生过敏"]
        assert find(provider, "花生", BOB) == ["the only heron, 花生过敏"]
        assert find(provider, "敏", BOB) == ["the only heron, 花生过敏"]
        assert find(provider, "hero", BOB) == ["the only heron, 花生过敏"]
        assert len(find(provider, "parrots", BOB, limit=50)) == SMALL_OWNER * 2 / 50
        assert find(provider, "parrots 100", BOB, limit=1)[0].startswith("note 100 about parrots")
        assert find(provider, "zebra", BOB) == []

    def test_it_narrows_a_large_owner_by_type(self, provider, save, crowd):
        save("whales of another type", BOB, type="project")
        assert find(provider, "whales", BOB, type="project") == ["whales of another type"]

    def test_it_mixes_shared_memories_into_a_large_owner(self, provider, save, crowd):
        save("shared heron", SHARED)
        assert find(provider, "heron", BOB) == ["shared heron"]

    # isolation

    @pytest.mark.parametrize(
        "user", ["bob", "", "ann%", "a_n", "ann' OR '1'='1", "Ann", "ANN", "änn", "ann\u200b", "an"]
    )
    def test_it_shows_no_other_user_anything(self, provider, save, user):
        memory = save("gate code heron")
        other = Scope("helper", user)
        assert find(provider, "gate code heron", other) == []
        assert provider.list(other) == []
        assert provider.get(other, memory.id) is None
        assert provider.count_by_type(other) == {}
        assert provider.delete(other, [memory.id]) == 0
        with pytest.raises(MemoryNotFound):
            provider.update(other, memory.id, MemoryChanges(content="mine"))

    def test_it_shows_no_other_agent_anything(self, provider, save):
        memory = save("gate code heron")
        for other in (Scope("Helper", "ann"), Scope("helper2", "ann"), Scope.all_users("other")):
            assert find(provider, "gate code heron", other) == []
            assert provider.get(other, memory.id) is None
            assert provider.list(other) == []

    def test_it_keeps_alike_users_apart(self, provider, save):
        for user in ("alice", "Alice", "álice"):
            save(f"secret of {user}", Scope("helper", user))
        for user in ("alice", "Alice", "álice"):
            assert find(provider, "secret", Scope("helper", user)) == [f"secret of {user}"]
        assert provider.stats()[0].users == 3

    def test_it_keeps_emoji_apart(self, provider, save):
        save("🍣", name="🍣")
        save("🍺", name="🍺")
        assert find(provider, "🍣") == ["🍣"]
        assert provider.page(PageQuery(keyword="🍺")).total == 1

    # operators' reads

    def test_it_lists_the_newest_first(self, provider, save):
        for number in range(3):
            save(str(number))
        save("shared", SHARED)
        assert [memory.content for memory in provider.list(ANN, limit=2)] == ["shared", "2"]
        assert [memory.content for memory in provider.list(ANN, type="project")] == []

    def test_it_pages_without_gaps_or_repeats(self, provider):
        time = datetime(2026, 1, 1, tzinfo=UTC)
        provider.save_many([draft(f"row {n}", created_at=time) for n in range(25)])
        pages = [provider.page(PageQuery(page=number, size=10)) for number in (1, 2, 3, 4)]
        ids = [entry.id for page in pages for _backend, entry in page.rows]
        assert ids == sorted(set(ids), reverse=True)
        assert [len(page.rows) for page in pages] == [10, 10, 5, 0]
        assert {page.total for page in pages} == {25}

    def test_it_sorts_both_ways(self, provider, save):
        for name in ("b", "a", "c"):
            save(name)
        for descending, expected in ((False, ["a", "b", "c"]), (True, ["c", "b", "a"])):
            page = provider.page(PageQuery(order="name", descending=descending))
            assert [entry.name for _backend, entry in page.rows] == expected

    def test_it_filters_by_agents_users_and_types(self, provider, save):
        save("1")
        save("2", BOB, type="project")
        save("3", Scope("other", "ann"))
        assert provider.count(PageQuery(agent_names=("helper",))) == 2
        assert provider.count(PageQuery(user_ids=("ann", "bob"), types=("user",))) == 2
        assert provider.count(PageQuery(agent_names=("helper",), user_ids=("bob",), types=("project",))) == 1
        assert provider.count(PageQuery(user_ids=("",))) == 0

    def test_it_tells_shared_memories_from_those_of_users(self, provider, save):
        save("1")
        save("2", SHARED)
        save("3", SHARED)
        assert provider.count(PageQuery(shared=True)) == 2
        assert provider.count(PageQuery(shared=False)) == 1
        assert provider.count(PageQuery(shared=True, user_ids=("ann",))) == 0

    def test_it_filters_by_when_memories_were_created_and_updated(self, provider, save):
        begin, middle, end = (datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3))
        save("old", created_at=begin)
        edited = save("edited", created_at=middle)
        provider.update(ANN, edited.id, MemoryChanges(description="x"))
        assert provider.count(PageQuery(created_from=begin, created_before=middle)) == 1
        assert provider.count(PageQuery(created_from=begin, created_before=end)) == 2
        assert provider.count(PageQuery(created_before=begin)) == 0
        assert provider.count(PageQuery(updated_before=end)) == 1
        found = provider.page(PageQuery(updated_from=end, created_from=middle)).rows
        assert [entry.content for _backend, entry in found] == ["edited"]

    def test_it_says_which_words_no_index_can_find(self, provider, save):
        save("green tea 猫")
        assert "猫" in provider.unindexed("猫 tea")
        assert provider.unindexed("  ") == []

    def test_it_reads_within_its_patience(self, provider, save):
        save("tea")
        provider.patience = 5.0
        assert provider.count(PageQuery(keyword="tea")) == 1

    @pytest.mark.parametrize(
        ("keyword", "expected"),
        [
            ("quick ok", {"quick ok lunch"}),
            ("QUICK", {"quick tea", "quick ok lunch"}),
            ("ok", {"quick ok lunch"}),
            ("猫", {"喜欢猫", "喜欢狗和猫咪"}),
            ("喜欢 猫咪", {"喜欢狗和猫咪"}),
            ("c#", {"likes C#"}),
            ("100%", {"100% sure"}),
            ("%", {"100% sure"}),
            ("_", set()),
            ('"', set()),
            ("AND", set()),
            ("ick t", {"quick tea"}),
            ("ДОМ", {"дом у реки"}),
            ("ДО", {"дом у реки"}),
            ("Asia", {"Mia lives in Asia"}),
            ("mia a", {"Mia lives in Asia"}),
            ("ives in", {"Mia lives in Asia"}),
            ("🍣", {"🍣 for lunch"}),
            ("🍺", set()),
            ("cafe", set()),
            ("CAFÉ", {"café au lait"}),
            ("é", {"café au lait"}),
            (
                "  ",
                {"quick tea", "quick ok lunch", "喜欢猫", "喜欢狗和猫咪", "likes C#", "100% sure", "дом у реки"} | MORE,
            ),
        ],
    )
    def test_it_finds_every_word_as_a_substring(self, provider, save, keyword, expected):
        for text in (
            "quick tea",
            "quick ok lunch",
            "喜欢猫",
            "喜欢狗和猫咪",
            "likes C#",
            "100% sure",
            "дом у реки",
            *MORE,
        ):
            save(text)
        assert {entry.content for _backend, entry in provider.page(PageQuery(keyword=keyword)).rows} == expected

    def test_it_counts_by_agent_type_and_user(self, provider, save):
        save("1")
        save("2", BOB, type="project")
        last = save("3", Scope("other", "ann"))
        helper, other = provider.stats()
        assert (helper.agent_name, helper.count, helper.users) == ("helper", 2, 2)
        assert helper.by_type == {"user": 1, "project": 1}
        assert (other.count, other.last_updated_at) == (1, last.updated_at)
        assert [row.agent_name for row in provider.stats(["other", "nobody"])] == ["other"]
        assert provider.count_by_type(ANN) == {"user": 1}

    def test_it_gives_keys_and_entries_for_merging(self, provider, save):
        first, second = save("a"), save("b")
        keys = provider.keys(PageQuery(), 10)
        assert [key.id for key in keys] == [second.id, first.id]
        assert provider.entries([first.id, 999]) == {first.id: first}


def run_at_once(number: int, work: Callable[[], object]) -> None:
    """Runs `work` in several threads that start together; an error of any is raised here."""
    barrier, errors = threading.Barrier(number), []

    def enter() -> None:
        try:
            barrier.wait()
            work()
        except Exception as error:  # noqa: BLE001  (raised in the main thread below)
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=enter) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
