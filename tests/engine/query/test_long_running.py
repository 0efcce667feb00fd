"""An engine that is asked for days: beside a process that embeds, a model that is not there, an index made anew."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import Degraded, ModelProblem
from watersmeet.core.model import ANY, Ranking, Request
from watersmeet.engine.index.state_names import EMBED_FIRST
from watersmeet.engine.index.tiers import model_of
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import embed_first
from watersmeet.signal.dense import Dense
from watersmeet.store.local import index as local
from watersmeet.store.local import view
from watersmeet.store.local.state import FileState

pytestmark = pytest.mark.model


def opened(folder: Path, **settings: str) -> Engine:
    environ = {"INDEX__DENSE": "hashed", "INDEX__SPARSE": "", **settings}
    return Engine(
        folder / "index",
        load(start=str(folder), environ={f"WATERSMEET__{name}": value for name, value in environ.items()}),
    )


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    folder = tmp_path / "tides"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.md").write_text(f"# Page {number}\n\nwhat is said of the tide number{number} here\n")
    return folder


@pytest.fixture
def engine(tmp_path: Path, tides: Path) -> Iterator[Engine]:
    with opened(tmp_path) as made:
        made.sync([tides])
        yield made


def test_vectors_that_the_catalogue_does_not_tell_of_yet_are_not_counted_twice(
    engine: Engine, tides: Path, tmp_path: Path
) -> None:
    for number in range(2):
        (tides / f"new{number}.md").write_text(f"# New {number}\n\nnew tide number{number}\n")
    with opened(tmp_path) as other:
        other.sync([tides], deepen=False)
        assert engine.search("tide number3").mode == "hybrid"
        with other.snapshot() as snapshot:
            tier = snapshot.tiers()["dense"]
            rows = snapshot.every(ANY)[-2:]
        store = other.index.vector_store(tier)
        writer = store.writer()
        writer.add(rows, model_of(other.settings, "dense", "hashed").embed(["a", "b"]))  # type: ignore[union-attr]
        writer.commit()  # and the catalogue would be told next
        store.close()
    for options in ({"recipe": "notes"}, {"mode": "dense"}):
        answer = engine.search("tide number3", **options)
        assert (answer.mode != "lexical", answer.failures) == (True, ())


def test_what_cannot_be_had_is_not_kept_with_all_who_asked_for_it(tides: Path, tmp_path: Path, engine: Engine) -> None:
    with opened(tmp_path, INDEX__DENSE="onnx", EMBED__ONNX__MODEL="/nowhere") as other:
        for number in range(20):
            answer = other.search(f"tide number{number}")
            assert [failure.by for failure in answer.failures] == ["dense"]
        del answer
        gc.collect()
        kept = [one for one in gc.get_objects() if isinstance(one, ModelProblem)]
        assert len(kept) < 5
        assert all(depth_of(problem) < 25 for problem in kept), "what raised it once is not kept with the next"


def depth_of(problem: ModelProblem) -> int:
    depth, search_run = 0, problem.__traceback__
    while search_run is not None:
        depth, search_run = depth + 1, search_run.tb_next
    return depth


def test_an_index_made_anew_is_the_one_that_is_asked(engine: Engine, tides: Path, tmp_path: Path) -> None:
    assert engine.search("tide").results
    Path(engine.folder).rename(tmp_path / "moved")  # in one step: SQLite deletes files of its own meanwhile
    (tides / "other.md").write_text("# Other\n\nquite another thing\n")
    with opened(tmp_path) as other:
        other.sync([tides / "other.md"])
    assert [result.title for result in engine.search("another tide").results] == ["Other"]


def test_an_index_begun_anew_answers_while_its_vectors_are_not_there(
    engine: Engine, tides: Path, tmp_path: Path
) -> None:
    assert engine.search("tide number3").mode == "hybrid"
    with opened(tmp_path) as other:
        other.sync([tides], recreate=True, deepen=False)
        for query in ("tide number3", "tide number4"):
            answer = engine.search(query)
            assert (len(answer.results), answer.failures, list(answer.silent)) == (10, (), ["dense"])
        assert [failure.by for failure in engine.search("tide", mode="dense").failures] == ["dense"]
        other.deepen()
    assert not engine.search("tide number3").silent


def test_readers_that_nobody_needs_are_closed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine.snapshot(), engine.snapshot(), engine.snapshot():
        pass
    assert len(engine.index._idle) == 3
    monkeypatch.setattr(local, "IDLE_SECONDS", -1.0)
    for _ in range(3):
        engine.search("tide")
    assert len(engine.index._idle) <= 1
    assert engine.search("tide").results


def test_conditions_without_end_do_not_fill_the_memory(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "MAX_LISTED_ROWS", 200)
    for _ in range(30):
        assert engine.search("tide", since="30d").results
    kept = engine.index._idle[0].cache.few.values()
    assert sum(len(rows or ()) for rows in kept) <= 200 + 2 * 40


class TestEmbedFirst:
    """What is retrieved while the deep model is behind is embedded first."""

    @pytest.fixture
    def behind(self, engine: Engine, tides: Path) -> Engine:
        (tides / "new.md").write_text("# New\n\nnew tide\n")
        engine.sync([tides], deepen=False)
        return engine

    def test_it_is_forgotten_once_everything_is_embedded(self, behind: Engine) -> None:
        behind.search("new tide")
        file = Path(behind.folder, EMBED_FIRST)
        noted = embed_first.read(FileState(behind.folder, EMBED_FIRST))
        assert noted == [result.id for result in behind.search("new tide").results]
        behind.deepen()
        assert not file.exists()
        behind.search("new tide")
        assert not file.exists()

    def test_it_does_not_grow_without_end(self, behind: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embed_first, "MAX_BYTES", 100)
        monkeypatch.setattr(embed_first, "WRITE_INTERVAL_SECONDS", 0.0)
        for number in range(20):
            behind.search(f"tide number{number}")
        assert 100 <= Path(behind.folder, EMBED_FIRST).stat().st_size < 300

    def test_a_search_does_not_fail_for_it(self, behind: Engine) -> None:
        os.symlink("/dev/full", Path(behind.folder, EMBED_FIRST))
        assert behind.search("new tide").results


def test_a_signal_that_cannot_score_what_others_found_is_told_of(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> dict[str, float]:
        raise ModelProblem("it cannot be read", "look at it")

    monkeypatch.setattr(Dense, "score", broken)
    with opened(tmp_path, PIPELINE__POOL="3") as narrow:
        answer = narrow.search("what is said of number7", top_n=3)
        assert [(failure.by, failure.reason) for failure in answer.failures] == [("dense", "it cannot be read")]
        with pytest.raises(Degraded):
            narrow.search(Request("what is said of number7", top_n=3, strict=True))


def test_derived_signals_read_what_a_follower_ranked_on_its_own(
    tmp_path: Path, tides: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        with (tides / f"{number}.md").open("a") as page:
            page.write(f"\nSee [[annex{number}]].\n")
        (tides / f"annex{number}.md").write_text(f"# Annex {number}\n\nqqq{number} zzz\n")

    def down(*_: object) -> Ranking:
        raise ModelProblem("the endpoint is down", "")

    monkeypatch.setattr(Dense, "rank", down)
    with opened(tmp_path, PIPELINE__SIGNALS='["lexical", "static", "dense", "neighbours"]') as engine:
        engine.sync([tides])
        with engine.open_search(Request("sea level rises")) as search_run:
            found = {ranking.by: len(ranking.hits) for ranking in search_run.outcome.rankings}
    assert found["lexical"] == 0
    assert found["neighbours"] > 0
