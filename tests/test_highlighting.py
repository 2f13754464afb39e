"""What of a text is shown as matched."""

import pytest

from memory_app.analysis import index_terms, located_terms, owner_prefixes, parse_query, scoped
from memory_app.highlighting import held_terms, matched_terms, pieces, words_of

OWNER = owner_prefixes("helper", "ann")
TEXTS = [
    "She rewrote the résumé; rewriting took 3 days.",
    "ＦＵＬＬ　ＷＩＤＴＨ tea ﬁne Straße",
    "用户喜欢简洁的回答,生日是 5 月 6 日",
    "C++ and C# in mia's o'brien 🎉 🇫🇷",
    "한국어 ไทย हिन्दी кот й ё",
    "e\u0301cole \u200b zero\u200bwidth",
]


def marked(text: str, message: str) -> str:
    (cut,) = pieces([text], parse_query(message).terms)
    assert "".join(piece.text for piece in cut) == text
    return "".join(f"[{piece.text}]" if piece.matched else piece.text for piece in cut)


@pytest.mark.parametrize(
    ("message", "text", "shown"),
    [
        ("rewrites", "He rewrote it; rewriting, rewrites", "He rewrote it; [rewriting], [rewrites]"),
        ("resume", "my résumé", "my [résumé]"),
        ("re\u0301sume\u0301", "my resume", "my [resume]"),
        ("tea", "ＴＥＡ and Tea, teapot", "[ＴＥＡ] and [Tea], teapot"),
        ("fine", "ﬁne day", "[ﬁne] day"),
        ("strasse", "die Straße", "die [Straße]"),
        ("c++", "likes C++.", "likes [C++]."),
        ("May 6th", "生日是5月6日。", "生日是[5月6日]。"),
        ("喜欢简洁", "用户喜欢简洁的回答", "用户[喜欢简洁]的回答"),
        ("light", "a lighthouse", "a [lighthouse]"),
        ("light", "light in a lighthouse", "[light] in a lighthouse"),
        ("<script>", "a <script> & b", "a <[script]> & b"),
        ("🎉", "so 🎉!", "so [🎉]!"),
        ("zebra", "nothing here", "nothing here"),
    ],
)
def test_it_marks_what_matched_however_it_is_written(message, text, shown):
    assert marked(text, message) == shown


@pytest.mark.parametrize("text", TEXTS)
def test_it_locates_every_term_that_is_indexed(text):
    kinds = {"w": OWNER.words, "g": OWNER.grams}
    indexed = {term for term in index_terms(text, OWNER).split() if not term.startswith(kinds["g"])}
    located = list(located_terms(text))
    assert {OWNER.words + term.spelling for term in located if term.kind == "word"} == indexed
    assert all(text[term.start : term.end].strip() for term in located)


def test_it_marks_a_word_in_one_text_and_leaves_longer_ones_in_another():
    title, content = (
        pieces(["light"], parse_query("light").terms)[0],
        pieces(["light", "lighthouse"], parse_query("light").terms)[1],
    )
    assert title[0].matched
    assert not content[0].matched


def test_it_tells_which_terms_a_memory_holds():
    terms = parse_query("green tea in Osaka 生日").terms
    held = held_terms(["Green things", "teas", "生日"], terms)
    assert [term.surface for term in held] == ["green", "tea", "生日", "生", "日"]
    assert matched_terms(terms, ("tea",)) == [term for term in terms if term.surface == "tea"]


def test_it_lists_the_words_a_memory_is_found_by_as_written():
    assert words_of(["Green tea, GREEN", "茶道师"]) == ["Green", "tea", "GREEN", "茶道", "道师"]


def test_it_asks_the_index_for_what_it_shows():
    (term,) = parse_query("rewrites").terms
    assert scoped(term, OWNER) in index_terms("rewriting", OWNER).split()
