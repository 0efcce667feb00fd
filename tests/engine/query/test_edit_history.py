"""After compaction an index scores as one that was built just now, whatever was edited, moved and deleted before."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import load

pytestmark = pytest.mark.model

WORDS = "badger sett river otter owl night forest moss fern clay stone keys rotate deploy backup restore".split()
MODES = ("lexical", "exact", "static", "sparse", "dense", "hybrid")
QUERIES = ("badger sett", "rotate keys", "restore a backup at night", "WildLife", "D40", "otter stone", "grey one")


def page(number: int, version: int) -> str:
    """Each has other words, another length, and a tag whose capitals count."""
    said = " ".join(WORDS[(number * 7 + version * 3 + k) % len(WORDS)] for k in range(12 + number % 9 + 5 * version))
    matter = f"---\ntags: [WildLife, part{number % 3}]\naliases: [Grey One {number}]\n---\n"
    return f"{matter}# Page {number}\n\n{said}. See D{number % 45}.\n\n## Later {version}\n\n{said[::-1]} keys.\n"


def opened(folder: Path, text: str) -> Engine:
    environ = {"INDEX__TEXT": text, "INDEX__DENSE": "hashed", "WRITER__COMPACT_SHARE": "1.0"}
    settings = load(start=str(folder.parent), environ={f"WATERSMEET__{key}": value for key, value in environ.items()})
    return Engine(folder, settings)


def server(number: int, said: str) -> dict[str, Any]:
    tool = {"name": f"tool_{number}", "description": f"{said} the river"}
    return {
        "kind": "mcp_server",
        "path": f"/server{number}",
        "name": f"Server {number}",
        "description": said,
        "tags": ["WildLife"],
        "tools": [tool],
    }


def lived(engine: Engine, vault: Path) -> None:
    """Sync, edit, move, delete, register and unregister; the end is `vault` as it then is, and two servers."""
    for number in range(60):
        (vault / f"page{number}.md").write_text(page(number, 0))
    engine.sync([vault])
    engine.deepen(tiers=("sparse",))
    engine.registry.register([server(n, "badger keys of the night") for n in range(4)])
    for number in range(0, 60, 3):
        (vault / f"page{number}.md").write_text(page(number, 1))
    engine.sync([vault])
    engine.registry.unregister(["/server2", "/server3"])
    engine.registry.register([server(1, "otter stones, restored")])
    for number in range(1, 60, 10):
        (vault / f"page{number}.md").unlink()
        (vault / f"page{number + 1}.md").rename(vault / f"moved{number}.md")
    for number in range(0, 60, 6):
        (vault / f"page{number}.md").write_text(page(number, 2))
    engine.sync([vault])


def asked(engine: Engine) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for query in QUERIES:
        for mode in MODES:
            answer = engine.search(Request(query, mode=mode, top_n=100))
            assert not answer.failures
            found[f"{mode}: {query}"] = (
                answer.confidence,
                {result.id: (result.score, result.fusion_score) for result in answer.results},
            )
    found["levels"] = {name: one.get("level") for name, one in engine.status()["signals"].items()}
    terms = json.loads(Path(engine.folder, "concept_vocabulary.json").read_bytes())
    found["vocabulary"] = terms["terms"], terms["frequencies"]
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What differs by more than a millionth."""
    wrong = [key for key in ("levels", "vocabulary") if one[key] != other[key]]
    for key, value in one.items():
        if isinstance(value, tuple) and key != "vocabulary":
            (sure, hits), (sure_too, hits_too) = value, other[key]
            equal = sure == pytest.approx(sure_too, abs=1e-6) and hits.keys() == hits_too.keys()
            if not equal or any(score != pytest.approx(hits_too[chunk], rel=1e-6) for chunk, score in hits.items()):
                wrong.append(key)
    return wrong


@pytest.mark.parametrize("text", ["tantivy", "fts5"])
def test_after_compaction_all_scores_are_those_of_a_fresh_index(text: str, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with opened(tmp_path / "old", text) as old, opened(tmp_path / "fresh", text) as fresh:
        lived(old, vault)
        assert old.compact(grace=0) > 0
        fresh.registry.register([server(0, "badger keys of the night"), server(1, "otter stones, restored")])
        fresh.sync([vault])
        fresh.deepen(tiers=("sparse",))
        assert same(asked(old), asked(fresh)) == []
        assert old.compact(grace=0) == 0
        again = old.sync([vault])
        assert (again.added, again.changed, again.removed, again.warnings) == (0, 0, 0, [])
        with old.snapshot() as snapshot:
            words = old.visible_index(snapshot, None).words
            assert words is not None
            assert words.size == old.status()["chunks"]


def test_compaction_measures_again_even_if_nothing_is_to_be_freed(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with opened(tmp_path / "old", "tantivy") as old, opened(tmp_path / "fresh", "tantivy") as fresh:
        for number in range(40):
            (vault / f"page{number}.md").write_text(page(number, 0))
        old.sync([vault])
        (vault / "page40.md").write_text(page(40, 0))  # too little for a sync to measure again
        old.sync([vault])
        fresh.sync([vault])
        for engine in (old, fresh):
            engine.deepen(tiers=("sparse",))
        assert same(asked(old), asked(fresh)) != []
        assert old.compact(grace=0) == 0
        assert same(asked(old), asked(fresh)) == []


def test_words_are_written_anew_by_themselves_once_enough_is_dead(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    index = tmp_path / "index"
    for number in range(20):
        (vault / f"page{number}.md").write_text(page(number, 0))
    with Engine(index, load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})) as engine:
        engine.sync([vault])
        (vault / "page0.md").write_text(page(0, 1))
        engine.sync([vault])
        assert folders(index) == {"text-1"}
        for number in range(10):
            (vault / f"page{number}.md").write_text(page(number, 2))
        engine.sync([vault])
        assert folders(index) == {"text-1", "text-2"}  # queries that began before may still read the first
        os.utime(index / "text-1", (0, 0))
        engine.sync([vault])
        assert folders(index) == {"text-2"}
        assert [result.document for result in engine.search("D7").results][:1] == ["page7.md"]


def folders(index: Path) -> set[str]:
    return {path.name for path in index.glob("text-*")}
