from __future__ import annotations

import math
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.core.errors import IndexBusy, IndexDamaged
from watersmeet.core.sparse import Weighted
from watersmeet.store.local import postings
from watersmeet.store.local.postings import Postings

Terms = dict[int, float]
BIG = 1 << 60


def weighted(terms: Terms, rarely: bool = False) -> Weighted:
    weights = np.array(list(terms.values()), dtype=np.float32)
    return Weighted(np.array(list(terms), dtype=np.int64), weights, rarely)


def some(count: int, seed: int = 0) -> list[Terms]:
    chance = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        terms = chance.zipf(1.3, 20) % 500 + BIG
        made.append({int(term): float(np.float16(chance.uniform(0.1, 3))) for term in terms})
    return made


def filled(folder: Path, texts: list[Terms], each: int = 10_000, grace: float = 60.0) -> Postings:
    store = Postings(str(folder), grace)
    writer = store.writer()
    for start in range(0, len(texts), each):
        some = texts[start : start + each]
        writer.add(range(start, start + len(some)), [weighted(text) for text in some])
        writer.commit()
    return store


def brute(texts: dict[int, Terms], query: Terms, rarely: bool = False) -> list[tuple[int, float]]:
    if rarely:
        counts = {term: sum(term in text for text in texts.values()) for term in query}
        query = {
            term: weight * math.log(1 + (len(texts) - counts[term] + 0.5) / (counts[term] + 0.5))
            for term, weight in query.items()
        }
    scores = {row: sum(weight * text.get(term, 0) for term, weight in query.items()) for row, text in texts.items()}
    return sorted(((row, score) for row, score in scores.items() if score), key=lambda pair: (-pair[1], pair[0]))


def close(found: list[tuple[int, float]], wanted: list[tuple[int, float]]) -> bool:
    """The same rows and scores but for rounding, which may swap what is all but equal."""
    scores = dict(wanted)
    return len(found) == len(wanted) and all(
        abs(score - scores[row]) < 1e-3 and abs(score - other) < 1e-3
        for (row, score), (_, other) in zip(found, wanted, strict=True)
    )


def test_a_new_store_is_empty(tmp_path: Path) -> None:
    reader = Postings(str(tmp_path / "none")).reader()
    assert (reader.size, reader.garbage) == (0, 0.0)
    assert reader.search(weighted({1: 1.0}), 5) == []
    assert reader.search(weighted({1: 1.0}), 5, {1, 2}) == []
    assert reader.score(weighted({1: 1.0}, rarely=True), [1]) == {}
    assert reader.has([1]).tolist() == [False]
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize("rarely", [False, True])
@pytest.mark.parametrize("each", [1000, 150, 30])
def test_it_finds_what_a_full_comparison_finds(tmp_path: Path, each: int, rarely: bool) -> None:
    texts = some(1000)
    reader = filled(tmp_path, texts, each).reader()
    assert len(reader.segments) <= 8
    for query in some(10, seed=1):
        query = dict(list(query.items())[:6])
        wanted = brute(dict(enumerate(texts)), query, rarely)
        found = reader.search(weighted(query, rarely), 5000)
        assert close(found, wanted)
        assert reader.search(weighted(query, rarely), 20) == found[:20]
        assert reader.score(weighted(query, rarely), [row for row, _ in found[5:50]]) == dict(found[5:50])


def test_segments_make_no_difference_to_scores(tmp_path: Path) -> None:
    texts = some(600)
    one, many = filled(tmp_path / "one", texts).reader(), filled(tmp_path / "many", texts, 90).reader()
    assert (len(one.segments), len(many.segments)) == (1, 7)
    for query in some(10, seed=1):
        assert one.search(weighted(query, True), 50) == many.search(weighted(query, True), 50)


def test_the_filter_comes_before_the_ranking(tmp_path: Path) -> None:
    texts = some(1000)
    reader = filled(tmp_path, texts, 300).reader()
    query = texts[0]
    last = [row for row, _ in brute(dict(enumerate(texts)), query)][-40:]
    found = reader.search(weighted(query), 10, set(last))
    assert len(found) == 10
    assert {row for row, _ in found} <= set(last)
    assert found == reader.search(weighted(query), 10, np.array([*last, *last, 99999]))
    everything = np.array([*last, *last] * 20)[:1000]
    assert found == reader.search(weighted(query), 10, everything)
    assert reader.search(weighted(query), 10, []) == []


def test_equal_scores_come_in_the_order_of_rows(tmp_path: Path) -> None:
    store = Postings(str(tmp_path))
    writer = store.writer()
    for rows in (range(500, 1000), range(500)):
        writer.add(rows, [weighted({7: 1.0})] * 500)
        writer.commit()
    assert [row for row, _ in store.reader().search(weighted({7: 2.0}), 30)] == list(range(30))


