"""Writers of an index over PostgreSQL and Qdrant: leases, fences, reservations, generations, burial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from cluster_indexes import cluster_index, cluster_settings, points_of
from clusters import NOT_RUN, missing
from engine_filling import EngineFilling
from watersmeet.core.errors import ConfigError, IndexBusy, LeaseLost
from watersmeet.core.model import ANY, DocId
from watersmeet.core.ports import Term
from watersmeet.core.text_fields import document_hash, prepare
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.store.postgres.index import Postgres
from watersmeet.store.postgres.leases import WRITER
from watersmeet.testing.contracts.corpus import STATIC, Given, page, vectors
from watersmeet.testing.contracts.records import RecordsContract

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
SETTINGS = {"WATERSMEET__INDEX__VECTORS": "false"}


@pytest.fixture
def filling() -> Iterator[EngineFilling]:
    with cluster_index() as made:
        yield made


def put_of(given: Given, collection: int = 0) -> Put:
    prepared = tuple(prepare(given.document, given.chunks))
    return Put(given.document, prepared, document_hash(given.document, prepared), collection)


def texts(index: Postgres) -> set[str]:
    """What a search for the word `tern` shows."""
    with index.snapshot() as snapshot:
        words = snapshot.words(ANY)
        assert words is not None
        found = words.match([Term("body", "tern")], ANY, 100)
        return {one.text for one in snapshot.passages([chunk for chunk, _ in found]).values()}


def lose(index: Postgres) -> None:
    """The writer's lease has run out, as that of a stopped process does."""
    with index.lasting.connection() as db:
        db.execute("UPDATE leases SET expires = clock_timestamp() WHERE name = %s", [WRITER])


def test_a_lost_lease_commits_nothing_and_leaves_no_points(filling: EngineFilling) -> None:
    filling.put([page("a.md", ((), "A tern."))])
    index, settings = filling.index, cluster_settings(SETTINGS)
    with open_for_writing(index, settings) as first:
        lose(index)
        other = EngineFilling(filling.place, settings)
        other.put([page("b.md", ((), "Another tern."))])
        other.index.close()
        with pytest.raises(LeaseLost):
            first.catalogue.commit(Changes(put=[put_of(page("c.md", ((), "A late tern.")))]))
    assert texts(index) == {"A tern.", "Another tern."}
    assert points_of(index) == 2


def test_what_a_dead_writer_left_is_removed_by_the_next(filling: EngineFilling) -> None:
    filling.put([page("a.md", ((), "A tern."))])
    index, settings = filling.index, cluster_settings(SETTINGS)
    with open_for_writing(index, settings) as dying:
        writer = dying.catalogue
        versions = writer._versions(Changes(put=[put_of(page("c.md", ((), "A tern that was never committed.")))]))
        writer._points(versions)
    assert points_of(index) == 2
    assert texts(index) == {"A tern."}
    filling.put([page("b.md", ((), "Another tern."))])
    assert points_of(index) == 2
    assert texts(index) == {"A tern.", "Another tern."}


def test_a_second_writer_waits_and_is_told(filling: EngineFilling) -> None:
    filling.put([page("a.md", ((), "A tern."))])
    impatient = cluster_settings({**SETTINGS, "WATERSMEET__WRITER__LOCK_SECONDS": "0.2"})
    with (
        open_for_writing(filling.index, impatient),
        pytest.raises(IndexBusy, match="is writing to"),
        open_for_writing(filling.index, impatient),
    ):
        pass


def test_an_index_built_anew_answers_as_before_until_it_is_done(filling: EngineFilling) -> None:
    filling.put([page("a.md", ((), "A tern."))])
    index, settings = filling.index, cluster_settings(SETTINGS)
    with suppress(KeyboardInterrupt), open_for_writing(index, settings, recreate=True) as opened:
        opened.catalogue.commit(Changes(put=[put_of(page("b.md", ((), "Half a tern.")))]))
        raise KeyboardInterrupt
    assert texts(index) == {"A tern."}
    with index.snapshot() as snapshot:
        before = snapshot.generation
    with open_for_writing(index, settings, recreate=True) as opened:
        number = opened.catalogue.collection("main")
        opened.catalogue.commit(Changes(put=[put_of(page("b.md", ((), "A new tern.")), number)]))
        assert texts(index) == {"A tern."}
    assert texts(index) == {"A new tern."}
    with index.snapshot() as snapshot:
        assert snapshot.generation != before


