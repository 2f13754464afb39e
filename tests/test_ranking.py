import datetime
import math
import random

import pytest

from memory_app.analysis import Kind, Prefixes, index_terms, owner_prefixes, parse_query, scoped
from memory_app.ranking import Candidate, Scored, Statistics, rank

MINA = owner_prefixes("helper", "mina")
SHARED = owner_prefixes("helper", "")
KIT = owner_prefixes("helper", "kit")


def rows(*texts: str, owner: Prefixes = MINA, first: int = 0) -> list[Candidate]:
    """Later texts are newer; ids count from `first`."""
    return [Candidate(first + n, index_terms(text, owner), n) for n, text in enumerate(texts)]


def search(query: str, candidates: list[Candidate], limit: int | None = None) -> list[Scored]:
    return rank(parse_query(query), [MINA, SHARED], candidates, limit=limit)


def order(query: str, *texts: str, limit: int | None = None) -> list[int]:
    return [hit.id for hit in search(query, rows(*texts), limit)]


def matched(hit: Scored) -> list[str]:
    return [term.surface for term in hit.matched]


# -- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "texts", "expected"),
    [
        ("quick ok", ("quick tea", "quick ok lunch"), [1, 0]),
        ("ok", ("quick tea", "quick ok lunch"), [1]),
        ("喜欢 猫咪", ("喜欢猫", "喜欢狗和猫咪"), [1, 0]),
        ("猫", ("喜欢猫", "喜欢狗和猫咪", "花生"), [0, 1]),
        ("C#", ("likes C#", "likes tea"), [0]),
        ("C++", ("vitamin C", "likes C++"), [1, 0]),
        ("我对什么东西过敏？", ("GitHub备份放在NAS", "用户对花生过敏"), [1]),
        ("花生可以吃吗", ("GitHub备份放在NAS", "用户对花生过敏"), [1]),
        ("GitHub备份怎么恢复", ("GitHub备份放在NAS", "用户对花生过敏"), [0]),
        ("Сони", ("green parrot", "blue whale", "Ключ у Сони"), [2]),
        ("ありがとう", ("green parrot", "いつもありがとうね"), [1]),
        ("🍣", ("🍺 on friday", "🍣 on monday"), [1]),
        ("Mina doesn't eat", ("Mina doesn't eat peanuts", "the gate is open"), [0]),
        ("in a strange land", ("stranger in a strange land", "in a box"), [0]),
    ],
)
def test_puts_the_better_text_first_and_leaves_the_others_out(
    query: str, texts: tuple[str, ...], expected: list[int]
) -> None:
    assert order(query, *texts) == expected


@pytest.mark.parametrize(
    "query",
    [
        "what coffee does she usually drink in the afternoon?",
        "can you remind me about coffee",
        "咖啡因之后还能喝coffee吗",
    ],
)
def test_answers_a_question_without_minding_its_function_words(query: str) -> None:
    assert order(
        query, "The gate is in the garden, and the key is under the pot", "Prefers decaf coffee after 3pm"
    ) == [1]


def test_prefers_the_text_that_holds_more_of_the_query() -> None:
    assert order("green tea biscuits", "green paint", "tea", "green tea", "biscuits with green tea") == [3, 2, 1, 0]


def test_prefers_the_rare_word_to_the_common_one() -> None:
    assert order("tea kettle", "tea", "tea at noon", "tea at ten", "kettle") == [3, 0, 2, 1]


def test_prefers_the_text_that_says_it_twice() -> None:
    assert order("tea", "tea and cake, later milk", "tea and cake, later tea") == [1, 0]


def test_prefers_the_shorter_text() -> None:
    assert order("tea", "tea", "tea with a long tail of other words behind it") == [0, 1]


def test_counts_a_single_character_less_than_a_pair() -> None:
    assert order("花生", "开花的生日", "花生") == [1, 0]
    (pair, single) = search("花生", rows("花生", "开花"))
    assert pair.score > 2 * single.score


def test_finds_a_memory_by_a_day_in_another_spelling() -> None:
    assert order("5月6号发生了什么", "met Kit on May 6th", "met Kit on May 7th", "met Kit in June") == [0]


def test_orders_ties_by_time_then_by_id() -> None:
    terms = index_terms("green tea", MINA)
    monday, friday = datetime.date(2024, 1, 1), datetime.date(2024, 1, 5)
    candidates = [Candidate(1, terms, monday), Candidate(2, terms, friday), Candidate(3, terms, monday)]
    assert [hit.id for hit in search("tea", candidates)] == [2, 3, 1]


def test_does_not_depend_on_the_order_of_the_candidates() -> None:
    candidates = rows("green tea", "tea", "green paint", "green tea", "blue")
    expected = search("green tea", candidates)
    for seed in range(20):
        random.Random(seed).shuffle(candidates)
        assert search("green tea", candidates) == expected


# -- what comes back -------------------------------------------------------------------------------------------------


def test_says_which_terms_matched() -> None:
    (hit,) = search("Café 花生 milk", rows("cafe sells 花生酱"))
    assert matched(hit) == ["cafe", "花生", "花", "生"]
    assert {term.kind for term in hit.matched} == set(Kind)


