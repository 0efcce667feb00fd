"""The contract of `Words`: BM25 over live chunks, exact identifiers, private rows scored apart."""

from __future__ import annotations

import math

import pytest

from watersmeet.core.errors import ConfigError
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ANY, ChunkId, Condition
from watersmeet.core.ports import Term, Words
from watersmeet.testing.contracts._base import FilledContract
from watersmeet.testing.contracts.corpus import (
    ADA,
    CASES,
    EVERYONES,
    HARBOUR,
    OPS,
    PUBLIC,
    Case,
    Filling,
    chunk_of,
    page,
    visible_to,
)

CLOSE = 1e-6


def body(*words: str, boost: float = 1.0) -> list[Term]:
    return [Term("body", word, boost) for word in words]


def words_of(snapshot: Snapshot, condition: Condition = ANY) -> Words:
    words = snapshot.words(condition)
    assert words is not None
    return words


def ids(found: list[tuple[ChunkId, float]]) -> list[ChunkId]:
    return [chunk for chunk, _ in found]


class WordsContract(FilledContract):
    # ------------------------------------------------------------ matching

    def test_words_are_found_by_stem_and_stop_words_are_not(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        assert ids(words.match(body("song"), ANY, 10)) == [chunk_of("notes/song.md")]
        assert set(ids(words.match(body("rotates"), ANY, 10))) == {chunk_of("guides/keys.md", n) for n in (0, 1)}
        assert words.match(body("the"), ANY, 10) == []
        assert words.match(body("unheard"), ANY, 10) == []
        assert words.match([], ANY, 10) == []
        assert words.match(body("song"), ANY, 0) == []

    def test_identifiers_are_found_as_they_are_written(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        for form in ("TRN-1042", "trn-1042"):
            assert ids(words.match([Term("forms", form)], ANY, 10)) == [chunk_of("guides/keys.md", 1)]
        assert words.match([Term("forms", "Trn-1042")], ANY, 10) == []
        assert ids(words.match([Term("forms", "--no-telemetry")], ANY, 10)) == [chunk_of("guides/setup.md")]

    def test_each_field_is_searched_by_itself(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        keys = {chunk_of("guides/keys.md"), chunk_of("guides/keys.md", 1), chunk_of("notes/keys.md")}
        assert set(ids(words.match([Term("title", "keys")], ANY, 10))) == keys
        assert ids(words.match([Term("headings", "errors")], ANY, 10)) == [chunk_of("guides/keys.md", 1)]
        setup = {chunk_of("guides/setup.md", number) for number in range(3)}
        assert set(ids(words.match([Term("names", "installation")], ANY, 10))) == setup
        assert set(ids(words.match([Term("tags", "install")], ANY, 10))) == setup

    def test_an_unknown_field_is_an_error(self, snapshot: Snapshot) -> None:
        with pytest.raises(ConfigError):
            words_of(snapshot).match([Term("colour", "red")], ANY, 10)

    def test_what_stands_in_no_text_is_found_all_the_same(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        assert ids(words.match(body("bosun"), ANY, 10)) == [chunk_of("/knots")]
        assert ids(words.match(body("moreau"), ANY, 10)) == [chunk_of("guides/keys.md")]
        assert ids(words.match([Term("forms", "KMS-9")], ANY, 10)) == [chunk_of("guides/keys.md")]

    # ------------------------------------------------------------ order and scores

    def test_the_best_come_first_and_equal_ones_by_id(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        found = words.match(body("harbour", "tides", "keys", "swell"), ANY, 100)
        assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
        ties = sorted(chunk_of(f"ties/{name}.md") for name in "abc")
        assert ids(words.match(body("swell"), ANY, 10)) == ties
        assert ids(words.match(body("swell"), ANY, 2)) == ties[:2]

    def test_fewer_are_the_first_of_more(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        every = words.match(body("harbour", "tides"), ANY, 100)
        for limit in range(1, len(every)):
            assert words.match(body("harbour", "tides"), ANY, limit) == every[:limit]

    def test_scores_are_bm25(self, filling: Filling) -> None:
        """With k1 = 1.2 and b = 0.75; field lengths are exact up to 40."""
        given = [page(f"{n}.md", ((), "tern " * n + "gull " * (10 - n)), title="") for n in range(4)]
        filling.put(given)
        with filling.index.snapshot() as snapshot:
            words = words_of(snapshot)
            found = dict(words.match(body("tern"), ANY, 10))
            rarity = math.log(1 + (4 - 3 + 0.5) / (3 + 0.5))
            for n in range(1, 4):
                assert found[given[n].chunks[0].id] == pytest.approx(rarity * 2.2 * n / (n + 1.2), rel=1e-5)

    def test_short_texts_score_higher_than_long_ones(self, filling: Filling) -> None:
        lengths = (2, 39, 57, 200, 1000)
        given = [page(f"{n}.md", ((), "tern " + "gull " * (n - 1)), title="") for n in lengths]
        filling.put(given)
        average = sum(lengths) / len(lengths)
        stored_lengths = {2: 2, 39: 39, 57: 56, 200: 200, 1000: 984}  # lengths are stored in one byte
        rarity = math.log(1 + 0.5 / 5.5)
        with filling.index.snapshot() as snapshot:
            found = dict(words_of(snapshot).match(body("tern"), ANY, 10))
        for n, one in zip(lengths, given, strict=True):
            norm = 1.2 * (0.25 + 0.75 * stored_lengths[n] / average)
            assert found[one.chunks[0].id] == pytest.approx(rarity * 2.2 / (1 + norm), rel=1e-5)

    def test_boosts_multiply_and_terms_add_up(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        one, two = dict(words.match(body("harbour"), ANY, 50)), dict(words.match(body("tides"), ANY, 50))
        both = dict(words.match([*body("harbour", boost=3.0), *body("tides")], ANY, 50))
        assert both.keys() == one.keys() | two.keys()
        for chunk, score in both.items():
            assert score == pytest.approx(3 * one.get(chunk, 0.0) + two.get(chunk, 0.0), rel=1e-5)

    def test_a_word_in_two_forms_counts_once_with_its_highest_boost(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        twice = words.match([*body("harbour", boost=0.5), *body("harbours"), *body("gone", boost=0.0)], ANY, 50)
        assert twice == words.match(body("harbour"), ANY, 50)

    def test_a_constant_term_scores_its_boost(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        found = words.match([Term("body", "keys", 0.7, constant=True)], ANY, 50)
        assert len(found) == 3
        assert [score for _, score in found] == pytest.approx([0.7] * 3)
        terms = [Term("body", "keys", 0.7, constant=True), *body("piano")]
        assert ids(words.match(terms, ANY, 1)) == [chunk_of("notes/keys.md")]

    def test_chunks_are_scored_as_they_are_matched(self, snapshot: Snapshot) -> None:
        words = words_of(snapshot)
        for terms in (body("harbour", "tides", "keys"), [Term("forms", "TRN-1042"), *body("rotate", boost=0.3)]):
            found = dict(words.match(terms, ANY, 100))
            scored = words.score(terms, [*found, chunk_of("ties/a.md"), ChunkId("not there")])
            assert scored == pytest.approx(found, abs=CLOSE)
        assert words.score(body("harbour"), []) == {}
        assert words.score([], [chunk_of("rust.md")]) == {}

    # ------------------------------------------------------------ conditions

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_a_condition_applies_before_ranking(self, snapshot: Snapshot, case: Case) -> None:
        terms = body("harbour", "tides", "keys", "swell", "piano", "server", "ropes", "goods")
        words = words_of(snapshot, Condition(gates=case.condition.gates))
        every = words.match(terms, Condition(gates=case.condition.gates), 100)
        owners = snapshot.documents_of(ids(every))
        wanted = [hit for hit in every if owners[hit[0]] in case.passes]
        assert words.match(terms, case.condition, 100) == wanted
        assert words.match(terms, case.condition, 1) == wanted[:1]

    def test_a_condition_that_few_pass_is_enough_for_the_limit(self, filling: Filling) -> None:
        """Found though it ranks behind hundreds that the condition excludes."""
        many = [page(f"many/{n}.md", ((), "tern tern tern"), fields={"loud": True}) for n in range(300)]
        filling.put([*many, page("one.md", ((), "A tern among many other birds of the coast."))])
        with filling.index.snapshot() as snapshot:
            words = words_of(snapshot)
            for quiet in (Condition(without=(("loud", ("true",)),)), Condition({"path": ("one.*",)})):
                found = words.match(body("tern"), quiet, 5)
                assert list(snapshot.documents_of(ids(found)).values()) == ["one.md"]

    # ------------------------------------------------------------ frequencies, and who counts

    def test_frequencies_count_live_chunks(self, filling: Filling) -> None:
        filling.put([page("a.md", ((), "a tern"), (("B",), "two terns")), page("b.md", ((), "a gull"))])
        with filling.index.snapshot() as snapshot:
            words = words_of(snapshot)
            assert words.size == 3
            assert words.frequency("body", "terns") == 2
            assert words.frequency("body", "auk") == words.frequency("body", "a") == 0
            assert words.frequency("forms", "tern") == 0
            assert words.frequencies("body", ["terns", "auk", "a", "tern"]) == [2, 0, 0, 2]
            assert words.frequencies("forms", ["tern"]) == [0]
            assert words.frequencies("body", []) == []

    def test_private_words_are_found_by_those_who_may_see_them(self, snapshot: Snapshot) -> None:
        terms = body("zeppelin")
        ada, ops = chunk_of("private/ada.md"), chunk_of("private/ops.md")
        for viewer, wanted in (
            (visible_to(ADA), {ada}),
            (visible_to(OPS), {ops}),
            (EVERYONES, set()),
            (ANY, {ada, ops}),
        ):
            words = words_of(snapshot, viewer)
            assert set(ids(words.match(terms, viewer, 10))) == wanted
            assert words.frequency("body", "zeppelin") == len(wanted)
            assert words.frequency("forms", "ZEP-77") == len(wanted & {ops})
            assert words.frequencies("body", ["unheard", "zeppelins"]) == [0, len(wanted)]
            assert words.frequencies("forms", ["ZEP-77"]) == [len(wanted & {ops})]
            assert words.score(terms, wanted) == pytest.approx(dict(words.match(terms, viewer, 10)), abs=CLOSE)

    def test_sizes_count_visible_chunks(self, snapshot: Snapshot) -> None:
        chunks = {given.document.id: len(given.chunks) for given in HARBOUR}
        public = sum(chunks[document] for document in PUBLIC)
        assert words_of(snapshot, EVERYONES).size == public
        assert words_of(snapshot, visible_to(ADA)).size == public + 1
        assert words_of(snapshot, ANY).size == sum(chunks.values())

    def test_private_rows_change_nothing_for_others(self, filling: Filling) -> None:
        filling.put([page("a.md", ((), "A tern by the pier.")), page("b.md", ((), "The pier at night."))])

        def answer() -> tuple[object, ...]:
            with filling.index.snapshot() as snapshot:
                words = words_of(snapshot, EVERYONES)
                terms = body("tern", "pier")
                return words.size, words.frequency("body", "tern"), words.match(terms, EVERYONES, 10)

        before = answer()
        secret = [page(f"s{n}.md", ((), "tern " * 50), fields={"@audience": ["user:ada"]}) for n in range(5)]
        filling.put(secret)
        assert answer() == before
        with filling.index.snapshot() as snapshot:
            words = words_of(snapshot, visible_to(ADA))
            assert (words.size, words.frequency("body", "tern")) == (7, 6)
            rare = dict(words.match(body("tern"), visible_to(ADA), 10))
            plain = dict(words_of(snapshot, EVERYONES).match(body("tern"), EVERYONES, 10))
            (public,) = plain
            assert rare[public] < plain[public]  # a word frequent among visible rows weighs less

    def test_what_becomes_public_is_found_by_all(self, filling: Filling) -> None:
        filling.put([page("a.md", ((), "An auk.")), page("b.md", ((), "A tern."), fields={"@audience": ["user:ada"]})])
        filling.put([page("b.md", ((), "A tern."))])
        with filling.index.snapshot() as snapshot:
            assert len(words_of(snapshot, EVERYONES).match(body("tern"), EVERYONES, 10)) == 1
