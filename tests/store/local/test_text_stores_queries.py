"""The contract of a text store: restricted queries, given rows, hostile text, any query at all."""

from __future__ import annotations

import math
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.core.ports import Term, TextReader, TextStore
from watersmeet.store.local.fts5 import Fts5
from watersmeet.store.local.tantivy import Tantivy

STORES = {"tantivy": Tantivy, "fts5": Fts5}

HOSTILE = [
    "NOT", "AND", "OR", "NEAR", "not", '"', '""', '"a" OR "b', "*", "a*", "(", ")", "foo:bar", "body:", "{", "}",
    "^a", "-a", "+", "\\", "'", ";", "--", "", " ", "\t\n", "a b", "\0", "a\0b", "\ud800", "x" * 70_000, "é" * 70_000,
    "🦜", "日本", "\u0301", "\u200d", "%", "_", "[1 TO 2]", "/a/", "~2", "NULL",
]  # fmt: skip


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store(kind: str, tmp_path: Path):
    made = STORES[kind](str(tmp_path / "text"))
    yield made
    made.close()


def entry(row: int, body: str = "", **fields: str) -> Entry:
    return Entry(Row(row), {"body": body, **fields})


def fill(store: TextStore, *entries: Entry) -> TextReader:
    with store.writer() as writer:
        writer.add(entries)
        writer.commit()
    return store.reader()


def body(*words: str) -> list[Term]:
    return [Term("body", word) for word in words]


def rows(hits: list[tuple[Row, float]]) -> list[int]:
    return [row for row, _ in hits]


@pytest.fixture(scope="module", params=STORES)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """21,000 rows: a word that is everywhere, one in three, one in a thousand, and noise."""
    store = STORES[request.param](str(tmp_path_factory.mktemp("large")))
    third, rare = ("", "third "), ("", "rare ")
    with store.writer() as writer:
        for start in range(0, 21_000, 7_000):
            writer.add(
                entry(row, f"all {third[row % 3 == 0]}{rare[row % 1000 == 0]}n{row * 7919 % 500}")
                for row in range(start, start + 7_000)
            )
            writer.commit()
    yield store.reader()
    store.close()


TERMS = [Term("body", "all", 0.5), Term("body", "third"), Term("body", "rare", 2.0), Term("body", "n7")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "within",
    [
        [],
        [12],
        [1, 2, 3, 3000, 20_999, 99_999],
        range(0, 600, 2),
        range(100, 1000),
        range(900, 1001),
        range(1000, 21_000),
        range(500_000, 500_010),
    ],
    ids=lambda rows: f"{len(rows)}",
)
def test_within_restricts_before_ranking(large, within):
    everything = dict(large.match(TERMS, 21_000))
    assert len(everything) == 21_000
    expected = sorted((-everything[row], row) for row in within if row in everything)[:100]
    assert large.match(TERMS, 100, [Row(row) for row in within]) == [
        (row, pytest.approx(-score, rel=1e-5)) for score, row in expected
    ]


@pytest.mark.slow
def test_within_accepts_any_collection(large):
    expected = large.match(TERMS, 9, [5, 6])
    for same in ({5, 6}, (5, 6), range(5, 7), {5: 0, 6: 0}, [6, 5, 6]):
        assert large.match(TERMS, 9, same) == expected


@pytest.mark.slow
def test_score_is_what_match_gives(large):
    ranked = dict(large.match(TERMS, 21_000))
    for sample in (list(range(0, 21_000, 70)), list(range(900)), [3000]):
        assert large.score(TERMS, sample) == pytest.approx({row: ranked[row] for row in sample}, rel=1e-5)
    only_third = [Term("body", "third")]
    assert set(large.score(only_third, range(10))) == {0, 3, 6, 9}
    assert large.score(only_third, [Row(50_000)]) == {}
    constant = [Term("body", "third", 0.5, constant=True)]
    assert large.score(constant, [Row(3), Row(4)]) == {3: 0.5}


def test_frequencies(large):
    assert large.size == 21_000
    assert large.frequency("body", "all") == 21_000
    assert large.frequency("body", "third") == 7_000
    assert large.frequency("body", "rare") == 21
    assert large.frequency("body", "never") == 0


