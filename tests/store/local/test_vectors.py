from __future__ import annotations

import json
import shutil
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

from watersmeet.core.errors import IndexBusy, IndexDamaged, IndexMismatch
from watersmeet.store.local import _file_commits, _sketch
from watersmeet.store.local.vectors import Vectors

WIDTH = 48


def some(count: int, seed: int = 0, width: int = WIDTH) -> np.ndarray:
    """Rows with a common direction, so that all cosines lie high and close together, as a real model's do."""
    chance = np.random.default_rng(seed)
    made = chance.standard_normal((count, width)) + 1.2
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def filled(folder: Path, vectors: np.ndarray, rows: list[int] | None = None, grace: float = 60.0) -> Vectors:
    store = Vectors(str(folder), vectors.shape[1], grace)
    writer = store.writer()
    writer.add(rows if rows is not None else range(len(vectors)), vectors)
    writer.commit()
    return store


def brute(vectors: np.ndarray, query: np.ndarray, allowed: list[int], limit: int) -> list[int]:
    near = vectors[allowed].astype(np.float64) @ query
    return [allowed[n] for n in np.argsort(-near, kind="stable")[:limit]]


def test_a_new_store_is_empty(tmp_path: Path) -> None:
    reader = Vectors(str(tmp_path / "none"), WIDTH).reader()
    assert reader.size == 0
    assert reader.search(some(1)[0], 5) == []
    assert reader.search(some(1)[0], 5, {1, 2}) == []
    assert reader.score(some(1)[0], [1]) == {}
    assert reader.has([1]).tolist() == [False]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("count", [1, 99, 101, 3000])
def test_it_finds_what_a_full_comparison_finds(tmp_path: Path, count: int) -> None:
    vectors = some(count)
    reader = filled(tmp_path, vectors).reader()
    agreed = 0
    for query in some(20, seed=1):
        found = reader.search(query, 20)
        agreed += len({row for row, _ in found} & set(brute(vectors, query, list(range(count)), 20)))
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        assert all(abs(score - float(vectors[row] @ query)) < 1e-3 for row, score in found)
    assert agreed >= 0.99 * 20 * min(count, 20)


