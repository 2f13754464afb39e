import datetime
import random
import re
import unicodedata

import pytest

from memory_app.analysis import (
    MAX_QUERY_TERMS,
    MAX_SPELLING,
    Kind,
    Prefixes,
    QueryTerm,
    index_terms,
    normalise,
    owner_prefixes,
    parse_query,
    scoped,
)

MINA = owner_prefixes("helper", "mina")

SENTENCES = [
    "Mina doesn't eat peanuts",
    "locker code is QX-417, backup on nas.example:/srv/rota.txt (v1.2.3)",
    "用户对花生过敏，五月六号去体检",
    "野猫在院子里晒太阳",
    "毎朝、緑茶を飲むのが好きです",
    "고양이는 창가에서 잔다",
    "Ключ от кладовки висит у двери",
    "Το κλειδί είναι στο συρτάρι",
    "المفتاح في الدرج الأعلى",
    "המפתח נמצא במגירה",
    "चाय में चीनी कम रखो",
    "แมวชอบนอนบนหลังคา",
    "ແມວມັກນອນ",
    "ឆ្មាចូលចិត្តគេង",
    "ကြောင်လေးအိပ်နေတယ်",
    "party 🎉 at noon, then 🍣",
    "𠮷野家 and 人々",
]


def stored(text: str, day: datetime.date | None = None) -> list[str]:
    return index_terms(text, MINA, day).split()


def spellings(text: str, kind: Kind = Kind.WORD) -> list[str]:
    return [term.spelling for term in parse_query(text).terms if term.kind is kind]


def surfaces(text: str, kind: Kind = Kind.WORD) -> list[str]:
    return [term.surface for term in parse_query(text).terms if term.kind is kind]


def holds(text: str, term: QueryTerm) -> bool:
    wanted = scoped(term, MINA)
    return any(t.startswith(wanted) if term.kind is Kind.CHAR else t == wanted for t in stored(text))


def finds(query: str, text: str) -> bool:
    """Whether a store would: any term is enough."""
    return any(holds(text, term) for term in parse_query(query).terms)


# -- scope -----------------------------------------------------------------------------------------------------------


def test_gives_an_owner_two_different_prefixes_of_four_that_begin_with_a_digit() -> None:
    for number in range(2000):
        prefixes = owner_prefixes("helper", f"user {number}")
        assert prefixes.words != prefixes.grams
        assert all(re.fullmatch(r"[0-9][0-9a-z]{3}", prefix) for prefix in prefixes)


