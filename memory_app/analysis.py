"""Text to terms: the one tokenizer of the product. Pure functions, no database, no clock.

A *term* is what the stores index: a scope prefix of the owner and a spelling of ASCII letters and digits, so that every
full-text engine takes it as one word and no two owners share a term.
"""

import datetime
import functools
import hashlib
import itertools
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import regex
import snowballstemmer

from memory_app import stopwords

MAX_QUERY_TERMS: Final = 64  # of each kind
MAX_QUERY_TEXT: Final = 20_000  # characters; what a pasted document says after that is not what is asked
MAX_SPELLING: Final = 60  # with its prefix below 84 characters, where MySQL's full-text parser drops words silently
PREFIX_LENGTH: Final = 4


class Kind(StrEnum):
    """WORD and GRAM (two neighbouring characters of a script without spaces) are stored; CHAR is a prefix of a GRAM."""

    WORD = "word"
    GRAM = "gram"
    CHAR = "char"


class QueryTerm(NamedTuple):
    """`spelling` is what the index holds (without scope prefix), `surface` what the user wrote, normalised."""

    kind: Kind
    spelling: str
    surface: str


class LocatedTerm(NamedTuple):
    """A term of a text, and where it stands: `text[start:end]`."""

    kind: Kind
    spelling: str
    start: int
    end: int


class Prefixes(NamedTuple):
    """The scope prefixes of one owner: four base-36 digits each, the first one decimal."""

    words: str
    grams: str


@dataclass(frozen=True, slots=True)
class Query:
    """The distinct terms of a message, at most MAX_QUERY_TERMS of a kind; false when there are none."""

    terms: tuple[QueryTerm, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)


# -- spelling --------------------------------------------------------------------------------------------------------

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def _base36(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


def owner_prefixes(agent_name: str, user_id: str) -> Prefixes:
    """The prefixes of the terms of one (agent, user).

    Two owners may share them by chance (about one pair in 233,280), which costs time and not privacy: stores filter by
    the owner columns too. The first digit keeps a term from being a stop word of MySQL and tells words from grams.
    """
    owner = f"{len(agent_name)}:{agent_name}{user_id}".encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.blake2b(owner, digest_size=8).digest(), "big")
    tail = _base36(number, PREFIX_LENGTH - 1)
    head = number // 36 ** (PREFIX_LENGTH - 1) % 5
    return Prefixes(words=f"{head}{tail}", grams=f"{head + 5}{tail}")


def scoped(term: QueryTerm, prefixes: Prefixes) -> str:
    """The term as the `terms` column holds it; for a CHAR the beginning of what the column holds."""
    return (prefixes.words if term.kind is Kind.WORD else prefixes.grams) + term.spelling


@functools.lru_cache(maxsize=4096)
def _letter_code(letter: str) -> str:
    """A letter outside ASCII: three digits below U+3040, the first one decimal; six for the rest, as emoji."""
    point = ord(letter)
    return _base36(point - 0x80, 3) if point < 0x3040 else "9z" + _base36(point, 4)


@functools.lru_cache(maxsize=32768)
def _gram_code(character: str) -> str:
    """A character of a script without spaces: three digits, or six for the rare ones outside the common blocks."""
    point = ord(character)
    if 0x3040 <= point < 0xD800:  # kana, Han, Hangul
        return _base36(point - 0x3040, 3)
    if 0x0E00 <= point < 0x1800:  # Thai, Lao, Myanmar, Khmer go where UTF-16 has its surrogates and private use
        return _base36(point + 0xCE00 - 0x3040, 3)
    return _base36(0xD800 - 0x3040 + (point >> 11), 3) + _base36(point & 0x7FF, 3)


def _spell(word: str) -> str:
    if word.isascii():
        return word[:MAX_SPELLING]
    spelling = ""
    for letter in word[:MAX_SPELLING]:
        code = letter if letter.isascii() else _letter_code(letter)
        if len(spelling) + len(code) > MAX_SPELLING:
            break
        spelling += code
    return spelling


# -- normalisation ---------------------------------------------------------------------------------------------------

# Longer runs of marks are cut as in Unicode's stream-safe format (UAX #15, 13): sorting them takes quadratic time.
_MARKS: Final = regex.compile(r"(\p{M}{30})\p{M}+")
_INVISIBLE: Final = regex.compile(r"[\0™℠\p{Cf}\p{Me}\uFE00-\uFE0F\U000E0100-\U000E01EF]+")
_ACCENTED: Final = regex.compile(r"([\p{Latin}\p{Greek}\p{Arabic}\p{Hebrew}])\p{Mn}+")
_DECIMAL: Final = regex.compile(r"[\p{Nd}--[0-9]]", regex.V1)
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ŋ": "n", "ŧ": "t"}
    | {"ё": "е"}
    | dict.fromkeys("‘’ʼ", "'")
)