@pytest.mark.parametrize("share", [2, 7, 400])
def test_the_filter_comes_before_the_ranking(tmp_path: Path, share: int) -> None:
    vectors = some(4000)
    reader = filled(tmp_path, vectors).reader()
    query = some(1, seed=1)[0]
    far = [int(row) for row in np.argsort(vectors @ query)[: 4000 // share]]
    found = [row for row, _ in reader.search(query, 10, set(far))]
    assert len(set(found) & set(brute(vectors, query, far, 10))) >= 9
    assert found == [row for row, _ in reader.search(query, 10, np.array([*far, *far, 99999]))]
    assert reader.search(query, 10, []) == []


def test_equal_scores_come_in_the_order_of_rows(tmp_path: Path) -> None:
    rows = np.random.default_rng(3).permutation(1000).tolist()
    reader = filled(tmp_path, np.repeat(some(1), 1000, axis=0), rows).reader()
    assert [row for row, _ in reader.search(some(1, seed=2)[0], 30)] == list(range(30))


def test_searching_leaves_the_interpreter_whole(tmp_path: Path) -> None:
    """One of SimSIMD's ways to be called gives away references to None until Python aborts."""
    reader = filled(tmp_path, some(200)).reader()
    before = sys.getrefcount(None)
    for query in some(500, seed=1):
        reader.search(query, 1)
    assert sys.getrefcount(None) > before - 100


def test_the_top_3_are_the_first_of_the_top_100(tmp_path: Path) -> None:
    reader = filled(tmp_path, some(2000)).reader()
    query = some(1, seed=5)[0]
    assert reader.search(query, 100)[:3] == reader.search(query, 3)


def test_score_agrees_with_search(tmp_path: Path) -> None:
    reader = filled(tmp_path, some(500)).reader()
    query = some(1, seed=5)[0]
    found = dict(reader.search(query, 50))
    assert reader.score(query, [*found, 7777]) == found


def test_zero_and_odd_vectors_are_held_but_never_found(tmp_path: Path) -> None:
    vectors = some(300)
    vectors[3] = 0
    vectors[5, 2] = np.nan
    vectors[7, 0] = np.inf
    reader = filled(tmp_path, vectors).reader()
    assert reader.has([3, 5, 7]).all()
    found = reader.search(-some(1)[0], 300)
    assert len(found) == 297
    assert np.isfinite([score for _, score in found]).all()
    assert reader.score(some(1)[0], [3, 5, 7]) == {}
    assert not reader.vectors([3, 5, 7]).any()
    for nowhere in (np.zeros(WIDTH), np.full(WIDTH, np.nan)):
        assert reader.search(nowhere, 5) == []
        assert reader.score(nowhere, [1]) == {}


def test_a_store_of_zeros_only(tmp_path: Path) -> None:
    reader = filled(tmp_path, np.zeros((200, WIDTH), dtype=np.float32)).reader()
    assert reader.search(some(1)[0], 5) == []
    assert reader.size == 200


def test_a_row_that_is_added_again_is_replaced(tmp_path: Path) -> None:
    store = filled(tmp_path, some(200))
    writer = store.writer()
    writer.add([5], some(1, seed=9))
    writer.commit()
    reader = store.reader()
    assert reader.size == 200
    assert reader.vectors([5])[0] == pytest.approx(some(1, seed=9)[0], abs=1e-3)
    assert [row for row, _ in reader.search(some(1, seed=9)[0], 200)].count(5) == 1


def test_dropped_rows_are_gone_until_added_again(tmp_path: Path) -> None:
    store = filled(tmp_path, some(200))
    writer = store.writer()
    writer.drop({5, 6, 999})
    writer.add([6], some(1, seed=9))
    writer.commit()
    reader = store.reader()
    assert reader.has([5, 6, 7]).tolist() == [False, True, True]
    assert 5 not in dict(reader.search(some(200)[5], 200))
    assert reader.score(some(1)[0], [5]) == {}


def test_nothing_shows_before_the_commit_and_the_reader_keeps_its_state(tmp_path: Path) -> None:
    store = filled(tmp_path, some(10))
    before = store.reader()
    writer = store.writer()
    writer.add([10], some(1))
    assert store.reader() is before
    writer.commit()
    assert store.reader().size == 11
    assert before.size == 10
    assert store.reader() is store.reader()


def test_an_unfinished_append_is_cut_off(tmp_path: Path) -> None:
    store = filled(tmp_path, some(10))
    lost = store.writer()
    lost.add(range(10, 500), some(490))
    lost.rollback()
    assert Vectors(str(tmp_path), WIDTH).reader().size == 10
    writer = store.writer()
    writer.add([10], some(1, seed=4))
    writer.commit()
    assert store.reader().rows().tolist() == list(range(11))
    assert store.reader().vectors([10])[0] == pytest.approx(some(1, seed=4)[0], abs=1e-3)


def test_one_writes_at_a_time(tmp_path: Path) -> None:
    store = filled(tmp_path, some(1))
    first, second = store.writer(), store.writer()
    first.add([1], some(1))
    with pytest.raises(IndexBusy):
        second.add([2], some(1))
    first.commit()
    second.add([2], some(1))
    second.commit()
    assert store.reader().rows().tolist() == [0, 1, 2]


@pytest.mark.slow
def test_compaction_keeps_what_lives_and_readers_keep_reading(tmp_path: Path) -> None:
    store = filled(tmp_path, some(300), grace=0.2)
    writer = store.writer()
    writer.drop(range(0, 300, 2))
    writer.commit()
    before = store.reader()
    query = some(1, seed=1)[0]
    found = before.search(query, 20)
    assert before.garbage == pytest.approx(0.5)
    writer.compact()
    after = store.reader()
    assert after.search(query, 20) == found == before.search(query, 20)
    assert after.garbage == 0
    assert len(list(tmp_path.glob("000000.*"))) == 5
    time.sleep(0.25)
    writer.add([1000], some(1))
    writer.commit()
    assert not list(tmp_path.glob("000000.*"))
    assert before.search(query, 20) == found


def test_another_dimension_is_refused(tmp_path: Path) -> None:
    filled(tmp_path, some(3))
    other = Vectors(str(tmp_path), WIDTH + 1)
    with pytest.raises(IndexMismatch):
        other.reader()
    with pytest.raises(IndexMismatch):
        other.writer().add([1], some(1, width=WIDTH + 1))
    with pytest.raises(ValueError, match="vectors of"):
        Vectors(str(tmp_path), WIDTH).writer().add([1], some(1, width=5))


@pytest.mark.parametrize("name", ["commit.json", "000000.codes", "000000.rows", "000000.exact"])
@pytest.mark.parametrize("how", ["cut", "gone"])
def test_damage_is_named(tmp_path: Path, name: str, how: str) -> None:
    filled(tmp_path, some(30))
    if how == "cut":
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-3])
    elif name != "commit.json":
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text("{}")
    with pytest.raises(IndexDamaged, match=name) as caught:
        Vectors(str(tmp_path), WIDTH).reader()
    assert caught.value.hint