def test_odd_weights_say_nothing(tmp_path: Path) -> None:
    odd = {1: 0.0, 2: -1.0, 3: math.nan, 4: math.inf, 5: 1e30, 6: 0.5}
    reader = filled(tmp_path, [odd, {}, {6: 1.0}]).reader()
    assert reader.size == 3
    assert [reader.frequency(term) for term in range(1, 7)] == [0, 0, 0, 0, 0, 2]
    assert reader.search(weighted(dict.fromkeys(odd, 1.0)), 9) == [(2, 1.0), (0, 0.5)]
    assert reader.search(weighted({6: math.nan}), 9) == reader.search(weighted({6: -1.0}), 9) == []
    assert reader.search(weighted({}), 9) == []


def test_a_row_that_is_added_again_is_replaced(tmp_path: Path) -> None:
    store = filled(tmp_path, [{1: 1.0}, {1: 2.0}])
    writer = store.writer()
    writer.add([0], [weighted({2: 1.0})])
    writer.commit()
    reader = store.reader()
    assert reader.search(weighted({1: 1.0}), 9) == [(1, 2.0)]
    assert reader.search(weighted({2: 1.0}), 9) == [(0, 1.0)]
    assert (reader.size, reader.garbage) == (2, pytest.approx(1 / 3))


def test_nothing_shows_before_the_commit_and_the_reader_keeps_its_state(tmp_path: Path) -> None:
    store = filled(tmp_path, some(10))
    before = store.reader()
    writer = store.writer()
    writer.add([10], [weighted({1: 1.0})])
    assert store.reader() is before
    writer.commit()
    assert store.reader().size == 11
    assert before.size == 10
    assert store.reader() is store.reader()
    writer.drop([10])
    writer.rollback()
    assert Postings(str(tmp_path)).reader().size == 11


def test_one_writes_at_a_time(tmp_path: Path) -> None:
    store = filled(tmp_path, some(1))
    first, second = store.writer(), store.writer()
    first.add([1], [weighted({1: 1.0})])
    with pytest.raises(IndexBusy):
        second.add([2], [weighted({1: 1.0})])
    first.commit()
    second.drop([0])
    second.commit()
    assert store.reader().rows().tolist() == [1]
    with pytest.raises(ValueError, match="2 rows"):
        second.add([1, 2], [weighted({1: 1.0})])


@pytest.mark.slow
def test_compaction_keeps_what_lives_and_readers_keep_reading(tmp_path: Path) -> None:
    texts = some(300)
    store = filled(tmp_path, texts, 100, grace=0.2)
    writer = store.writer()
    writer.drop(range(0, 300, 2))
    writer.commit()
    before = store.reader()
    found = before.search(weighted(texts[1]), 20)
    assert before.garbage == pytest.approx(0.5)
    writer.compact()
    after = store.reader()
    assert after.search(weighted(texts[1]), 20) == found == before.search(weighted(texts[1]), 20)
    assert (after.garbage, len(after.segments)) == (0, 1)
    rare = weighted(texts[1], rarely=True)
    assert close(after.search(rare, 20), brute({row: texts[row] for row in range(1, 300, 2)}, texts[1], True)[:20])
    time.sleep(0.25)
    writer.add([1000], [weighted({1: 1.0})])
    writer.commit()
    assert len(list(tmp_path.glob("*.postings"))) == 2
    assert before.search(weighted(texts[1]), 20) == found


def test_many_small_commits_stay_few_segments(tmp_path: Path) -> None:
    store = filled(tmp_path, some(400), 8, grace=0.0)
    assert len(store.reader().segments) <= 8
    assert len(list(tmp_path.glob("*.postings"))) == len(store.reader().segments)


@pytest.mark.parametrize("merge_bytes", [1, 3_000, 100_000])
def test_little_memory_for_merging_makes_the_same_segments(tmp_path: Path, merge_bytes: int) -> None:
    def merged(store: Postings) -> list[bytes]:
        writer = store.writer()
        for start in range(0, 400, 40):
            writer.add(range(start, start + 40), [weighted(text) for text in some(40, start)])
            writer.drop(range(start - 20, start - 10))
            writer.commit()
        writer.compact()
        return [path.read_bytes() for path in sorted(Path(store.folder).glob("*.postings"))]

    usual, small = tmp_path / "usual", tmp_path / "small"
    assert merged(Postings(str(small), 0.0, merge_bytes)) == merged(Postings(str(usual), 0.0))
    assert not [path for path in small.iterdir() if path.suffix not in (".postings", ".json", ".lock", "")]


