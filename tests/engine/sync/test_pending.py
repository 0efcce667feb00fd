"""What a server would embed in the background: what is missing, and only where somebody wanted vectors."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from trees import nobody
from watersmeet import Engine
from watersmeet.core.errors import NoIndex
from watersmeet.core.index import NEXT_TIERS
from watersmeet.engine.index.tiers import tiers_of
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import deepen as deepening
from watersmeet.engine.sync.pending import can_embed, pending_chunks

PAGES = {f"{n}.md": f"# Page {n}\n\nWhat is said of tide {n}.\n" for n in range(20)}
OLD = Path(__file__).parents[2] / "data" / "format_1.tar.gz"


def opened(tmp_path: Path, **environ: str) -> Engine:
    given = {f"WATERSMEET__{name}": value for name, value in ({"INDEX__DENSE": "hashed"} | environ).items()}
    return Engine(tmp_path / "index", load(start=str(tmp_path), environ=given))


def test_what_is_missing_is_counted_for_each_model(tmp_path: Path, write: Any) -> None:
    with opened(tmp_path) as engine:
        with pytest.raises(NoIndex):
            pending_chunks(engine)
        engine.sync([write(PAGES)], deepen=False)
        assert pending_chunks(engine) == {"dense": 20}
        engine.deepen()
        assert pending_chunks(engine) == {}
        engine.sync([write({"0.md": "# Page 0\n\nSomething else.\n"})], deepen=False)
        assert pending_chunks(engine) == {"dense": 1}
    with opened(tmp_path, INDEX__DENSE="") as engine:
        assert pending_chunks(engine) == {}
    with opened(tmp_path, PIPELINE__SIGNALS='["lexical", "sparse"]') as engine:
        assert pending_chunks(engine) == {"sparse": 20, "dense": 1}  # it votes, so a sync would make it


def test_an_index_of_words_only_stays_one(tmp_path: Path, write: Any) -> None:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync([write(PAGES)])
        assert not can_embed(engine)
    with opened(tmp_path) as engine:
        assert can_embed(engine)
        assert pending_chunks(engine) == {}
        engine.sync(deepen=False)
        assert pending_chunks(engine) == {"dense": 20}


def test_one_that_was_made_anew_is_none_of_words_only(tmp_path: Path, write: Any) -> None:
    with opened(tmp_path) as engine:
        engine.sync([write(PAGES)])
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync(recreate=True)
    with opened(tmp_path) as engine:
        assert pending_chunks(engine) == {"static": 20, "dense": 20}


def test_without_quick_vectors_nothing_says_that_none_are_wanted(tmp_path: Path, write: Any) -> None:
    with opened(tmp_path, INDEX__STATIC="") as engine:
        engine.sync([write(PAGES)], deepen=False)
        assert pending_chunks(engine) == {"dense": 20}


def test_an_index_of_an_earlier_version_is_left_to_its_writers(tmp_path: Path) -> None:
    with tarfile.open(OLD) as archive:
        archive.extractall(tmp_path, filter="data")
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__DENSE": "hashed"})
    with Engine(tmp_path / "one" / ".watersmeet", settings) as engine:
        assert pending_chunks(engine) == {}


def test_vectors_of_an_earlier_file_of_the_model_are_made_anew(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from watersmeet.embed.hashed import Hashed

    with opened(tmp_path) as engine:
        engine.sync([write(PAGES)])
        monkeypatch.setattr(Hashed, "fingerprint", property(lambda _: "hashed-2"))
        monkeypatch.setattr(Hashed, "replaces", frozenset(["hashed-1-128"]), raising=False)
        assert pending_chunks(engine) == {"dense": 20}
        monkeypatch.setattr(deepening, "SHORT_WINDOW", 4)
        engine.deepen(seconds=0.001)
        with engine.snapshot() as snapshot:
            assert list(tiers_of(snapshot.facts(), NEXT_TIERS)) == ["dense"]
        assert pending_chunks(engine) == {"dense": 16}
        engine.deepen()
        assert pending_chunks(engine) == {}


def test_what_cannot_be_written_is_not_embedded(tmp_path: Path, write: Any) -> None:
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    with opened(tmp_path) as engine:
        assert can_embed(engine)  # there may be one later
        engine.sync([write(PAGES)], deepen=False)
        assert can_embed(engine)
        (tmp_path / "index").chmod(0o555)
        with nobody():
            assert not can_embed(engine)
        (tmp_path / "index").chmod(0o755)