def test_dead_rows_are_buried_after_their_time(filling: EngineFilling) -> None:
    old, new = page("a.md", ((), "A tern.")), page("a.md", ((), "A tern at sea."))
    filling.put([old])
    filling.embed(STATIC, vectors([old]))
    filling.put([new])
    index, settings = filling.index, cluster_settings(SETTINGS)
    for grace, buried, left in ((3600.0, 0, 2), (0.0, 1, 1)):
        with open_for_writing(index, settings) as opened:
            assert opened.compact(grace, 0.0) == buried
        assert points_of(index) == left
        assert texts(index) == {"A tern at sea."}


def test_a_text_that_stays_keeps_its_vectors(filling: EngineFilling) -> None:
    first = page("a.md", (("One",), "A tern."), (("Two",), "An auk."))
    filling.put([first])
    filling.embed(STATIC, vectors([first]))
    filling.put([page("a.md", (("One",), "A tern."), (("Two",), "A gull."), fields={"status": "new"})])
    with filling.index.snapshot() as snapshot:
        (tier,) = snapshot.tiers().values()
        assert [one.text for one in snapshot.unseen(tier, 10)] == ["A gull."]
        assert snapshot.coverage(tier) == 0.5


def test_a_vector_that_is_noted_during_a_commit_is_made_again_for_the_new_row(filling: EngineFilling) -> None:
    """The point of the new row was written without it."""
    given, other = page("a.md", ((), "A tern.")), page("b.md", ((), "An auk."))
    filling.put([given, other])
    filling.embed(STATIC, vectors([other]))
    index, made = filling.index, vectors([given])
    with index.snapshot() as snapshot:
        rows = filling.rows(snapshot, made)
    with open_for_writing(index, cluster_settings(SETTINGS)) as opened:
        writer = opened.catalogue
        changes = Changes(put=[put_of(page("a.md", ((), "A tern."), fields={"status": "new"}))])
        versions = writer._versions(changes)
        first = writer._points(versions)
        adding = index.vector_store(STATIC).writer()
        adding.add(list(rows.values()), list(made.values()))
        adding.commit()
        writer._apply(changes, versions, first)
    with index.snapshot() as snapshot:
        (tier,) = snapshot.tiers().values()
        assert [one.text for one in snapshot.unseen(tier, 10)] == ["A tern."]
        (found,) = snapshot.vectors(tier, ANY).nearest(list(made.values()), ANY, 10)
        assert list(found) == [other.chunks[0].id]


def test_indexes_of_one_cluster_know_nothing_of_each_other(filling: EngineFilling) -> None:
    secret = page("secret.md", ((), "A tern with a secret, ZEP-77."))
    filling.put([page("a.md", ((), "A tern."))])
    with cluster_index() as other:
        other.put([secret])
        other.embed(STATIC, vectors([secret]))
        with other.index.state("note").changing(5) as change:
            change.write(b"ours")
        assert texts(other.index) == {"A tern with a secret, ZEP-77."}
        assert texts(filling.index) == {"A tern."}
        assert filling.index.state("note").read() is None
        with filling.index.snapshot() as snapshot:
            assert snapshot.passages([secret.chunks[0].id]) == {}
            assert snapshot.tiers() == {}
            words = snapshot.words(ANY)
            assert words is not None
            assert words.frequency("forms", "ZEP-77") == 0
        other.index.drop()
        assert not other.index.exists()
    assert texts(filling.index) == {"A tern."}


def test_a_dry_run_writes_nothing(filling: EngineFilling) -> None:
    filling.put([page("a.md", ((), "A tern."))])
    with filling.index.snapshot() as snapshot:
        before = snapshot.version
    with filling.index.preview() as preview:
        preview.add_root("/srv/notes", "notes", preview.collection("notes"), "")
        preview.commit(Changes(put=[put_of(page("a.md", ((), "Nothing."))), put_of(page("n.md", ((), "No.")))]))
        assert [(one.action, one.document) for one in preview.planned] == [("changed", "a.md"), ("added", "n.md")]
    with filling.index.snapshot() as snapshot:
        assert snapshot.version == before
        assert snapshot.indexed_roots() == []
    assert texts(filling.index) == {"A tern."}


