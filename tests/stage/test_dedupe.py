from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Plan
from watersmeet.stage.dedupe import Dedupe

LONG = "Unpack the archive, run the installer as root and wait until the lamp at the front turns green."


def kept(shelf, ranked, *texts: str, **options: float) -> list[str]:
    for number, text in enumerate(texts):
        shelf.put(f"{number}", text)
    ranking = ranked({f"{number}": 1 - number / 1000 for number in range(len(texts))})
    return [hit.chunk for hit in Dedupe(shelf, **options).apply(ranking, Plan("q")).hits]


def test_the_better_of_two_equals_stays_and_says_so(shelf, ranked) -> None:
    for name in ("first", "second", "third"):
        shelf.put(name, LONG)
    shelf.put("other", "Something else entirely is written here.")
    out = Dedupe(shelf).apply(ranked({"second": 0.9, "other": 0.8, "first": 0.7, "third": 0.6}), Plan("q"))
    assert [(hit.chunk, hit.score) for hit in out.hits] == [("second", 0.9), ("other", 0.8)]
    (evidence,) = out.hits[0].evidence
    assert (evidence.by, evidence.rank, evidence.detail) == ("dedupe", 1, {"dropped": ["first", "third"]})
    assert out.hits[1].evidence == ()


def test_nearly_equal_texts(shelf, ranked) -> None:
    edited = LONG.replace("green", "blue")
    assert kept(shelf, ranked, LONG, edited) == ["0"]
    assert kept(shelf, ranked, LONG, edited, min_similarity=0.99) == ["0", "1"]
    assert kept(shelf, ranked, LONG, LONG.upper().replace(" ", "\n")) == ["0"]
    assert kept(shelf, ranked, LONG, " ".join(reversed(LONG.split()))) == ["0", "1"]


def test_pages_that_differ_in_an_identifier_are_not_the_same(shelf, ranked) -> None:
    shelf.put("d40", LONG, title="Region D40")
    shelf.put("d41", LONG, title="Region D41")
    shelf.put("copy", LONG, title="Region D40")
    out = Dedupe(shelf).apply(ranked({"d40": 0.9, "d41": 0.8, "copy": 0.7}), Plan("q"))
    assert [hit.chunk for hit in out.hits] == ["d40", "d41"]


def test_short_texts_are_the_same_only_in_the_same_place(shelf, ranked) -> None:
    shelf.put("in", "See above.", title="Install", headings=("Install", "Linux"))
    shelf.put("un", "See above.", title="Uninstall", headings=("Uninstall", "Linux"))
    shelf.put("copy", "See above.", title="Install", headings=("Install", "Linux"))
    out = Dedupe(shelf).apply(ranked({"in": 0.9, "un": 0.8, "copy": 0.7}), Plan("q"))
    assert [hit.chunk for hit in out.hits] == ["in", "un"]


def test_only_the_first_are_compared(shelf, ranked) -> None:
    texts = [LONG, *(f"text number {n} of many that are not alike at all {n * n}" for n in range(4)), LONG]
    for number, text in enumerate(texts):
        shelf.put(f"{number}", text)
    ranking = ranked({f"{number}": 1 - number / 10 for number in range(6)})
    assert len(Dedupe(shelf).apply(ranking, Plan("q", top_n=1)).hits) == 6
    assert len(Dedupe(shelf, depth=6).apply(ranking, Plan("q", top_n=1)).hits) == 5


words = st.lists(st.sampled_from("a b c d".split()), min_size=8, max_size=14).map(" ".join)


def alike(one: str, other: str) -> float:
    def runs(text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[i : i + 3]) for i in range(len(words) - 2)}

    return len(runs(one) & runs(other)) / len(runs(one) | runs(other))


@pytest.mark.slow
@given(texts=st.lists(words, min_size=1, max_size=12), share=st.sampled_from([0.3, 0.5, 0.7, 0.9, 1.0]))
def test_what_stays_is_what_comparing_each_with_each_leaves(new_shelf, ranked, texts: list[str], share: float) -> None:
    expected: list[int] = []
    for number, text in enumerate(texts):
        if all(alike(text, texts[earlier]) < share for earlier in expected):
            expected.append(number)
    assert kept(new_shelf(), ranked, *texts, min_similarity=share) == [str(number) for number in expected]


def test_a_hundred_candidates_take_little_time(shelf, ranked) -> None:
    for number in range(100):
        shelf.put(f"{number}", " ".join(f"word{number * n * n % 2999}" for n in range(230)))
    ranking = ranked({f"{number}": 1 - number / 1000 for number in range(100)})
    best = min(_timed(lambda: Dedupe(shelf).apply(ranking, Plan("q", top_n=20))) for _ in range(5))
    assert best < 0.03  # 5 ms where it was written


def _timed(work) -> float:
    start = process_time()
    work()
    return process_time() - start


@pytest.mark.parametrize("texts", [("", ""), ("a", "a"), ("a b", "a b")])
def test_texts_of_hardly_a_word(shelf, ranked, texts: tuple[str, ...]) -> None:
    assert kept(shelf, ranked, *texts) == ["0"]
