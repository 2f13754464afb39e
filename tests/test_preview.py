"""The recall preview: what a turn would be given, what just missed, and why one memory isn't there."""

import pytest
from django.test import Client

from agents_app.services import create_agent
from memory_app import explanation, search, services
from memory_app.contracts import Scope
from memory_app.explanation import Fate, explain, explain_one
from memory_app.models import MemoryConfig
from memory_app.prompt import estimated_tokens, memory_context
from memory_app.search import Turn
from tests.conftest import draft
from tests.test_admin import LIST

pytestmark = pytest.mark.django_db
PREVIEW = f"{LIST}preview/"
ANN = Scope("helper", "ann")
TURN = Turn(5, 4_000)


@pytest.fixture
def console(client: Client, django_user_model) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


def save(content: str, scope: Scope = ANN, **fields):
    return services.save(draft(content, scope, **fields)).memory


def asked(message: str, **fields: object) -> dict[str, object]:
    return {"agent": "helper", "user": "ann", "message": message} | fields


def text_of(response) -> str:
    return response.content.decode()


def explained(response) -> explanation.Explanation:
    return response.context["sides"][0].explained


def fates(turn: explanation.Explanation) -> list[Fate]:
    return [candidate.fate for candidate in turn.candidates]


# -- what a turn takes


@pytest.mark.parametrize("message", ["tea?", "green tea 生日", "number 7", "teaspoons"])
def test_it_previews_exactly_what_prefetch_injects(console, agent, message):
    for number in range(9):
        save(f"drinks green tea number {number} 生日" if number % 2 else f"teaspoon {number}", name=f"n{number}")
    MemoryConfig.objects.update(prefetch_limit=3)
    sent, turn = search.prefetch(ANN, message), explained(console.get(PREVIEW, asked(message)))
    assert turn.block == sent.block != ""
    assert [one.hit.memory.id for one in turn.candidates if one.injected] == [hit.memory.id for hit in sent.hits]
    assert fates(turn)[3:] == [Fate.BEYOND_LIMIT] * (len(turn.candidates) - 3)


def test_it_escapes_and_marks_what_matched(console, agent):
    save("He rewrote <b>it</b>; rewriting & more", name="<i>rewritten</i>")
    page = text_of(console.get(PREVIEW, asked("rewrites")))
    assert "<mark>rewriting</mark>" in page
    assert "<b>it" not in page
    assert "<i>" not in page


def test_it_shows_the_part_of_a_long_text_that_matched(console, agent):
    save("x" * 5_000 + " tea " + "y" * 5_000, name="long")
    page = text_of(console.get(PREVIEW, asked("tea", settings="own", characters=500)))
    assert "<mark>tea</mark>" in page
    assert "x" * 1_000 not in page


def test_it_says_what_is_over_the_budget_and_what_is_shortened(agent):
    for number in range(5):
        save(f"tea {number} " + "x" * 400, name="t" * 100 + str(number))
    turn = explain(ANN, "tea", Turn(5, 500))
    assert turn.block == memory_context(search.recall(ANN, "tea"), 500)
    assert fates(turn) == [Fate.SHORTENED, Fate.SHORTENED, *[Fate.OVER_BUDGET] * 3]


def test_it_injects_nothing_while_the_memory_is_off_and_shows_what_would_be(console, agent):
    save("drinks tea")
    MemoryConfig.objects.update(enabled=False)
    production = console.get(PREVIEW, asked("tea"))
    assert explained(production).block == search.prefetch(ANN, "tea").block == ""
    assert fates(explained(production)) == [Fate.MEMORY_OFF]
    assert "No result" in text_of(production)
    assert "drinks tea" in explained(console.get(PREVIEW, asked("tea", settings="own"))).block


def test_it_tries_other_settings_beside_those_of_production(console, agent):
    for number in range(4):
        save(f"tea {number}")
    response = console.get(PREVIEW, asked("tea", compare="on", limit2="2"))
    left, right = response.context["sides"]
    assert (left.injected, right.injected) == (4, 2)
    assert left.explained.block == search.prefetch(ANN, "tea").block
    assert right.explained.turn == Turn(2, left.explained.turn.characters)


def test_it_tells_hit_none_and_failed_apart(console, file_agent, data_dir):
    save("drinks tea")
    assert "<strong>Hit</strong>" in text_of(console.get(PREVIEW, asked("tea")))
    assert "<strong>No result</strong>" in text_of(console.get(PREVIEW, asked("zebra")))
    assert "<strong>No result</strong>" in text_of(console.get(PREVIEW, asked("？？")))


def test_it_shows_a_failed_recall_with_its_cause(console, file_agent, data_dir):
    (data_dir / "memory").mkdir(exist_ok=True)
    (data_dir / "memory" / "memory.db").write_bytes(b"damaged " * 999)
    page = text_of(console.get(PREVIEW, asked("tea", why="1")))
    assert "<strong>Failed</strong>: " + search.prefetch(ANN, "tea").failure.replace("'", "&#x27;") in page
    assert "No result" not in page


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("word", 1), ("words", 2), ("用户 ab", 3)])
def test_it_estimates_tokens(text, tokens):
    assert estimated_tokens(text) == tokens