def normalise(text: str) -> str:
    """NFKC, case folded, invisible characters removed; accents folded where people leave them out when they type.

    Marks stay where they make another letter (Cyrillic й, kana が) or a vowel (Devanagari).
    """
    if text.isascii():
        return text.replace("\0", "").lower()
    text = unicodedata.normalize("NFKC", _MARKS.sub(r"\1", _INVISIBLE.sub("", text))).casefold()
    text = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFKC", text).translate(_LETTERS)
    return _DECIMAL.sub(lambda found: str(unicodedata.decimal(found[0])), text)


# -- words -----------------------------------------------------------------------------------------------------------

_SPACELESS: Final = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー]"
_LETTER: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_SPACELESS}]"
_TOKEN: Final = regex.compile(
    rf"(?P<run>[{_SPACELESS}&&[\p{{L}}\p{{M}}\p{{N}}]]++)"
    rf"|(?P<word>(?!\p{{M}}){_LETTER}++(?:'{_LETTER}++)*+)(?P<sign>\+\+|[#♯](?!{_LETTER}))?"
    r"|(?P<emoji>\p{Regional_Indicator}{2}|\p{Extended_Pictographic})",
    regex.V1,
)
_SIGNS: Final = {"++": "plusplus", "#": "sharp", "♯": "sharp"}
_CLITIC: Final = regex.compile(r"'(?:s|re|ve|ll|d|m)$")
_CUT: Final = regex.compile("|".join(sorted(stopwords.CHINESE, key=len, reverse=True)))
_STEMMERS: Final = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
)


def stem(word: str) -> str:
    """The Snowball stem of a normalised word, by its script; words with digits and other scripts stay whole.

    Latin letters are taken as English (Porter2). A stemmer keeps state while it works, hence a new one for each word.
    """
    if word.isascii():
        language = "english" if word.isalpha() else ""
    else:
        language = next((name for first, last, name in _STEMMERS if first <= ord(word[0]) <= last), "")
    return (snowballstemmer.stemmer(language).stemWord(word) or word) if language else word


@functools.lru_cache(maxsize=65536)
def _word_spelling(word: str) -> str:
    return _spell(stem(word[:MAX_SPELLING]))


def _words(found: regex.Match[str]) -> Iterator[str]:
    """The words of a token: `mia's` is `mia`, `o'brien` is `obrien` and `brien`, `c#` is `c` and `csharp`."""
    *parts, last = _CLITIC.sub("", found["word"] or found["emoji"]).split("'")
    word = "".join((*parts, last))
    yield word
    if parts and len(last) > 2:
        yield last
    if found["sign"]:
        yield word + _SIGNS[found["sign"]]


# -- days ------------------------------------------------------------------------------------------------------------

_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HAN: Final = {digit: number for number, digit in enumerate("一二三四五六七八九", 1)}
# Numbers with two signs and no names are taken only where one reading is possible: 25/12/2023, but not 5/6/2023.
_DAY: Final = regex.compile(
    r"(?<![0-9])(?P<month>[0-9]{1,2}|[一二三四五六七八九十]{1,3})\s?[月월]\s?(?P<day>[0-9]{1,2}|[一二三四五六七八九十]{1,3})\s?[日号號일]"
    r"|(?<![0-9])[0-9]{4}(?P<dash>[-/.])(?P<month>[0-9]{1,2})(?P=dash)(?P<day>[0-9]{1,2})(?![0-9])"
    r"|(?<![0-9.])(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.[0-9]{4}(?![0-9])"
    r"|(?<![0-9/])(?P<day>1[3-9]|2[0-9]|3[01])/(?P<month>[0-9]{1,2})/[0-9]{4}(?![0-9])"
    r"|(?<![0-9/])(?P<month>[0-9]{1,2})/(?P<day>1[3-9]|2[0-9]|3[01])/[0-9]{4}(?![0-9])"
    rf"|(?<![a-z]){_MONTH}\.?\s{{1,2}}(?:the\s)?(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![0-9a-z:])"
    rf"|(?<![a-z0-9])(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:\s{{1,2}}|-)(?:of\s)?{_MONTH}(?![a-z])"
)


def _number(text: str) -> int:
    """5, `may` or 五; 二十三 is two tens and three."""
    if text.isdecimal():
        return int(text)
    if text.isascii():
        return _MONTHS.index(text[:3]) + 1
    tens, ten, ones = text.rpartition("十")
    return _HAN.get(tens, 1) * 10 * len(ten) + _HAN.get(ones, 0)


