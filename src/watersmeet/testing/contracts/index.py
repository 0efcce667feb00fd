"""The contract of `Index` and `Snapshot`: isolation from later commits, statistics, and named state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from watersmeet.core.errors import IndexBusy, NoIndex
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ANY, Condition, DocId
from watersmeet.core.ports import Term
from watersmeet.core.visibility import EVERYONE, gates
from watersmeet.testing.contracts._base import FilledContract
from watersmeet.testing.contracts.corpus import (
    ADA,
    EVERYONES,
    HARBOUR,
    MODEL,
    OPS,
    STATIC,
    Filling,
    chunk_of,
    page,
    vectors,
    visible_to,
)

OLD = page("a.md", (("One",), "An auk on the rock."), (("Two",), "The auk dives."), links=())
NEW = page("a.md", (("One",), "A tern over the sea."), (("Three",), "The tern dives."), links=())
OTHER = page("b.md", ((), "Gulls everywhere."))


def answers(snapshot: Snapshot) -> tuple[object, ...]:
    """Results of word, vector and document reads in a snapshot."""
    words = snapshot.words(ANY)
    assert words is not None
    terms = [Term("body", word) for word in ("auk", "tern", "gulls", "dives")]
    (nearest,) = snapshot.vectors(STATIC, ANY).nearest([MODEL.embed_query("the auk dives")], ANY, 10)
    found = {chunk for chunk, _ in words.match(terms, ANY, 10)}
    return (
        found,
        {chunk: passage.text for chunk, passage in snapshot.passages(found).items()},
        {*nearest},
        [(record.document, record.chunks) for record in snapshot.records()],
        [passage.text for passage in snapshot.passages_of(DocId("a.md"))],
        snapshot.statistics().chunks,
        snapshot.newest(ANY, 10),
    )


def seen(snapshot: Snapshot, visible: Condition) -> tuple[object, ...]:
    """What those learn who see a part of an index: results with scores, statistics, fields and values."""
    words = snapshot.words(visible)
    assert words is not None
    terms = [Term("body", word) for word in ("auk", "tern", "gulls", "zeppelins")]
    (nearest,) = snapshot.vectors(STATIC, visible).nearest([MODEL.embed_query("the auk dives")], visible, 10)
    return (
        [(chunk, pytest.approx(score)) for chunk, score in words.match(terms, visible, 10)],
        (words.size, words.frequencies("body", ["auk", "zeppelins"])),
        {chunk: pytest.approx(score) for chunk, score in nearest.items()},
        snapshot.kinds(visible),
        {name: count for name, count in snapshot.statistics(visible).collections.items() if count},
        (snapshot.text_bytes(visible), snapshot.sample(100, visible), snapshot.coverage(STATIC, visible)),
        snapshot.fields(visible),
        (snapshot.values_of("project", visible), snapshot.tags(visible, ())),
    )


class IndexContract(FilledContract):
    # ------------------------------------------------------------ snapshots

    @pytest.fixture
    def small(self, filling: Filling) -> Filling:
        filling.put([OLD, OTHER])
        filling.embed(STATIC, vectors([OLD, OTHER]))
        return filling

    def test_nothing_was_ever_put_into_it(self, filling: Filling) -> None:
        try:
            with filling.index.snapshot() as snapshot:
                assert snapshot.words(ANY) is None
                assert snapshot.records() == []
        except NoIndex:
            pass  # or there is none

    @pytest.mark.parametrize("read_before", [True, False])
    def test_later_commits_are_not_visible(self, small: Filling, read_before: bool) -> None:
        with small.index.snapshot() as snapshot:
            before = answers(snapshot)
        with small.index.snapshot() as snapshot:
            if read_before:
                assert answers(snapshot) == before
            small.put([NEW, page("c.md", ((), "A tern and an auk."))])
            small.remove([OTHER.document.id])
            assert answers(snapshot) == before
        with small.index.snapshot() as snapshot:
            after = answers(snapshot)
        assert after[3] == [("a.md", 2), ("c.md", 1)]
        assert after[4] == ["A tern over the sea.", "The tern dives."]

    def test_a_document_that_says_less_has_fewer_chunks(self, small: Filling) -> None:
        small.put([page("a.md", (("Two",), "The auk dives."))])
        with small.index.snapshot() as snapshot:
            assert [passage.text for passage in snapshot.passages_of(DocId("a.md"))] == ["The auk dives."]
            assert snapshot.passages([OLD.chunks[0].id]) == {}
            words = snapshot.words(ANY)
            assert words is not None
            assert words.match([Term("body", "rock")], ANY, 10) == []
            assert words.score([Term("body", "rock")], [OLD.chunks[0].id]) == {}

    def test_several_snapshots_are_open_at_once(self, small: Filling) -> None:
        with small.index.snapshot() as first:
            one = answers(first)
            small.put([NEW])
            small.embed(STATIC, vectors([NEW]))
            with small.index.snapshot() as second:
                two = answers(second)
                assert two != one
                assert answers(first) == one
                assert answers(second) == two

    def test_the_threads_of_a_query_share_its_snapshot(self, small: Filling) -> None:
        with small.index.snapshot() as snapshot, ThreadPoolExecutor(4) as threads:
            alone = answers(snapshot)
            assert all(found == alone for found in threads.map(lambda _: answers(snapshot), range(16)))

    def test_versions_change_with_every_commit(self, small: Filling) -> None:
        def version() -> object:
            with small.index.snapshot() as snapshot:
                return snapshot.version

        versions = [version()]
        assert version() == versions[0]
        small.put([NEW])
        versions.append(version())
        small.embed(STATIC, vectors([NEW]))
        versions.append(version())
        small.remove([OTHER.document.id])
        versions.append(version())
        assert len(set(map(repr, versions))) == 4

    def test_generations_change_when_stores_are_replaced(self, small: Filling) -> None:
        def generation() -> str:
            with small.index.snapshot() as snapshot:
                return snapshot.generation

        first = generation()
        small.put([NEW])
        assert generation() == first
        with small.index.snapshot() as snapshot:
            before = answers(snapshot)
        small.rebuild()
        assert generation() != first
        with small.index.snapshot() as snapshot:
            assert answers(snapshot) == before

    def test_ports_stay_valid_within_a_generation(self, small: Filling) -> None:
        """A pipeline caches a snapshot's ports for as long as the index returns the same snapshot."""
        with small.index.snapshot() as first:
            words = first.words(ANY)
        small.put([NEW])
        with small.index.snapshot() as second:
            if second is first and words is not None:
                assert {chunk for chunk, _ in words.match([Term("body", "tern")], ANY, 10)} == {
                    chunk.id for chunk in NEW.chunks
                }

    # ------------------------------------------------------------ facts and statistics

    def test_nothing_is_damaged(self, snapshot: Snapshot) -> None:
        snapshot.passages([chunk_of("rust.md")])
        assert dict(snapshot.damaged) == {}

    def test_statistics_count_visible_documents(self, snapshot: Snapshot) -> None:
        found = snapshot.statistics()
        assert found.documents == len(HARBOUR)
        assert found.chunks == sum(len(given.chunks) for given in HARBOUR)
        assert found.kinds["text"] == 1
        assert snapshot.kinds() == found.kinds
        assert snapshot.kinds(EVERYONES) == snapshot.statistics(EVERYONES).kinds
        assert found.collections["handbook"] == 1
        fewer = snapshot.statistics(EVERYONES)
        assert (found.documents - fewer.documents, fewer.kinds["mcp_server"]) == (4, 1)
        assert snapshot.statistics(visible_to(ADA)).documents == fewer.documents + 1

    def test_the_size_of_all_texts(self, snapshot: Snapshot) -> None:
        texts = {given.document.id: sum(len(c.text.encode()) for c in given.chunks) for given in HARBOUR}
        assert snapshot.text_bytes() == sum(texts.values())
        assert snapshot.text_bytes(visible_to(ADA)) - snapshot.text_bytes(EVERYONES) == texts[DocId("private/ada.md")]

    def test_a_sample_is_always_the_same(self, snapshot: Snapshot) -> None:
        everything = [chunk.id for given in HARBOUR for chunk in given.chunks]
        few = snapshot.sample(5)
        assert len(set(few)) == 5
        assert snapshot.sample(5) == few
        assert set(snapshot.sample(1000)) == set(everything)
        assert chunk_of("private/ada.md") not in snapshot.sample(1000, EVERYONES)
        hidden = snapshot.sample(1000, EVERYONES, outside=True)
        assert {*hidden, *snapshot.sample(1000, EVERYONES)} == {*everything}
        assert chunk_of("private/ada.md") in hidden
        assert len(hidden) == len(everything) - len(snapshot.sample(1000, EVERYONES))

    def test_rows_added_since(self, small: Filling) -> None:
        with small.index.snapshot() as snapshot:
            last = snapshot.last_row()
            assert snapshot.added_since(last) == 0
            assert snapshot.sample(1000, since=last) == []
        small.put([NEW, page("c.md", ((), "An auk."), fields={"@audience": ["user:ada"]})])
        with small.index.snapshot() as snapshot:
            assert snapshot.added_since(last) == 3
            assert snapshot.added_since(last, EVERYONES) == 2
            assert snapshot.added_since(snapshot.last_row()) == 0

    def test_tiers_and_coverage(self, snapshot: Snapshot) -> None:
        (tier,) = snapshot.tiers().values()
        assert (tier.name, tier.model, tier.fingerprint, tier.dimension) == (
            "static",
            STATIC.model,
            STATIC.fingerprint,
            STATIC.dimension,
        )
        assert snapshot.coverage(tier) == snapshot.coverage(tier, EVERYONES) == 1.0
        assert snapshot.unseen(tier, 10) == []

    def test_only_gates_that_hide_documents_are_needed(self, snapshot: Snapshot) -> None:
        everyone = gates(EVERYONE)
        assert snapshot.needed(everyone) == everyone

    def test_without_a_registry_no_gate_is_needed(self, small: Filling) -> None:
        with small.index.snapshot() as snapshot:
            assert snapshot.needed(gates(EVERYONE)) == {}

    def test_facts_are_texts(self, snapshot: Snapshot) -> None:
        assert all(isinstance(value, str) for pair in snapshot.facts().items() for value in pair)

    def test_it_has_a_name_and_a_size(self, small: Filling) -> None:
        assert small.index.place
        assert small.index.size_bytes() > 0
        assert small.index.remote in (True, False)

    def test_an_undamaged_index_passes_its_checks(self, small: Filling) -> None:
        assert [check for check in small.index.check() if not check.ok] == []

    # ------------------------------------------------------------ audiences of collections

    @pytest.mark.parametrize("restricted_first", [True, False], ids=["before it is filled", "afterwards"])
    def test_a_restricted_collection_answers_others_as_if_it_were_not_there(
        self, filling: Filling, restricted_first: bool
    ) -> None:
        rest = [OLD, OTHER, page("c.md", ((), "An auk and a tern."), fields={"level": 3})]
        filling.put(rest)
        filling.embed(STATIC, vectors(rest))
        with filling.index.snapshot() as snapshot:
            assert snapshot.collection_audiences() == {}
            before = seen(snapshot, EVERYONES)
        secret = [
            page("secret.md", ((), "The auk dives. " * 9), (("Z",), "Zeppelins."), collection="team", tags=("hush",)),
            page("both.md", ((), "Auks of Ada."), collection="team", fields={"@audience": ["user:ada"]}),
        ]
        filling.collect("team", {"project": "titan"})
        if restricted_first:
            filling.restrict("team", ("group:ops", "owner:ada"))
        filling.put(secret)
        filling.embed(STATIC, vectors(secret))
        if not restricted_first:
            filling.restrict("team", ("group:ops", "owner:ada"))
        with filling.index.snapshot() as snapshot:
            assert snapshot.collection_audiences() == {"team": ("group:ops", "owner:ada")}
            assert seen(snapshot, EVERYONES) == before
            names = {viewer: {r.document for r in snapshot.records(visible_to(viewer))} for viewer in (ADA, OPS)}
            assert names[ADA] - names[OPS] == {"both.md"}  # what a document says narrows the audience
            assert "secret.md" in names[OPS]
            words = snapshot.words(visible_to(OPS))
            assert words is not None
            assert [chunk for chunk, _ in words.match([Term("body", "zeppelins")], visible_to(OPS), 10)]
            assert snapshot.coverage(STATIC) == 1.0
            assert snapshot.fields() >= {"project"}

    def test_an_audience_can_be_changed(self, filling: Filling) -> None:
        given = [page("a.md", ((), "An auk."), collection="team"), page("b.md", ((), "A tern."))]
        own = page("c.md", ((), "An auk of Ada."), collection="team", fields={"@audience": ["user:ada"]})
        filling.put([*given, own])
        filling.embed(STATIC, vectors([*given, own]))
        who = {"everyone": EVERYONES, "ada": visible_to(ADA), "ops": visible_to(OPS)}
        found = {}
        for audience in (("private",), ("group:ops",), ("owner:Ada",), (), ("owner:ada",), ()):
            filling.restrict("team", audience)
            with filling.index.snapshot() as snapshot:
                assert snapshot.collection_audiences() == ({"team": audience} if audience else {})
                for name, visible in who.items():
                    words = snapshot.words(visible)
                    assert words is not None
                    hits = {chunk for chunk, _ in words.match([Term("body", "auk")], visible, 10)}
                    documents = {*snapshot.documents_of(hits).values()}
                    assert documents == {r.document for r in snapshot.records(visible)} - {"b.md"}
                    found[audience, name] = len(documents)
                assert snapshot.coverage(STATIC) == snapshot.coverage(STATIC, EVERYONES) == 1.0
                assert [check for check in filling.index.check() if not check.ok] == []
        assert {key: count for key, count in found.items() if count} == {
            (("group:ops",), "ops"): 1,
            (("owner:ada",), "ada"): 2,
            ((), "everyone"): 1,
            ((), "ops"): 1,
            ((), "ada"): 2,
        }

    # ------------------------------------------------------------ state

    def test_a_value_is_read_as_it_was_written(self, small: Filling) -> None:
        state = small.index.state("calibration")
        assert (state.version(), state.read()) == (None, None)
        with state.changing(5) as change:
            assert change.read() is None
            change.write(b"one")
        first = state.version()
        assert state.read() == b"one"
        with state.changing(5) as change:
            assert change.read() == b"one"
            change.write(b"\x00two")
        assert small.index.state("calibration").read() == b"\x00two"
        assert state.version() not in (None, first)
        assert small.index.state("other").read() is None
        with state.changing(5) as change:
            change.write(None)
        assert (state.version(), state.read()) == (None, None)

    def test_one_changes_a_value_at_a_time(self, small: Filling) -> None:
        state, locked, enough = small.index.state("calibration"), Event(), Event()

        def hold() -> None:
            with state.changing(5) as change:
                locked.set()
                enough.wait(30)
                change.write(b"held")

        with ThreadPoolExecutor(1) as threads:
            holding = threads.submit(hold)
            assert locked.wait(30)
            try:
                with pytest.raises(IndexBusy), small.index.state("calibration").changing(0.05):
                    pass
            finally:
                enough.set()
            holding.result()
        assert state.read() == b"held"
