"""Results by document: order, near copies, and where the list is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Answer, ChunkId, DocId, Result
from watersmeet.core.place import Place
from watersmeet.present.groups import CLOSEST, DOCUMENTS, FURTHER, further, grouped, passages_for, same_text, shown

LONG = "Unpack the archive number {}, run its installer as root and wait until lamp {} at the front turns {}."


def result(document: str, line: int = 1, fused: float = 1.0, text: str = "", headings: tuple[str, ...] = ()) -> Result:
    return Result(
        id=ChunkId(f"{document}:{line}"),
        document=DocId(document),
        kind="document",
        title=document,
        headings=headings,
        path=f"/v/{document}",
        place=Place((line, line + 3)),
        text=text or " ".join(f"{document}{line}word{n}" for n in range(20)),
        score=fused,
        fusion_score=fused,
        similarity=None,
        evidence=(),
    )


def answer(*results: Result, no_good_match: bool = False) -> Answer:
    return Answer("q", "lexical", "default", results, (), 1.0, no_good_match=no_good_match)


def names(answer: Answer, most: int | None = None) -> list[str]:
    return [group.best.document for group in shown(answer, most)[0]]


def test_documents_come_in_the_order_of_their_best_passages() -> None:
    found = grouped([result("a", 1), result("b", 1), result("a", 9), result("c", 1), result("b", 5)])
    assert [[one.id for one in group.results] for group in found] == [["a:1", "a:9"], ["b:1", "b:5"], ["c:1"]]


def test_five_documents_unless_another_number_is_given() -> None:
    many = answer(*(result(f"d{n}") for n in range(9)))
    assert (len(names(many)), shown(many)[1]) == (DOCUMENTS, 4)
    assert (len(names(many, 7)), shown(many, 7)[1]) == (7, 2)
    assert names(many, 1) == ["d0"]
    assert names(answer()) == []
    assert passages_for(None) > DOCUMENTS
    assert passages_for(1000) == 1000


def test_the_list_ends_where_scores_drop_and_not_before_a_good_one() -> None:
    scores = {"a": 0.9, "b": 0.7, "c": 0.44, "d": 0.3}
    assert names(answer(*(result(name, fused=score) for name, score in scores.items()))) == ["a", "b"]
    lifted = [result("named", fused=0.3), result("b", fused=0.9), result("c", fused=0.8), result("d", fused=0.1)]
    assert names(answer(*lifted)) == ["named", "b", "c"]  # a stage lifted the first
    assert names(answer(*lifted), 4) == ["named", "b", "c", "d"]
    assert names(answer(result("a", fused=0.0), result("b", fused=-1.0))) == ["a", "b"]


def test_the_best_passage_of_a_document_counts() -> None:
    assert names(answer(result("a"), result("b", fused=0.2), result("b", 9, fused=0.8))) == ["a", "b"]


def test_only_the_closest_if_nothing_fits() -> None:
    assert len(names(answer(*(result(f"d{n}") for n in range(9)), no_good_match=True))) == CLOSEST


def test_near_copies_are_folded_into_the_better_one() -> None:
    text, other = LONG.format(1, 2, "green"), LONG.format(1, 2, "blue")
    results = [result("a", text=text), result("b", text=other), result("c"), result("b", 9), result("a", 9, text=text)]
    assert {kept: [one.id for one in ones] for kept, ones in same_text(results).items()} == {"a:1": ["b:1", "a:9"]}
    groups = grouped(results)
    assert [group.best.id for group in groups] == ["a:1", "c:1", "b:9"]
    assert [copy.document for copy in groups[0].copies] == ["b"]  # not the copy in the same document
    assert further(groups[0]) == ["the same text also in: b"]


def test_further_passages_are_named_and_counted() -> None:
    (group,) = grouped([result("a", n, headings=("Top", f"Part {n}")) for n in range(1, 7)])
    assert further(group) == ["also :2 Part 2", "also :3 Part 3", f"{5 - FURTHER} more in this document"]
    (alone,) = grouped([result("a")])
    assert further(alone) == []
    text = LONG.format(1, 2, "green")
    (copied,) = grouped([result(name, text=text) for name in "abcdefg"])
    assert further(copied) == ["the same text also in: b, c, d and 3 more"]


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 9), st.floats(-1, 1)), unique_by=lambda t: t[:2]))
def test_at_least_the_first_is_shown_and_nothing_twice(rows: list[tuple[str, int, float]]) -> None:
    given = answer(*(result(name, line, fused) for name, line, fused in rows))
    groups, more = shown(given)
    assert bool(groups) == bool(rows)
    assert len(groups) <= DOCUMENTS
    assert len(groups) + more == len({name for name, _, _ in rows})
    assert not rows or groups[0].best.id == given.results[0].id