def test_gives_the_same_owner_the_same_prefixes_for_ever() -> None:
    assert owner_prefixes("helper", "mina") == Prefixes(words="431y", grams="931y")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", "1:b"), ("a1:", "b")),
        (("a", ""), ("", "a")),
        (("a", "kit"), ("a", "Kit")),
        (("a", "kit"), ("a", "kít")),
        (("a", "kit\0"), ("a", "kit")),
    ],
)
def test_tells_owners_apart_that_look_alike(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert owner_prefixes(*one) != owner_prefixes(*other)


def test_spreads_owners_over_the_prefixes() -> None:
    assert len({owner_prefixes("helper", str(number)) for number in range(1000)}) > 990


def test_accepts_an_owner_with_half_a_character() -> None:
    assert owner_prefixes("helper", "\ud83d") != owner_prefixes("helper", "?")


# -- spelling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", SENTENCES)
def test_spells_every_script_in_ascii_letters_and_digits(text: str) -> None:
    terms = stored(text)
    assert terms
    assert all(re.fullmatch(r"[0-9a-z]+", term) and term[:4] in MINA for term in terms)
    assert all(re.fullmatch(r"[0-9a-z]+", term.spelling) for term in parse_query(text).terms)


@pytest.mark.parametrize("text", SENTENCES)
def test_finds_a_text_by_each_of_its_own_terms(text: str) -> None:
    query = parse_query(text)
    assert query
    assert all(holds(text, term) for term in query.terms)


@pytest.mark.parametrize("word", ["a" * 500, "ж" * 500, "त" * 500, "x1" * 300, "𐐷" * 90])
def test_cuts_a_long_word_to_the_same_bounded_spelling_on_both_sides(word: str) -> None:
    assert all(len(term) <= 4 + MAX_SPELLING < 84 for term in stored(word))
    assert finds(word, f"before {word} after")


def test_keeps_every_term_longer_than_the_three_characters_that_engines_ask_for() -> None:
    assert all(len(term) > 4 for text in SENTENCES for term in stored(text))


@pytest.mark.parametrize(
    ("word", "longer"), [("кот", "котлован"), ("σκυ", "σκυλαδικο"), ("क्र", "क्रम्प"), ("mongo", "mongodb")]
)
def test_spells_the_beginning_of_a_word_as_the_beginning_of_its_spelling(word: str, longer: str) -> None:
    assert spellings(longer)[0].startswith(spellings(word)[0])


def test_spells_different_characters_differently() -> None:
    characters = [
        chr(point)
        for start in (0xE01, 0x1000, 0x1780, 0x3041, 0x4E00, 0xAC00, 0x20000)
        for point in range(start, start + 40)
    ]
    runs = [c for c in characters if unicodedata.normalize("NFKC", c) == c and stored(c) and len(stored(c)) == 1]
    assert len(runs) > 200
    assert len({stored(c)[0] for c in runs}) == len(runs)


def test_never_confuses_words_with_grams() -> None:
    words = {term for term in stored("tea coffee 5k3 000") if term.startswith(MINA.words)}
    grams = set(stored("花生 茶"))
    assert words.isdisjoint(grams)
    assert all(term.startswith(MINA.grams) for term in grams)


# -- normalising -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("Łukasz", "lukasz"),
        ("Ångström", "angstrom"),
        ("café crème", "cafe creme"),
        ("cafe\u0301", "cafe"),
        ("năm nay", "nam nay"),
        ("Smørrebrød", "smorrebrod"),
        ("Æsir œuvre", "aesir oeuvre"),
        ("Straße", "strasse"),
        ("İstanbul ılık", "istanbul ilik"),
        ("καφές", "καφεσ"),
        ("ещё", "еще"),
        ("כֶּלֶב", "כלב"),
        ("ＡＢＣ１２", "abc12"),
        ("ﬁne ①", "fine 1"),
        ("١٢ و १२", "12 و 12"),
        ("pea\u200bnut \u200fאב\u200e so\u00adft", "peanut אב soft"),
        ("a\0b", "ab"),
        ("❤️", "❤"),
        ("Brand™", "brand"),
    ],
)
def test_normalises_what_people_spell_in_two_ways(written: str, plain: str) -> None:
    assert normalise(written) == plain


@pytest.mark.parametrize("letter", ["й", "が", "각", "कि", "ไทย"])
def test_keeps_marks_that_make_another_letter(letter: str) -> None:
    assert normalise(letter) == unicodedata.normalize("NFKC", letter)


def test_changes_nothing_when_it_normalises_again() -> None:
    assert all(normalise(normalise(text)) == normalise(text) for text in SENTENCES)


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("QX-417", "locker code is QX-417"),
        ("-417", "locker code is QX-417"),
        ("QX-", "locker code is QX-417"),
        ("@kit", "ask @kit about the rota"),
        ("kit@example.test", "write to kit@example.test"),
        ("example", "write to kit@example.test"),
        ("50%", "budget 50%"),
        ("/srv/rota.txt", "rota lives at /srv/rota.txt"),
        ("1.2", "runs v2, later 1.2.3"),
        ("snake_case", "the case of a snake"),
        ("status: open", "the gate is open"),
        ("NOT tea", "green tea"),
        ("NEAR(tea", "green tea"),
        ("body:tea", "green tea"),
        ('say "hi', "they say so"),
        ("tea**", "green tea"),
        ("3d", "a 3d printer"),
        ("OBrien", "call O'Brien"),
        ("Brien", "call O'Brien"),
        ("amour", "l’amour fou"),
        ("peanuts", "one peanut"),
        ("allergies", "an allergy to dust"),
        ("ключами", "Ключ у двери"),
        ("Сони", "Ключ у Сони"),
        ("κλειδιά", "Το κλειδί"),
        ("المكتبات", "مكتبة"),
        ("किताबों", "किताब"),
        ("Zoe", "Zoë likes café crème"),
        ("cafe creme", "Zoë likes café crème"),
        ("nam", "năm nay"),
        ("a\0b", "ab"),
    ],
)
def test_finds_a_word_in_another_form_or_amid_signs(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"), [("C++", "likes C#"), ("C#", "likes C++"), ("🍣", "🍺"), ("दिन", "दान"), ("война", "воина")]
)
def test_tells_apart_what_only_signs_and_marks_tell_apart(query: str, text: str) -> None:
    distinct = [term for term in parse_query(query).terms if term.spelling != "c"]
    assert distinct
    assert not any(holds(text, term) for term in distinct)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("likes C++", "cplusplus"),
        ("C#", "csharp"),
        ("用C#开发", "csharp"),
        ("C++11", "cplusplus"),
        ("F♯ or g++", "fsharp"),
    ],
)
def test_gives_the_languages_with_signs_a_word_of_their_own(text: str, word: str) -> None:
    assert word in spellings(text)
    assert word not in spellings(text.replace("#", " ").replace("+", " ").replace("♯", " "))


