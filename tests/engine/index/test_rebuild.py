"""A text store that is lost is made again from the catalogue."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import IndexDamaged, NoIndex
from watersmeet.engine.index.health import check
from watersmeet.engine.settings.settings import load

Write = Callable[[dict[str, str]], Path]
PAGES = {
    "badger.md": "---\naliases: [Grey One, BrockHouse]\ntags: [WildLife, animals]\n---\n"
    "# Badger\n\nIt digs setts. #Night\n",
    "plain.md": "# Plain\n\nNothing but `rotate_keys(user_id)` here.\n",
}


@pytest.fixture(params=["tantivy", "fts5"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__TEXT": request.param}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as made:
        yield made


def lose(engine: Engine) -> None:
    """As if someone had deleted it, or a backup had left it out."""
    engine.close()
    for folder in Path(engine.folder).glob("text-*"):
        shutil.rmtree(folder)


def reopened(engine: Engine) -> Engine:
    return Engine(engine.folder, engine.settings)


def found(engine: Engine, query: str) -> list[tuple[str, float]]:
    with reopened(engine) as fresh:
        answer = fresh.search(query, mode="lexical")
    return [(result.document, round(result.score, 6)) for result in answer.results]


QUERIES = ("badger", "grey one", "brock house", "wild life", "night", "rotate keys", "animals")


@pytest.mark.slow
def test_a_lost_text_store_is_made_again(kept: Engine, write: Write) -> None:
    vault = write(PAGES)
    kept.sync([vault])
    before = {query: found(kept, query) for query in QUERIES}
    assert all(before.values())
    lose(kept)
    with reopened(kept) as fresh:
        with pytest.raises(NoIndex) as lost:
            fresh.search("badger")
        assert "watersmeet sync" in lost.value.hint
        hints = [one.hint for one in check(fresh.index, fresh.settings) if one.name == "text store"]
        assert ["rebuilds the text store" in hint for hint in hints] == [True]
        report = fresh.sync([vault])
    assert ["lost" in warning.reason for warning in report.warnings] == [True]
    assert {query: found(kept, query) for query in QUERIES} == before
    with reopened(kept) as fresh:
        again = fresh.sync([vault])
    assert (again.unchanged, again.warnings) == (2, [])


def test_folders_that_are_not_synced_now_are_found_again_too(kept: Engine, write: Write, tmp_path: Path) -> None:
    vault = write(PAGES)
    other = tmp_path / "other"
    other.mkdir()
    (other / "otter.md").write_text("# Otter\n\nIt swims.\n")
    kept.sync([vault, other])
    lose(kept)
    shutil.rmtree(other)
    with reopened(kept) as fresh:
        fresh.sync([vault])
    assert [document for document, _ in found(kept, "otter")] == ["other/otter.md"]


@pytest.mark.slow
def test_what_is_registered_is_found_again_by_all_its_words(kept: Engine, tmp_path: Path) -> None:
    server = {
        "kind": "mcp_server",
        "path": "/tides",
        "name": "Tides",
        "description": "High and low water",
        "metadata": {"team": "Zanzibar"},
        "tools": [{"name": "next_tide", "description": "When it turns"}],
    }
    (tmp_path / "servers.json").write_text(json.dumps([server]))
    kept.registry.register(str(tmp_path / "servers.json"))
    queries = ("zanzibar", "low water", "next tide")
    before = {query: found(kept, query) for query in queries}
    assert all(before.values())
    lose(kept)
    with reopened(kept) as fresh:
        fresh.registry.set_status("/tides", "beta")
    assert {query: found(kept, query) for query in queries} == before


def test_a_store_that_lacks_rows_is_lost(kept: Engine, write: Write) -> None:
    """Such as one that was made empty in place of the old one."""
    vault = write(PAGES)
    kept.sync([vault])
    lose(kept)
    store = kept.index.make(kept.settings.section("index").text)(folder=f"{kept.folder}/text-1")
    with store.writer() as writer:
        writer.commit()
    store.close()
    with reopened(kept) as fresh:
        with pytest.raises(IndexDamaged, match="missing or empty"):
            fresh.search("badger")
        assert fresh.sync([vault]).warnings
        assert [result.document for result in fresh.search("badger").results] == ["badger.md"]


@pytest.mark.slow
def test_a_store_that_cannot_be_read_is_lost(kept: Engine, write: Write) -> None:
    vault = write(PAGES)
    kept.sync([vault])
    kept.close()
    for name in ("meta.json", "text.db"):
        for file in Path(kept.folder).glob(f"text-*/{name}"):
            file.write_bytes(b"garbage " * 1000)
    with reopened(kept) as fresh:
        with pytest.raises(IndexDamaged):
            fresh.search("badger")
        assert fresh.sync([vault]).warnings
        assert [result.document for result in fresh.search("badger").results] == ["badger.md"]