def test_text_that_postgresql_refuses_is_kept_as_far_as_it_can_be(filling: EngineFilling) -> None:
    odd = page("odd.md", ((), "A tern\0 with a \ud800 in it \\u0000."), fields={"note": "a\0b", "\ud800": [1]})
    filling.put([odd])
    assert texts(filling.index) == {"A tern? with a ? in it \\u0000."}
    with filling.index.snapshot() as snapshot:
        record = snapshot.record(DocId("odd.md"))
    assert record is not None
    assert record.fields["note"] == "a?b"


def test_a_chunk_without_words_is_a_chunk(filling: EngineFilling) -> None:
    empty = page("e.md", ((), "the"), title="")
    filling.put([empty])
    filling.put([page("a.md", ((), "A tern."))])
    filling.rebuild()
    with filling.index.snapshot() as snapshot:
        assert [one.text for one in snapshot.passages_of(DocId("e.md"))] == ["the"]
    assert texts(filling.index) == {"A tern."}
    assert [check for check in filling.index.check() if not check.ok] == []


def test_codes_are_compared_first_and_vectors_last(filling: EngineFilling) -> None:
    given = [page(f"{n}.md", ((), f"A tern number {n} by the pier.")) for n in range(40)]
    filling.put(given)
    filling.embed(STATIC, vectors(given))
    of = "WATERSMEET__STORE__POSTGRES__"
    shape = {f"{of}QUANTIZATION": "scalar", f"{of}M": "8", f"{of}EF": "64"}
    with cluster_index({**SETTINGS, **shape}) as coded:
        coded.put(given)
        coded.embed(STATIC, vectors(given))
        with coded.index.snapshot() as snapshot:
            collection = f"{snapshot._points}-{STATIC.folder}"
        made = coded.index._o.qdrant.nodes.call("GET", f"/collections/{collection}")["config"]
        assert made["hnsw_config"]["m"] == 8
        assert made["quantization_config"]["scalar"]["type"] == "int8"
        query, found = vectors(given)[given[7].chunks[0].id], []
        for one in (filling, coded):
            with one.index.snapshot() as snapshot:
                (nearest,) = snapshot.vectors(STATIC, ANY).nearest([query], ANY, 5)
            found.append(nearest)
        assert found[1] == pytest.approx(found[0], abs=1e-6)
    with pytest.raises(ConfigError, match="quantization cannot be"):
        open_index("postgresql://localhost/none", cluster_settings({f"{of}QUANTIZATION": "scaler"}))


def test_points_are_the_same_over_http(filling: EngineFilling) -> None:
    given = [page("a.md", ((), "A tern.")), page("b.md", ((), "A tern, an auk and a gull."))]
    filling.put(given)
    filling.embed(STATIC, vectors(given))
    plain = {"WATERSMEET__STORE__POSTGRES__QDRANT_GRPC_PORTS": "[0]"}
    with cluster_index({**SETTINGS, **plain}) as other:
        other.put(given)
        other.embed(STATIC, vectors(given))
        for one in (filling, other):
            with one.index.snapshot() as snapshot:
                words = snapshot.words(ANY)
                assert words is not None
                found = words.match([Term("body", "tern"), Term("body", "auk")], ANY, 5)
                (nearest,) = snapshot.vectors(STATIC, ANY).nearest([vectors(given)[given[0].chunks[0].id]], ANY, 5)
            if one is filling:
                wanted = (found, nearest)
        assert (found, nearest) == wanted


def test_long_lists_of_chunks_are_scored(filling: EngineFilling) -> None:
    sections = [((f"S{n}",), f"A tern number {n}.") for n in range(450)]
    given = page("long.md", *sections)
    filling.put([given])
    with filling.index.snapshot() as snapshot:
        words = snapshot.words(ANY)
        assert words is not None
        assert len(words.score([Term("body", "tern")], [chunk.id for chunk in given.chunks])) == len(sections)


class TestRecords(RecordsContract):
    @pytest.fixture
    def records(self, filling: EngineFilling) -> Iterator[object]:
        filling.put([page("a.md", ((), "A tern."))])
        with open_for_writing(filling.index, cluster_settings(SETTINGS)) as opened:
            yield opened.catalogue.records()  # type: ignore[call-arg]