# ---------------------------------------------------------------- large stores


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores are large from here on, and a sketch leaves few candidates."""
    for name, value in (("LEAST_ROWS", 1000), ("_COMPONENTS", 16), ("_MIN_CANDIDATES", 150)):
        monkeypatch.setattr(_sketch, name, value)


def sketches(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.sketch-*"))


def clustered(count: int, seed: int = 0) -> np.ndarray:
    """Rows whose differences lie in few directions, as those of texts do."""
    chance = np.random.default_rng(seed)
    topics = np.random.default_rng(99).standard_normal((12, WIDTH)) * 2
    made = chance.dirichlet(np.full(12, 0.3), count) @ topics + 0.15 * chance.standard_normal((count, WIDTH)) + 0.5
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def agreement(store: Vectors, vectors: np.ndarray, allowed: list[int], within: bool = False) -> float:
    """The share of the twenty nearest of these rows that a search finds."""
    queries = clustered(20, seed=1)
    found = [{row for row, _ in store.reader().search(query, 20, allowed if within else None)} for query in queries]
    wanted = [set(brute(vectors, query, allowed, 20)) for query in queries]
    assert all(one <= set(allowed) for one in found)
    return sum(len(one & other) for one, other in zip(found, wanted, strict=True)) / (20 * len(queries))


@pytest.mark.usefixtures("sketched")
def test_a_large_store_is_searched_by_its_sketch_and_later_rows_too(tmp_path: Path) -> None:
    vectors = clustered(6000)
    store = filled(tmp_path, vectors[:5000])
    assert sketches(tmp_path) == ["000000.sketch-5000x16"]
    assert agreement(store, vectors, list(range(5000))) > 0.98
    reader = store.reader()
    assert reader.sketch is not None

    writer = store.writer()
    writer.add(range(5000, 6000), vectors[5000:])
    writer.drop(range(100, 6000, 4))
    writer.commit()
    live = [row for row in range(6000) if row < 100 or row % 4]
    assert sketches(tmp_path) == ["000000.sketch-5000x16"]
    assert agreement(store, vectors, live) > 0.98
    assert agreement(store, vectors, live[::2], within=True) > 0.98
    assert agreement(store, vectors, live[::100], within=True) == 1


@pytest.mark.usefixtures("sketched")
def test_a_sketch_is_replaced_when_many_rows_came_since(tmp_path: Path) -> None:
    vectors = clustered(3000)
    store = filled(tmp_path, vectors[:1000], grace=0)
    before = store.reader()
    found = before.search(vectors[7], 20)
    writer = store.writer()
    writer.add(range(1000, 3000), vectors[1000:])
    writer.commit()
    assert sketches(tmp_path) == ["000000.sketch-3000x16"]
    assert before.search(vectors[7], 20) == found
    writer.drop(range(0, 3000, 2))
    writer.compact()
    assert sketches(tmp_path) == ["000001.sketch-1500x16"]
    assert agreement(store, vectors, list(range(1, 3000, 2))) > 0.98


@pytest.mark.usefixtures("sketched")
def test_a_version_without_sketches_and_this_one_share_a_store(tmp_path: Path) -> None:
    store = filled(tmp_path, clustered(1200), grace=0)
    body = json.loads(_file_commits.read_bytes(tmp_path))["commit"]
    del body["sums"]["sketch-1200x16"]  # as that version writes it
    _file_commits.publish(tmp_path, body)
    assert store.reader().sketch is None
    assert agreement(store, clustered(1200), list(range(1200))) > 0.98
    (tmp_path / "000000.sketch-1200x16.new").write_bytes(b"not finished")
    writer = store.writer()
    writer.drop([3])
    writer.commit()
    assert store.reader().sketch is not None
    assert sketches(tmp_path) == ["000000.sketch-1200x16"]


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("share", [0, 0.3])
def test_a_query_beside_the_components_of_a_sketch_finds_its_row(tmp_path: Path, share: float) -> None:
    """One row of 1,200 is of another kind, and is not in the sample."""
    vectors = clustered(1200)
    vectors[:, WIDTH // 2 :] = 0
    vectors[7] = np.eye(WIDTH)[WIDTH - 1]
    store = filled(tmp_path, vectors)
    query = vectors[7] + share * vectors[8]
    with np.errstate(all="raise"):
        assert store.reader().search(query, 1)[0][0] == 7


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("name", ["sketch-0x16", "sketch-1200x0", f"sketch-10x{WIDTH + 1}"])
def test_a_forged_sketch_is_damage(tmp_path: Path, name: str) -> None:
    filled(tmp_path, clustered(1200))
    body = json.loads(_file_commits.read_bytes(tmp_path))["commit"]
    body["sums"][name] = body["sums"].pop("sketch-1200x16")
    _file_commits.publish(tmp_path, body)
    with pytest.raises(IndexDamaged, match=r"commit\.json"):
        Vectors(str(tmp_path), WIDTH).reader()


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("how", ["cut", "gone", "changed", "more rows than there are"])
def test_damage_of_a_sketch_is_named(tmp_path: Path, how: str) -> None:
    store = filled(tmp_path, clustered(1200))
    file = tmp_path / "000000.sketch-1200x16"
    content = file.read_bytes()
    if how == "gone":
        file.unlink()
    elif how == "more rows than there are":
        body = json.loads(_file_commits.read_bytes(tmp_path))["commit"]
        body["sums"]["sketch-9999x16"] = body["sums"].pop("sketch-1200x16")
        _file_commits.publish(tmp_path, body)
    else:
        file.write_bytes(content[:-3] if how == "cut" else content[:5000] + b"x" + content[5001:])
    with pytest.raises(IndexDamaged, match="commit.json" if how.startswith("more") else file.name):
        Vectors(str(tmp_path), WIDTH).reader()
    with pytest.raises(IndexDamaged):
        store.verify()


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(0, 12), min_size=1, max_size=6)),
        st.tuples(st.just("drop"), st.lists(st.integers(0, 12), min_size=1, max_size=4)),
        st.tuples(st.sampled_from(["commit", "rollback", "compact", "reopen"]), st.just([])),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(OPERATIONS, st.integers(0, 2**20))
def test_any_history_ends_as_a_dictionary_would(operations: list[tuple[str, list[int]]], seed: int) -> None:
    folder = tempfile.mkdtemp()
    store = Vectors(folder, WIDTH, 0.0)
    writer = store.writer()
    live_rows: dict[int, np.ndarray] = {}
    kept: dict[int, np.ndarray] = {}
    for number, (name, rows) in enumerate(operations):
        if name == "add":
            vectors = some(len(rows), seed + number)
            writer.add(rows, vectors)
            live_rows.update(zip(rows, vectors, strict=True))
        elif name == "drop":
            writer.drop(rows)
            live_rows = {row: vector for row, vector in live_rows.items() if row not in rows}
        elif name in ("commit", "compact"):
            getattr(writer, name)()
            kept = dict(live_rows)
        else:
            writer.rollback()
            live_rows = dict(kept)
            if name == "reopen":
                store = Vectors(folder, WIDTH, 0.0)
                writer = store.writer()
        reader = store.reader()
        assert reader.rows().tolist() == sorted(kept)
        for row, vector in kept.items():
            assert reader.vectors([row])[0] == pytest.approx(vector, abs=1e-3)
    writer.rollback()
    shutil.rmtree(folder)


WRITER = """
import sys, numpy as np
from watersmeet.store.local import _sketch
from watersmeet.store.local.vectors import Vectors
_sketch.LEAST_ROWS, _sketch._COMPONENTS = 40, 8
store = Vectors(sys.argv[1], 16, 0.0)
number = int(sys.argv[2])
writer = store.writer()
while True:
    rows = range(number * 10, number * 10 + 10)
    writer.add(rows, np.eye(16, dtype=np.float32)[[row % 16 for row in rows]])
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
    for _ in range(20):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(acknowledged + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            acknowledged = int(writer.stdout.readline())
            time.sleep(chance.uniform(0, 0.06))
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
        reader = Vectors(str(tmp_path), 16).reader()
        wanted = [row for row in range(acknowledged * 10 + 10) if row % 10 != 3]
        assert reader.has(wanted).all()
        assert not reader.has(range(3, acknowledged * 10 + 10, 10)).any()
        assert (reader.vectors(wanted) == np.eye(16)[[row % 16 for row in wanted]]).all()
    assert acknowledged >= 19


@pytest.mark.kill
def test_it_is_read_while_another_process_writes_and_compacts(tmp_path: Path) -> None:
    """Forty commits and eight compactions, with no grace for the files that are replaced."""
    command = [sys.executable, "-c", WRITER, str(tmp_path), "0"]
    store = Vectors(str(tmp_path), 16)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            for _ in range(40):
                acknowledged = int(writer.stdout.readline())
                reader = store.reader()
                assert reader.has([acknowledged * 10 + n for n in (0, 9)]).all()
                assert reader.search(np.eye(16)[0], 3)[0][1] == pytest.approx(1.0)
        finally:
            writer.kill()
