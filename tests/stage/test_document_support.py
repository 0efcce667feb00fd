from __future__ import annotations

from watersmeet.core.model import Plan
from watersmeet.stage.document_support import DocumentSupport


def shelved(shelf, documents: dict[str, str]) -> None:
    for chunk, document in documents.items():
        shelf.put(chunk, document=document)


def test_a_page_with_much_on_the_subject_passes_one_that_mentions_it_once(shelf, ranked) -> None:
    shelved(
        shelf,
        {"once": "once.md", **{f"much{n}": "much.md" for n in range(6)}, **{f"x{n}": f"{n}.md" for n in range(9)}},
    )
    scores = {"once": 1.0, **{f"much{n}": 0.98 - n / 100 for n in range(6)}, **{f"x{n}": 0.1 for n in range(9)}}
    found = DocumentSupport(shelf).apply(ranked(scores), Plan("q"))
    assert [hit.chunk for hit in found.hits[:3]] == ["much0", "once", "much1"]
    told = found.hits[0].evidence[-1]
    assert (told.by, told.detail["passages"]) == ("document_support", 4)
    assert found.hits[0].score == 0.98 + told.detail["bonus"]


def test_two_passages_say_nothing_of_a_page(shelf, ranked) -> None:
    shelved(shelf, {"a": "a.md", "b1": "b.md", "b2": "b.md", "c": "c.md", "d": "d.md"})
    ranking = ranked({"a": 1.0, "b1": 0.99, "b2": 0.98, "c": 0.1, "d": 0.1})
    assert DocumentSupport(shelf).apply(ranking, Plan("q")) == ranking


def test_passages_that_are_no_better_than_usual_lift_nothing(shelf, ranked) -> None:
    shelved(shelf, {"a": "a.md", **{f"long{n}": "long.md" for n in range(8)}})
    ranking = ranked({"a": 1.0, "long0": 0.9, "long1": 0.8, **{f"long{n}": 0.1 for n in range(2, 8)}})
    assert DocumentSupport(shelf).apply(ranking, Plan("q")) == ranking


def test_only_the_best_passage_of_the_page_moves(shelf, ranked) -> None:
    shelved(shelf, {**{f"m{n}": "m.md" for n in range(6)}, **{f"x{n}": f"{n}.md" for n in range(7)}})
    scores = {**{f"m{n}": 0.9 - n / 100 for n in range(6)}, **{f"x{n}": 0.2 for n in range(7)}}
    found = DocumentSupport(shelf).apply(ranked(scores), Plan("q"))
    moved = [hit.chunk for hit in found.hits if hit.score != scores[hit.chunk]]
    assert moved == ["m0"]