def test_takes_a_hash_before_a_word_for_a_tag() -> None:
    assert spellings("see c#tag") == ["see", "c", "tag"]


@pytest.mark.parametrize("spelled", ["doesn't", "doesn’t", "DOESN'T", "doesnʼt", "doesnt"])
def test_reads_an_apostrophe_in_any_spelling(spelled: str) -> None:
    assert spellings(spelled) == ["doesnt"]


def test_drops_possessives_and_contractions() -> None:
    assert spellings("Mina's peanuts, who'll buy the cooks' tea") == ["mina", "peanut", "buy", "cook", "tea"]


@pytest.mark.parametrize("emoji", ["🍣", "❤️", "🇯🇵", "👩‍💻", "👍🏽"])
def test_finds_emoji(emoji: str) -> None:
    assert finds(emoji, f"fun{emoji}party")
    assert finds(emoji.replace("\ufe0f", ""), emoji)


# -- scripts without spaces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("我对什么东西过敏？", "用户对花生过敏"),
        ("花生可以吃吗", "用户对花生过敏"),
        ("GitHub备份怎么恢复", "GitHub备份放在NAS"),
        ("NAS上的备份", "GitHub备份放在NAS"),
        ("院子", "野猫在院子里"),
        ("猫", "野猫在院子里"),
        ("里", "野猫在院子里"),
        ("ありがとう", "いつもありがとうね"),
        ("ｶﾅ", "カナで書く"),
        ("고양이", "우리고양이는"),
        ("แมว", "เลี้ยงแมวสองตัว"),
        ("𠮷", "𠮷野家"),
        ("人々", "町の人々"),
    ],
)
def test_finds_part_of_a_run(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(("query", "text"), [("过敏", "敏捷过人"), ("ありがとう", "うどん"), ("电脑", "手机坏了")])
def test_needs_the_pair_not_just_its_characters(query: str, text: str) -> None:
    assert not any(holds(text, term) for term in parse_query(query).terms if term.kind is Kind.GRAM)


def test_stores_each_pair_and_the_last_character_of_a_run() -> None:
    assert len(stored("花生酱")) == 3
    assert [term.surface for term in parse_query("花生酱").terms] == ["花生", "生酱", "花", "生", "酱"]


def test_stores_a_term_as_often_as_it_occurs() -> None:
    assert stored("tea, more tea").count(MINA.words + "tea") == 2


# -- days ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "day",
    [
        *("5月6号", "5月6日", "05月06日", "5 月 6 日", "五月六号", "2023年5月6日", "５月６號", "5월 6일"),
        *(
            "May 6th",
            "May 6",
            "may 06, 2023",
            "May the 6th",
            "6 May",
            "6th of May",
            "6-May-2023",
            "她May 6th来",
            "MAY 6TH",
        ),
        *("2023-05-06", "2023/5/6", "2023.5.6", "2023-05-06T08:30:00Z", "06.05.2023"),
    ],
)
def test_reads_a_day_in_any_spelling(day: str) -> None:
    assert "dt0506" in spellings(day)
    assert MINA.words + "dt0506" in stored(day)


