from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.errors import ModelProblem
from watersmeet.core.sparse import Weighted
from watersmeet.embed import static, terms
from watersmeet.embed.static import Static
from watersmeet.embed.terms import Terms, term_of


def weights(text: Weighted) -> dict[int, float]:
    found = dict(zip(text.terms.tolist(), text.weights.tolist(), strict=True))
    assert len(found) == len(text.terms)
    return found


@pytest.mark.model
def test_a_text_is_its_words_and_those_that_are_near() -> None:
    (found,) = Terms().encode(["The doctor drove a car."])
    (own,) = Terms(related=0).encode(["The doctor drove a car."])
    assert set(weights(own)) == {term_of(word) for word in ("doctor", "drove", "car")}
    assert {term_of("physician"), term_of("vehicle")} <= set(weights(found)) - set(weights(own))
    assert weights(own).items() <= weights(found).items()
    added = [weight for term, weight in weights(found).items() if term not in weights(own)]
    assert 0 < len(added) <= 9
    assert max(added) < min(weights(own).values())


def test_a_query_is_its_words_alone_and_rare_ones_count_more() -> None:
    query = Terms().encode_query("How do I service the car, the CARS?")
    assert weights(query) == {term_of("service"): 1.0, term_of("car"): 1.0}
    assert query.rarely
    assert len(Terms().encode_query("the of and").terms) == 0
    assert weights(Terms().encode_query("how do you?"))  # nothing but asking words: better than nothing


def test_text_and_query_meet_in_other_words() -> None:
    (text,) = Terms().encode(["Every physician signs the form."])
    assert set(weights(Terms().encode_query("doctors"))) & set(weights(text))
    (plain,) = Terms(related=0).encode(["Every physician signs the form."])
    assert not set(weights(Terms().encode_query("doctors"))) & set(weights(plain))


def test_a_repeated_word_counts_more_and_less_in_a_longer_text() -> None:
    once, twice, long = Terms(related=0).encode(["tide", "tide tide", "tide " + "filler words " * 90])
    car = term_of("tide")
    assert weights(long)[car] < weights(once)[car] < weights(twice)[car] < 2 * weights(once)[car]


def test_fewer_words_may_add_fewer_others() -> None:
    text = "The doctor drove a car to the hospital and bought bread."
    counts = [len(Terms(strongest=n).encode([text])[0].terms) for n in (0, 1, 3, 20)]
    assert counts == sorted(counts)
    assert counts[0] < counts[1] < counts[3]
    assert len(Terms(least=1.1).encode([text])[0].terms) == counts[0]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("pods", "pod"),
        ("policies", "policy"),
        ("running", "run"),
        ("stopped", "stop"),
        ("boxes", "box"),
        ("quickly", "quick"),
        ("caching", "cache"),
        ("classes", "class"),
    ],
)
def test_forms_of_a_word_are_one_term(word: str, other: str) -> None:
    assert term_of(word) == term_of(other)


@pytest.mark.parametrize(
    ("word", "other"), [("bus", "bu"), ("red", "r"), ("string", "str"), ("ing", ""), ("class", "clas")]
)
def test_what_only_looks_like_an_ending_stays(word: str, other: str) -> None:
    assert term_of(word) != term_of(other)


@given(st.lists(st.text(max_size=60), max_size=5))
def test_any_text_has_terms_that_its_company_does_not_change(texts: list[str]) -> None:
    model = Terms()
    for text, found in zip(texts, model.encode(texts), strict=True):
        (alone,) = model.encode([text])
        assert weights(alone) == weights(found)
        assert (found.weights > 0).all()
        assert np.isfinite(found.weights).all()
        assert (found.terms >= 0).all()
        assert (model.encode_query(text).terms >= 0).all()


@pytest.mark.model
def test_terms_are_the_same_in_every_process() -> None:
    code = "from watersmeet.embed.terms import Terms; print(Terms().encode(['The doctor drove.'])[0].terms.tolist())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(Terms().encode(["The doctor drove."])[0].terms.tolist())


@pytest.mark.model
def test_the_static_model_is_loaded_once_for_both() -> None:
    Static().embed(["car"])
    loads = static._load.cache_info().misses
    terms._cached_neighbours.cache_clear()
    terms._whole_words.cache_clear()
    Terms().encode(["car"])
    assert static._load.cache_info().misses == loads


def test_the_fingerprint_covers_what_changes_a_term() -> None:
    assert Terms().fingerprint == Terms().fingerprint
    others = [Terms(related=2), Terms(discount=0.2), Terms(b=0.5), Terms(related=0), Terms(length=50)]
    assert len({Terms().fingerprint, *(other.fingerprint for other in others)}) == 6


def test_a_folder_without_a_model_is_named() -> None:
    with pytest.raises(ModelProblem) as caught:
        Terms(folder="/nowhere").encode(["car"])
    assert caught.value.hint
    assert Terms(folder="/nowhere", related=0).encode(["car"])
