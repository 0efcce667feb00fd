"""The contract of a text store: writing, visibility, matching. Every implementation passes it."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import pytest

from text_stores import entry, fill
from watersmeet.core.errors import (
    ConfigError,
)
from watersmeet.core.model import Row
from watersmeet.core.ports import Term
from watersmeet.store.local.fts5 import Fts5
from watersmeet.store.local.tantivy import Tantivy

STORES = {"tantivy": Tantivy, "fts5": Fts5}


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store(kind: str, tmp_path: Path):
    made = STORES[kind](str(tmp_path / "text"))
    yield made
    made.close()


def body(*words: str) -> list[Term]:
    return [Term("body", word) for word in words]


def rows(hits: list[tuple[Row, float]]) -> list[int]:
    return [row for row, _ in hits]


# ---------------------------------------------------------------- writing and visibility


def test_what_is_committed_is_found(store):
    reader = fill(store, entry(1, "apples grow"), entry(2, "pears grow"), entry(7, "stones lie"))
    assert reader.size == 3
    assert rows(reader.match(body("pears"), 10)) == [2]
    assert sorted(rows(reader.match(body("grow"), 10))) == [1, 2]
    assert reader.match(body("plums"), 10) == []


def test_nothing_is_visible_before_the_commit(store):
    fill(store, entry(1, "apples"))
    with store.writer() as writer:
        writer.add([entry(2, "apples")])
        assert rows(store.reader().match(body("apples"), 10)) == [1]
        writer.commit()
        assert rows(store.reader().match(body("apples"), 10)) == [1, 2]


def test_closing_without_a_commit_forgets(store):
    fill(store, entry(1, "apples"))
    with store.writer() as writer:
        writer.add([entry(2, "apples")])
        writer.drop([Row(1)])
    fill(store, entry(3, "apples"))
    assert rows(store.reader().match(body("apples"), 10)) == [1, 3]


@pytest.mark.slow
def test_many_commits_through_one_writer(store):
    with store.writer() as writer:
        for row in range(30):
            writer.add([entry(row, f"common number{row}")])
            writer.commit()
    reader = store.reader()
    assert reader.size == 30
    assert len(reader.match(body("common"), 100)) == 30
    assert rows(reader.match(body("number17"), 10)) == [17]


def test_dropped_rows_are_gone(store):
    fill(store, *(entry(row, "apples", forms=f"A-{row}") for row in range(600)))
    with store.writer() as writer:
        writer.drop([Row(3), Row(5), Row(9_999)])
        writer.commit()
    reader = store.reader()
    assert reader.size == 598
    assert rows(reader.match(body("apples"), 5)) == [0, 1, 2, 4, 6]
    assert reader.match([Term("forms", "A-3")], 5) == []
    with store.writer() as writer:
        writer.drop(Row(row) for row in range(600) if row != 77)
        writer.drop([])
        writer.commit()
    assert rows(store.reader().match(body("apples"), 5)) == [77]


def test_a_row_can_be_dropped_before_it_is_committed(store):
    with store.writer() as writer:
        writer.add([entry(1, "apples"), entry(2, "apples")])
        writer.drop([Row(1)])
        writer.commit()
    assert rows(store.reader().match(body("apples"), 5)) == [2]


def test_an_empty_store_answers(store):
    reader = fill(store)
    assert reader.size == 0
    assert reader.match(body("apples"), 10) == []
    assert reader.match(body("apples"), 10, [Row(1)]) == []
    assert reader.score(body("apples"), [Row(1)]) == {}
    assert reader.frequency("body", "apples") == 0


def test_another_instance_sees_the_same(kind, store, tmp_path):
    first = fill(store, *(entry(row, f"apples w{row % 7} w{row % 11}") for row in range(50)))
    store.close()
    other = STORES[kind](str(tmp_path / "text"))
    wanted = body("apples", "w3", "w5")
    assert other.reader().match(wanted, 20) == first.match(wanted, 20)
    other.close()


def test_a_store_works_on_after_close(store):
    fill(store, entry(1, "apples"))
    store.close()
    assert rows(store.reader().match(body("apples"), 1)) == [1]
    fill(store, entry(2, "running"))
    assert rows(store.reader().match(body("runs"), 1)) == [2]


@pytest.mark.slow
def test_a_reader_keeps_its_state(store):
    old = fill(store, *(entry(row, "apples") for row in range(20)))
    with store.writer() as writer:
        writer.drop(Row(row) for row in range(20))
        for row in range(100, 112):
            writer.add([entry(row, "apples")])
            writer.commit()
    gc.collect()
    assert rows(old.match(body("apples"), 100)) == list(range(20))
    assert old.size == 20
    assert old.frequency("body", "apples") == 20
    assert rows(store.reader().match(body("apples"), 100)) == list(range(100, 112))


@pytest.mark.slow
def test_readers_come_and_go(store):
    fill(store, entry(1, "apples"))
    readers = [store.reader() for _ in range(20)]
    for round_ in range(2, 6):
        fill(store, entry(round_, "apples"))
        assert rows(store.reader().match(body("apples"), 9)) == list(range(1, round_ + 1))
        del readers[:5]
        gc.collect()
    assert all(reader.size == 1 for reader in readers)


# ---------------------------------------------------------------- matching


def test_stems(store):
    reader = fill(store, entry(1, "she runs home"), entry(2, "running shoes"), entry(3, "a walk"))
    assert sorted(rows(reader.match(body("running"), 10))) == [1, 2]
    assert sorted(rows(reader.match(body("run"), 10))) == [1, 2]
    assert reader.frequency("body", "runs") == 2


def test_stop_words_are_neither_indexed_nor_looked_for(store):
    reader = fill(store, entry(1, "the cat"), entry(2, "the dog"))
    assert reader.match(body("the"), 10) == []
    assert reader.match([Term("body", "the", constant=True)], 10) == []
    assert reader.frequency("body", "the") == 0
    assert rows(reader.match(body("the", "dog"), 10)) == [2]
    assert reader.match(body("the", "dog"), 10) == reader.match(body("dog"), 10)


def test_forms_are_exact(store):
    reader = fill(
        store,
        entry(1, forms="getUserById getuserbyid"),
        entry(2, forms="GetUserById getuserbyid"),
        entry(3, forms="--no-vectors no-vectors running"),
        entry(4, forms="C++ c++ the"),
    )
    assert rows(reader.match([Term("forms", "getUserById")], 9)) == [1]
    assert rows(reader.match([Term("forms", "getuserbyid")], 9)) == [1, 2]
    assert rows(reader.match([Term("forms", "--no-vectors")], 9)) == [3]
    assert rows(reader.match([Term("forms", "C++")], 9)) == [4]
    assert rows(reader.match([Term("forms", "the")], 9)) == [4]
    assert reader.match([Term("forms", "runs"), Term("forms", "C"), Term("forms", "C+")], 9) == []
    assert reader.match(body("getUserById"), 9) == []
    assert reader.frequency("forms", "getuserbyid") == 2
    assert reader.frequency("forms", "GETUSERBYID") == 0


def test_fields_are_apart(store):
    reader = fill(store, entry(1, "apples"), entry(2, "pears", title="apples"), entry(3, "x", tags="apples"))
    assert rows(reader.match(body("apples"), 9)) == [1]
    assert rows(reader.match([Term("title", "apples")], 9)) == [2]
    assert rows(reader.match([Term("tags", "apple")], 9)) == [3]
    assert reader.frequency("title", "apples") == 1
    assert reader.frequency("names", "apples") == 0


def test_rare_words_and_more_matches_score_higher(store):
    reader = fill(
        store,
        *(entry(row, "common filler") for row in range(50)),
        entry(50, "common rare"),
        entry(51, "rare x"),
    )
    hits = dict(reader.match(body("common", "rare"), 100))
    assert hits[Row(50)] > hits[Row(51)] > hits[Row(0)]


def test_boosts_change_the_order(store):
    texts = [entry(1, "apples x"), entry(2, "pears x"), *(entry(row, "filler x") for row in range(3, 30))]
    reader = fill(store, *texts)
    for first, second, expected in ((2.0, 1.0, [1, 2]), (1.0, 2.0, [2, 1]), (1.0, 0.0, [1]), (0.0, 0.5, [2])):
        hits = reader.match([Term("body", "apples", first), Term("body", "pears", second)], 10)
        assert rows(hits) == expected
    once, thrice = (reader.match([Term("body", "apples", boost)], 1)[0][1] for boost in (1.0, 3.0))
    assert thrice == pytest.approx(3 * once, rel=1e-5)
    assert reader.match([Term("body", "apples", -1.0)], 10) == []


def test_boosts_by_field(store):
    filler = (entry(row, "filler words", title="other thing") for row in range(3, 40))
    reader = fill(store, entry(1, "apples words", title="plain thing"), entry(2, "x y", title="apples thing"), *filler)
    for title, expected in ((0.3, [1, 2]), (3.0, [2, 1])):
        assert rows(reader.match([*body("apples"), Term("title", "apples", title)], 10)) == expected


def test_constant_terms_score_their_boost(store):
    reader = fill(
        store,
        entry(1, "running running running", forms="E0308"),
        entry(2, "runs"),
        entry(3, "walks", forms="E0308"),
    )
    terms = [Term("body", "run", 0.25, constant=True), Term("forms", "E0308", 2.0, constant=True)]
    assert reader.match(terms, 10) == [
        (1, pytest.approx(2.25)),
        (3, pytest.approx(2.0)),
        (2, pytest.approx(0.25)),
    ]
    plain = reader.match(body("walks"), 10)[0][1]
    mixed = reader.match([*body("walks"), Term("forms", "E0308", 2.0, constant=True)], 1)
    assert mixed == [(3, pytest.approx(plain + 2.0, rel=1e-5))]


def test_a_term_counts_once_however_often_it_is_given(store):
    reader = fill(store, entry(1, "running apples"), entry(2, "pears"), entry(3, "plums"))
    once = reader.match(body("run"), 10)
    assert reader.match(body("run", "running", "runs", "run"), 10) == once
    assert reader.match([*body("run"), Term("body", "runs", 0.5)], 10) == once
    twice = [Term("forms", "x", 1.0, constant=True), *[Term("body", "runs", 1.0, constant=True)] * 3]
    assert reader.match(twice, 10) == [(1, 1.0)]


@pytest.mark.slow
def test_equal_scores_come_in_the_order_of_rows(store):
    numbers = list(range(300))
    random.seed(5)
    random.shuffle(numbers)
    with store.writer() as writer:
        for start in range(0, 300, 40):  # several segments
            writer.add(entry(row, "apples grow") for row in numbers[start : start + 40])
            writer.commit()
    reader = store.reader()
    odd = range(1, 300, 2)
    for limit in (1, 7, 100, 299, 300, 5_000):
        first = list(range(min(limit, 300)))
        assert rows(reader.match(body("apples"), limit)) == first
        assert rows(reader.match([Term("body", "grow", 2.0, constant=True)], limit)) == first
        assert rows(reader.match(body("apples"), limit, odd)) == list(odd)[:limit]


def test_a_longer_list_begins_with_the_shorter(store):
    random.seed(3)
    texts = (" ".join(random.choices("abcdefgh", k=6)) for _ in range(400))  # noqa: S311 - a sample
    reader = fill(store, *(entry(row, text) for row, text in enumerate(texts)))
    everything = reader.match(body("b", "c", "d"), 400)
    for limit in (1, 3, 10, 50, 200):
        assert reader.match(body("b", "c", "d"), limit) == everything[:limit]


def test_nothing_to_look_for(store):
    reader = fill(store, entry(1, "apples"))
    assert reader.match([], 10) == []
    assert reader.match(body("apples"), 0) == []
    assert reader.match(body("apples"), -1) == []
    assert reader.match([Term("body", "apples", 0.0)], 10) == []
    assert reader.score([], [Row(1)]) == {}
    assert reader.score(body("apples"), []) == {}


def test_an_unknown_field_is_named(store):
    reader = fill(store, entry(1, "apples"))
    with pytest.raises(ConfigError) as error:
        reader.match([Term("titel", "apples")], 1)
    assert "titel" in str(error.value)
    assert "title" in error.value.hint
    with pytest.raises(ConfigError):
        reader.frequency("row", "1")
    with store.writer() as writer, pytest.raises(ConfigError):
        writer.add([entry(2, other="x")])