def test_a_drop_and_a_replacement_outlive_the_merging_of_their_segments(tmp_path: Path) -> None:
    store = filled(tmp_path, [{1: 1.0}] * 300)
    writer = store.writer()
    writer.drop([5])
    writer.add([6], [weighted({2: 1.0})])
    writer.commit()
    for row in range(300, 309):
        writer.add([row], [weighted({2: 1.0})])
        writer.commit()
    reader = store.reader()
    assert [len(segment.rows) for segment in reader.segments[:2]] == [300, 8]
    assert reader.rows().tolist() == [row for row in range(309) if row != 5]
    assert {5, 6}.isdisjoint(row for row, _ in reader.search(weighted({1: 1.0}), 999))
    assert [row for row, _ in reader.search(weighted({2: 1.0}), 999)] == [6, *range(300, 309)]


@pytest.mark.parametrize("how", ["cut", "gone", "commit"])
def test_damage_is_named(tmp_path: Path, how: str) -> None:
    filled(tmp_path, some(30))
    file = tmp_path / "000000.postings"
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-3])
    elif how == "gone":
        file.unlink()
    else:
        file = tmp_path / "commit.json"
        file.write_text(file.read_text().replace('"rows": 30', '"rows": 29'))
    with pytest.raises(IndexDamaged, match=file.name) as caught:
        Postings(str(tmp_path)).reader()
    assert caught.value.hint


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(0, 12), min_size=1, max_size=6, unique=True)),
        st.tuples(st.just("drop"), st.lists(st.integers(0, 12), min_size=1, max_size=4)),
        st.tuples(st.sampled_from(["commit", "commit", "rollback", "compact", "reopen"]), st.just([])),
    ),
    max_size=30,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(OPERATIONS, st.integers(0, 2**20))
def test_any_history_ends_as_a_dictionary_would(operations: list[tuple[str, list[int]]], seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(postings, "_MAX_SEGMENTS", 3)
        store = Postings(folder, 0.0)
        writer = store.writer()
        live_rows: dict[int, Terms] = {}
        kept: dict[int, Terms] = {}
        for number, (name, rows) in enumerate(operations):
            if name == "add":
                texts = some(len(rows), seed + number)
                writer.add(rows, [weighted(text) for text in texts])
                live_rows.update(zip(rows, texts, strict=True))
            elif name == "drop":
                writer.drop(rows)
                live_rows = {row: text for row, text in live_rows.items() if row not in rows}
            elif name in ("commit", "compact"):
                getattr(writer, name)()
                kept = dict(live_rows)
            else:
                writer.rollback()
                live_rows = dict(kept)
                if name == "reopen":
                    store = Postings(folder, 0.0)
                    writer = store.writer()
            reader = store.reader()
            assert reader.rows().tolist() == sorted(kept)
            query = some(1, seed + number)[0]
            assert close(reader.search(weighted(query), 99), brute(kept, query))
        writer.rollback()


WRITER = """
import sys, numpy as np
from watersmeet.core.sparse import Weighted
from watersmeet.store.local.postings import Postings
store = Postings(sys.argv[1], 0.0)
number = int(sys.argv[2])
writer = store.writer()
while True:
    rows = range(number * 10, number * 10 + 10)
    one = np.ones(2, dtype=np.float32)
    writer.add(rows, [Weighted(np.array([row, 1 << 40]), one) for row in rows])
    writer.drop([rows[3]])
    writer.commit()
    print(number, flush=True)
    number += 1
    if number % 5 == 0:
        writer.compact()
"""


@pytest.mark.kill
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    chance = np.random.default_rng(11)
    acknowledged = -1
    for _ in range(15):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(acknowledged + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            acknowledged = int(writer.stdout.readline())
            time.sleep(chance.uniform(0, 0.06))
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
        reader = Postings(str(tmp_path)).reader()
        wanted = [row for row in range(acknowledged * 10 + 10) if row % 10 != 3]
        assert reader.has(wanted).all()
        assert not reader.has(range(3, acknowledged * 10 + 10, 10)).any()
        assert all(reader.search(weighted({row: 1.0}), 5) == [(row, 1.0)] for row in wanted)
        assert {row for row, _ in reader.search(weighted({1 << 40: 1.0}), 10**6)} >= set(wanted)
    assert acknowledged >= 14


@pytest.mark.kill
def test_it_is_read_while_another_process_writes_and_compacts(tmp_path: Path) -> None:
    """Forty commits and eight compactions, with no grace for the files that are replaced."""
    command = [sys.executable, "-c", WRITER, str(tmp_path), "0"]
    store = Postings(str(tmp_path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            for _ in range(40):
                acknowledged = int(writer.stdout.readline())
                reader = store.reader()
                assert reader.has([acknowledged * 10 + n for n in (0, 9)]).all()
                assert reader.search(weighted({acknowledged * 10: 1.0}), 3) == [(acknowledged * 10, 1.0)]
        finally:
            writer.kill()
