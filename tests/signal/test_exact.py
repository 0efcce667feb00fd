from __future__ import annotations

from dataclasses import replace

import pytest

from small_index import documents_of, indexed, noted, plan_of, scores_of
from watersmeet.core.model import Condition
from watersmeet.query.words import Words as WordsStep
from watersmeet.signal.exact import Exact

CODES = noted(
    upper="The error D40 means fire.",
    lower="The error d40 in a log.",
    flag="Run it with --no-telemetry.",
    name="A walk with Marguerite to the sea.",
    plain="The error of a sailor.",
)


def exact(given=CODES, **options: float) -> tuple[Exact, object]:
    snapshot = indexed(given)
    return Exact(snapshot.words(Condition()), **options), snapshot


def asked(text: str, **more: object):
    return WordsStep().apply(plan_of(text, **more))


def test_an_identifier_inside_a_sentence_is_found_and_its_words_are_not() -> None:
    signal, snapshot = exact()
    ranking = signal.rank(asked("tell me about the error D40"))
    assert ranking.by == "exact"
    assert documents_of(snapshot, ranking) == ["upper", "lower"]
    assert documents_of(snapshot, signal.rank(asked("what does --no-telemetry do"))) == ["flag"]


def test_another_case_counts_for_less() -> None:
    plan = asked("D40")
    signal, snapshot = exact(other_case=0.0)
    found = scores_of(snapshot, signal.rank(plan).hits)
    assert found["upper"] > found.get("lower", 0.0) == 0.0
    half, snapshot = exact(other_case=0.5)
    found = scores_of(snapshot, half.rank(plan).hits)
    assert 0 < found["lower"] < found["upper"]


def test_an_identifier_that_is_everywhere_says_nothing() -> None:
    many = noted(**{f"n{n}": "All of them say D40." for n in range(12)})
    assert exact(many)[0].rank(asked("D40")).hits == ()
    assert len(exact(many, always=12)[0].rank(asked("D40")).hits) == 12
    assert len(exact(many, share=1.0)[0].rank(asked("D40")).hits) == 12


def test_a_capitalised_word_is_a_name_where_it_is_rare() -> None:
    signal, snapshot = exact()
    assert documents_of(snapshot, signal.rank(asked("where does Marguerite walk"))) == ["name"]
    assert signal.rank(asked("where does marguerite walk")).hits == ()
    many = noted(**{f"n{n}": "Marguerite again." for n in range(5)})
    assert exact(many)[0].rank(asked("where does Marguerite walk")).hits == ()
    assert len(exact(many, name_always=5)[0].rank(asked("where does Marguerite walk")).hits) == 5


def test_a_page_about_the_family_of_a_code_is_found_below_the_code_itself() -> None:
    given = noted(own="C4478 is this.", family="Codes C44xx are of the loader.", other="C5500 is that.")
    signal, snapshot = exact(given)
    assert documents_of(snapshot, signal.rank(asked("C4478"))) == ["own", "family"]


@pytest.mark.parametrize("text", ["", "an ordinary sentence", "X99"])
def test_no_identifier_or_none_that_is_there_is_an_empty_ranking(text: str) -> None:
    signal, snapshot = exact()
    assert signal.rank(asked(text)).hits == ()
    assert signal.score(asked(text), snapshot.places) == {}


def test_given_chunks_have_the_scores_of_the_ranking_and_the_condition_holds() -> None:
    signal, snapshot = exact()
    plan = asked("D40 --no-telemetry")
    assert signal.score(plan, snapshot.places) == pytest.approx({h.chunk: h.score for h in signal.rank(plan).hits})
    narrow = replace(plan, condition=Condition({"path": ("flag.md",)}))
    assert documents_of(snapshot, signal.rank(narrow)) == ["flag"]