@pytest.mark.parametrize(
    "text", ["25/12/2023", "12/25/2023", "十二月二十五日", "Dec. 25", "25th of December", "25.12.1999"]
)
def test_reads_a_day_after_the_twelfth_whichever_comes_first(text: str) -> None:
    assert "dt1225" in spellings(text)


@pytest.mark.parametrize(
    "text",
    [
        "5/6/2023",
        "06.05",
        "1.5.6",
        "May 2023",
        "may 6:30",
        "13月6日",
        "5月40日",
        "2023-00-06",
        "maybe 6",
        "dismay 6",
        "6 marches",
    ],
)
def test_does_not_guess_a_day(text: str) -> None:
    assert not [spelling for spelling in spellings(text) if spelling.startswith("dt")]


def test_knows_every_month() -> None:
    for month in range(1, 13):
        name = datetime.date(2000, month, 1).strftime("%B")
        assert spellings(f"{name} 3")[0] == spellings(f"3 {name[:3]}")[0] == f"dt{month:02}03"


def test_indexes_the_day_of_a_memory_with_its_text() -> None:
    assert stored("tea", datetime.date(2024, 5, 6)) == [MINA.words + "tea", MINA.words + "dt0506"]
    assert stored("tea", datetime.datetime(2024, 5, 6, 23, 59)) == stored("tea", datetime.date(2024, 5, 6))


# -- function words --------------------------------------------------------------------------------------------------


def test_drops_function_words_from_a_query_only() -> None:
    assert surfaces("what coffee does she usually drink in the afternoon?") == [
        "coffee",
        "usually",
        "drink",
        "afternoon",
    ]
    assert len(stored("what coffee does she drink")) == 5


def test_cuts_a_chinese_run_at_function_words() -> None:
    assert surfaces("请问花生怎么保存", Kind.GRAM) == ["花生", "保存"]


def test_drops_single_function_characters_but_keeps_their_pairs() -> None:
    assert surfaces("我在院子", Kind.GRAM) == ["我在", "在院", "院子"]
    assert surfaces("我在院子", Kind.CHAR) == ["院", "子"]


@pytest.mark.parametrize("text", ["why?", "doesn't", "it", "我的", "什么", "的", "The", "is it?", "為什麼"])
def test_searches_function_words_when_there_is_nothing_else(text: str) -> None:
    assert parse_query(text)
    assert finds(text, f"x {text} x")


def test_keeps_may_and_ok_because_they_can_be_all_that_differs() -> None:
    assert surfaces("in May, ok?") == ["may", "ok"]


# -- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        '"',
        '""',
        "---",
        "!!!",
        "。。。",
        "？",
        "？？",
        "\\",
        "*",
        "- -",
        "'; --",
        "\0",
        "\ud83d",
        "\u200b\u200f",
    ],
)
def test_has_no_terms_for_a_text_without_letters(text: str) -> None:
    assert not parse_query(text)
    assert parse_query(text).terms == ()
    assert index_terms(text, MINA) == ""


def test_deduplicates_the_terms_of_a_query() -> None:
    assert spellings("tea Tea TEA teas") == ["tea"]
    assert surfaces("猫猫猫", Kind.CHAR) == ["猫"]


def test_limits_the_terms_of_each_kind() -> None:
    words = " ".join(f"w{number}" for number in range(500))
    run = "".join(chr(0x4E00 + number) for number in range(500))
    query = parse_query(f"{words} {run}")
    assert [sum(term.kind is kind for term in query.terms) for kind in Kind] == [MAX_QUERY_TERMS] * 3


@pytest.mark.parametrize(
    "piece",
    ["a", "a'", "1 ", "花", "\u0301", "a\u0301\u0323", "ab++", "5月", "may the ", "क्", "🍣", "\ud83d", "x\u200b"],
)
def test_reads_a_large_text_in_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(index_terms(text, MINA)) <= 12 * len(text)
    assert len(parse_query(text).terms) <= 3 * MAX_QUERY_TERMS


def test_accepts_any_characters_at_all() -> None:
    random_text = random.Random(7)
    for _ in range(300):
        text = "".join(chr(random_text.randrange(0x110000 if odd else 0x3100)) for odd in (0, 1) for _ in range(30))
        assert all(re.fullmatch(r"[0-9a-z]{5,64}", term) for term in stored(text))
        assert all(holds(text, term) for term in parse_query(text).terms)