def test_scores_as_bm25_does_over_a_floor() -> None:
    (hit,) = search("tea", rows("tea", "ink"))
    assert hit.score == pytest.approx(0.5 + math.log(1 + (2 - 1 + 0.5) / (1 + 0.5)))


@pytest.mark.parametrize("query", ["", "？？", '""', "---"])
def test_finds_nothing_for_a_query_without_terms(query: str) -> None:
    assert order(query, "green tea", "？？", limit=5) == []


def test_finds_nothing_among_nothing() -> None:
    assert search("tea", [], limit=5) == []
    assert rank(parse_query("tea"), [], rows("tea"), limit=5) == []
    assert search("tea", [Candidate(1, "", 1)], limit=5) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_returns_the_best_of_a_limited_number(limit: int) -> None:
    candidates = rows("tea", "green tea", "green", "green tea tea")
    assert search("green tea", candidates, limit) == search("green tea", candidates)[:limit]


def test_counts_a_candidate_given_twice_once() -> None:
    candidates = rows("green tea", "tea")
    assert search("green tea", candidates * 2) == search("green tea", candidates)


# -- owners ----------------------------------------------------------------------------------------------------------


def test_ranks_own_and_shared_memories_as_one_collection() -> None:
    own, shared = rows("tea", "green paint"), rows("green tea", "ink", owner=SHARED, first=10)
    alone = rows("tea", "green paint", "green tea", "ink")
    together = search("green tea", own + shared)
    assert [hit.id for hit in together] == [10, 0, 1]
    assert [hit.score for hit in together] == [hit.score for hit in search("green tea", alone)]


def test_never_returns_or_counts_a_memory_of_another_owner() -> None:
    own = rows("green tea", "ink")
    foreign = rows(*["green tea"] * 50, owner=KIT, first=100)
    assert search("green tea", own + foreign, limit=5) == search("green tea", own, limit=5)
    assert search("gree", foreign, limit=5) == []


# -- second pass -----------------------------------------------------------------------------------------------------


def test_widens_to_beginnings_of_words_when_hits_are_missing() -> None:
    texts = ("runs postgresql at home", "likes tea", "asked for postgres")
    assert order("postgres", *texts, limit=5) == [2, 0]
    assert order("postgres", *texts, limit=1) == [2]
    assert order("postgres", *texts) == [2]


def test_keeps_widened_hits_below_the_others() -> None:
    hits = search("tea mongod", rows("mongodb mongodb", "tea", "tea tea tea", "tea with milk"), limit=9)
    assert [hit.id for hit in hits][-1] == 0
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.score for hit in hits[-2:]}) == 2


def test_says_what_a_widened_hit_begins_with() -> None:
    (hit,) = search("the mongod", rows("mongodb", "milk"), limit=5)
    assert matched(hit) == ["mongod"]
    assert hit.score > 0


def test_widens_words_of_other_alphabets() -> None:
    assert order("электро", "электростанция", "станция", limit=5) == [0]


@pytest.mark.parametrize("query", ["cat", "猫", "may"])
def test_does_not_widen_short_words(query: str) -> None:
    assert order(query, "category", "mayor", "catalogue", limit=5) == []


# -- statistics ------------------------------------------------------------------------------------------------------

WORDS = [
    "tea",
    "milk",
    "green",
    "blue",
    "paint",
    "ink",
    "gate",
    "key",
    "parrot",
    "whale",
    "花生",
    "猫咪",
    "院子",
    "喜欢",
]


def library(size: int) -> list[Candidate]:
    pick = random.Random(11)
    return rows(*(" ".join(pick.choices(WORDS, k=pick.randint(2, 12))) for _ in range(size)))


def statistics_of(query: str, candidates: list[Candidate]) -> Statistics:
    texts = [f" {candidate.terms} " for candidate in candidates]
    needles = {t: f" {scoped(t, MINA)}" + ("" if t.kind is Kind.CHAR else " ") for t in parse_query(query).terms}
    frequency = {term: sum(needle in text for text in texts) for term, needle in needles.items()}
    return Statistics(len(texts), sum(len(text) - 2 for text in texts) / len(texts), frequency)


@pytest.mark.parametrize("query", ["green tea", "喜欢猫咪", "blue parrot 花生", "猫", "whale"])
def test_ranks_the_best_part_as_it_ranks_the_whole(query: str) -> None:
    whole = library(300)
    expected = search(query, whole)
    part = [whole[hit.id] for hit in expected[:40]]
    assert rank(parse_query(query), [MINA], part, statistics_of(query, whole)) == expected[:40]


def test_counts_a_term_in_the_candidates_when_statistics_lack_it() -> None:
    whole = library(50)
    known = statistics_of("green tea", whole)
    assert rank(parse_query("green tea"), [MINA], whole, Statistics(known.rows, known.average_length, {})) == search(
        "green tea", whole
    )


def test_accepts_statistics_older_than_the_candidates() -> None:
    query = parse_query("tea")
    (hit,) = rank(query, [MINA], rows("tea"), Statistics(0, 0.0, {query.terms[0]: 9}))
    assert hit.score > 0