def _day_spelling(month: int, day: int) -> str:
    return f"dt{month:02d}{day:02d}"


def _days(text: str) -> Iterator[tuple[str, regex.Match[str]]]:
    """The days a normalised text names: spelling, and where."""
    for found in _DAY.finditer(text):
        month, day = _number(found["month"]), _number(found["day"])
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield _day_spelling(month, day), found


# -- the two directions ----------------------------------------------------------------------------------------------


def _grams(run: str) -> list[str]:
    codes = [_gram_code(character) for character in run]
    return [first + second for first, second in itertools.pairwise(codes)]


def index_terms(text: str, prefixes: Prefixes, day: datetime.date | None = None) -> str:
    """The value of the `terms` column: the scoped terms of the text as often as they occur, separated by spaces.

    The last character of a run is stored alone, so that every character begins some stored gram. `day` counts as text.
    """
    text = normalise(text)
    words: list[str] = []
    grams: list[str] = []
    for found in _TOKEN.finditer(text):
        if run := found["run"]:
            grams += [*_grams(run), _gram_code(run[-1])]
        else:
            words += map(_word_spelling, _words(found))
    words += [spelling for spelling, _found in _days(text)]
    if day is not None:
        words.append(_day_spelling(day.month, day.day))
    return " ".join([prefixes.words + word for word in words] + [prefixes.grams + gram for gram in grams])


def _run_terms(run: str, function_words: bool) -> Iterator[QueryTerm]:
    for part in [run] if function_words else _CUT.split(run):
        yield from (QueryTerm(Kind.GRAM, gram, part[i : i + 2]) for i, gram in enumerate(_grams(part)))
        yield from (
            QueryTerm(Kind.CHAR, _gram_code(character), character)
            for character in part
            if function_words or character not in stopwords.CHINESE_CHARACTERS
        )


def _query_terms(text: str, function_words: bool) -> Iterator[QueryTerm]:
    yield from (QueryTerm(Kind.WORD, spelling, found[0]) for spelling, found in _days(text))
    for found in _TOKEN.finditer(text):
        if run := found["run"]:
            yield from _run_terms(run, function_words)
        else:
            for word in _words(found):
                if function_words or word not in stopwords.ENGLISH:
                    yield QueryTerm(Kind.WORD, _word_spelling(word), word)


def _limited(terms: Iterable[QueryTerm]) -> Iterator[QueryTerm]:
    """The first of each spelling, at most MAX_QUERY_TERMS of a kind."""
    seen: dict[Kind, set[str]] = {kind: set() for kind in Kind}
    for term in terms:
        known = seen[term.kind]
        if term.spelling not in known and len(known) < MAX_QUERY_TERMS:
            known.add(term.spelling)
            yield term


def parse_query(text: str) -> Query:
    """The terms to search for in a raw message; without function words, unless it has nothing else."""
    text = normalise(text[:MAX_QUERY_TEXT])
    terms = tuple(_limited(_query_terms(text, function_words=False)))
    return Query(terms or tuple(_limited(_query_terms(text, function_words=True))))


# -- where terms stand -----------------------------------------------------------------------------------------------

_CHARACTER: Final = regex.compile(r"\X")  # with its marks, as a person sees it


def _normalised_by_character(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The normalised text, and for each of its characters where in the text it comes from."""
    pieces: list[str] = []
    origins: list[tuple[int, int]] = []
    for found in _CHARACTER.finditer(text):
        piece = normalise(found[0])
        pieces.append(piece)
        origins += [found.span()] * len(piece)
    return "".join(pieces), origins


def located_terms(text: str) -> Iterator[LocatedTerm]:
    """The terms that a text is found by, each with its place in the text as it was written: to show what matched.

    A character that normalises to several, as `ﬁ`, is never cut; terms come in no particular order.
    """
    normalised, origins = _normalised_by_character(text)

    def located(kind: Kind, spelling: str, start: int, end: int) -> LocatedTerm:
        return LocatedTerm(kind, spelling, origins[start][0], origins[end - 1][1])

    for found in _TOKEN.finditer(normalised):
        start, end = found.span()
        if run := found["run"]:
            yield from (located(Kind.GRAM, gram, start + i, start + i + 2) for i, gram in enumerate(_grams(run)))
            yield from (located(Kind.CHAR, _gram_code(one), start + i, start + i + 1) for i, one in enumerate(run))
        else:
            yield from (located(Kind.WORD, _word_spelling(word), start, end) for word in _words(found))
    for spelling, found in _days(normalised):
        yield located(Kind.WORD, spelling, *found.span())