# -- the page


def test_it_passes_a_short_message_on_to_an_address_that_can_be_linked_to(console, agent):
    response = console.post(PREVIEW, asked("tea & 生日", limit="", settings="production"))
    assert response.status_code == 302
    assert console.get(response.url).context["form"].cleaned_data["message"] == "tea & 生日"
    assert "limit" not in response.url


def test_it_answers_a_long_message_where_it_was_sent(console, agent):
    save("drinks tea")
    response = console.post(PREVIEW, asked("long " * 1_000 + "tea"))
    assert response.status_code == 200
    assert "reads the first 4000 characters" in text_of(response)


def test_it_is_filled_in_by_a_link_without_a_message(console, agent):
    page = console.get(PREVIEW, {"agent": "helper", "user": "ann"})
    assert 'value="ann"' in text_of(page)
    assert "sides" not in page.context


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"agent": "nobody"}, "Select a valid choice"),
        ({"limit": "0"}, "greater than or equal to 1"),
        ({"limit": "51"}, "less than or equal to 50"),
        ({"characters": "x"}, "Enter a whole number"),
        ({"why": "helper"}, "Write agent:id"),
        ({"message": ""}, "required"),
        ({"user": "a\0b"}, "Null characters"),
    ],
)
def test_it_says_what_is_wrong_with_the_form(console, agent, fields, complaint):
    response = console.get(PREVIEW, asked("tea") | fields)
    assert complaint in text_of(response)
    assert "sides" not in response.context


def test_it_previews_only_for_whom_it_may(client, django_user_model, agent):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    assert client.get(PREVIEW).status_code == 403


# -- why not this one


def fate_of(memory, message: str, turn: Turn = TURN, scope: Scope = ANN) -> explanation.Verdict:
    return explain_one(explain(scope, message, turn), scope, message, memory.agent_name, memory.id)


def test_it_says_that_a_memory_is_injected_and_by_which_words(agent):
    verdict = fate_of(save("drinks green tea"), "teas and zebras")
    assert (verdict.fate, verdict.rank) == (Fate.INJECTED, 1)
    assert [term.surface for term in verdict.shared] == ["teas"]
    assert [term.surface for term in verdict.asked] == ["teas", "zebras"]


def test_it_says_that_a_memory_came_too_late(agent):
    last = save("tea " + "and a long story " * 20)
    for number in range(6):
        save(f"tea {number}")
    verdict = fate_of(last, "tea", Turn(2, 4_000))
    assert (verdict.fate, verdict.rank) == (Fate.BEYOND_LIMIT, 7)
    assert 0 < verdict.score < verdict.needed


def test_it_says_that_a_memory_came_later_than_the_candidates_shown(agent):
    last = save("tea " + "and a long story " * 20)
    for number in range(30):
        save(f"tea {number}")
    assert fate_of(last, "tea").rank == 31


def test_it_says_that_more_fit_better_than_a_search_gives(agent):
    last = save("tea " + "and a long story " * 20)
    for number in range(50):
        save(f"tea {number}")
    verdict = fate_of(last, "tea")
    assert (verdict.fate, [term.surface for term in verdict.shared]) == (Fate.BEYOND_SEARCH, ["tea"])


def test_it_says_that_no_word_is_shared(agent):
    verdict = fate_of(save("drinks tea"), "zebra")
    assert (verdict.fate, verdict.shared) == (Fate.NO_COMMON_WORD, [])


def test_it_says_that_nothing_was_asked(agent):
    assert fate_of(save("drinks tea"), "？？").fate == Fate.NO_WORDS_ASKED


def test_it_says_whose_a_memory_is(agent):
    create_agent("other")
    assert fate_of(save("tea", Scope("helper", "bob")), "tea").fate == Fate.OTHER_USER
    assert fate_of(save("tea", Scope("other", "ann")), "tea").fate == Fate.OTHER_AGENT
    assert fate_of(save("shared tea", Scope("helper", "")), "tea").fate == Fate.INJECTED


def test_it_explains_on_the_page(console, agent):
    memory = save("drinks <b>tea</b>", Scope("helper", "bob"))
    page = text_of(console.get(PREVIEW, asked("tea", why=memory.id)))
    assert "It belongs to user bob and isn&#x27;t shared; a turn of ann never reads it." in page
    assert "There is no such memory" in text_of(console.get(PREVIEW, asked("tea", why="helper:999")))
    assert "There is no agent" in text_of(console.get(PREVIEW, asked("tea", why="ghost:1")))
    save("drinks <b>coffee</b>")
    page = text_of(console.get(PREVIEW, asked("tea", why=f"helper:{memory.id + 1}")))
    assert "no word in common" in page
    assert "drinks · b · coffee" in page


@pytest.mark.parametrize("fate", list(Fate))
def test_it_has_a_sentence_for_every_fate(console, agent, monkeypatch, fate):
    monkeypatch.setattr("memory_app.admin.preview.explain_one", lambda *_: explanation.Verdict(fate))
    response = console.get(PREVIEW, asked("tea", why="1"))
    assert len(str(response.context["why"]["sentence"])) > 20