@pytest.mark.slow
def test_threads_share_a_reader(large):
    expected = large.match(TERMS, 50), large.score(TERMS, range(40)), large.frequency("body", "rare")
    right, wrong = [], []

    def ask() -> None:
        for _ in range(3):
            got = large.match(TERMS, 50), large.score(TERMS, range(40)), large.frequency("body", "rare")
            (right if got == expected else wrong).append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(right), wrong) == (12, [])


# ---------------------------------------------------------------- text is data


def test_hostile_terms_change_nothing(store):
    reader = fill(store, entry(1, "found apples"), entry(2, "pears foo bar"), entry(3, "a1 b1"))
    expected = reader.match(body("apples", "pears"), 10)
    fields = ("body", "title", "forms")
    for text in HOSTILE:
        for name in fields:
            for constant in (False, True):
                assert reader.match([Term(name, text, 3.0, constant)], 10) == [], (name, text[:20])
            assert reader.frequency(name, text) == 0, (name, text[:20])
    hostile = [Term(name, text, 1.0, constant) for text in HOSTILE for name in fields for constant in (False, True)]
    assert reader.match([*hostile, *body("apples", "pears")], 10) == expected
    assert set(reader.score([*hostile, *body("apples")], [Row(1), Row(2)])) == {1}


def test_hostile_text_is_indexed_as_it_stands(store):
    with store.writer() as writer:
        writer.add(entry(row, f"marker {text}", forms=text, title=text) for row, text in enumerate(HOSTILE))
        writer.commit()
    reader = store.reader()
    assert len(reader.match(body("marker"), 100)) == len(HOSTILE)
    for text in ("foo:bar", '"', "*", "AND", "NOT", "(", "🦜", "日本", "^a", "--", "%"):
        assert rows(reader.match([Term("forms", text)], 10)) == [HOSTILE.index(text)], text
    for text in ("foo:bar", "🦜", "日本", "^a", "[1", "~2"):
        assert len(reader.match([Term("title", text)], 10)) == 1, text
    assert reader.match([Term("title", "bar")], 10) == []


@pytest.mark.slow
def test_many_terms(store):
    reader = fill(store, *(entry(row, f"w{row} x", forms=f"F{row}") for row in range(1_500)))
    terms = [Term("body", f"w{n}", 1 + n % 3) for n in range(1_500)]
    terms += [Term("forms", f"F{n}", 0.5, constant=True) for n in range(1_500)]
    assert len(reader.match(terms, 2_000)) == 1_500


words = st.sampled_from(["apple", "pear", "plum", "run", "running", "fig", "the", "kiwi", "lime"])
term = st.builds(
    Term,
    st.sampled_from(["body", "title", "forms", "tags"]),
    words | st.text(max_size=6),
    st.floats(0, 100, allow_subnormal=False),
    st.booleans(),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.tuples(st.lists(words, max_size=8), words, st.text(max_size=5)), max_size=12),
    terms=st.lists(term, max_size=8),
    limit=st.integers(0, 15),
    within=st.none() | st.sets(st.integers(0, 14), max_size=10),
)
def test_rankings_are_ordered_unique_and_finite(kind, texts, terms, limit, within):
    with tempfile.TemporaryDirectory() as folder:
        store = STORES[kind](folder)
        reader = fill(
            store,
            *(
                entry(row, " ".join(searchable), title=title, forms=f)
                for row, (searchable, title, f) in enumerate(texts)
            ),
        )
        hits = reader.match(terms, limit, within)
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        assert len(hits) <= limit
        assert len(set(rows(hits))) == len(hits)
        assert all(math.isfinite(score) and score >= 0 for _, score in hits)
        assert set(rows(hits)) <= (set(range(len(texts))) if within is None else within)
        everything = reader.match(terms, 20, within)
        assert hits == everything[:limit]
        scored = reader.score(terms, range(15) if within is None else within)
        assert scored == pytest.approx(dict(everything), rel=1e-5)
        store.close()
