"""Documents are found by the descriptive fields of their front matter or metadata."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._checksums import seal_meta
from watersmeet.store.local.compaction import compact_piece
from watersmeet.store.local.read_back import TEXT_FORM
from watersmeet.store.local.writer import LocalWriter

SECTION = "The server listens on a port that its settings name, and nobody else may use that port. " * 5
NOTES = {
    "ports.md": "---\ndescription: Choosing a socket for KMS-9\nkeywords: [firewall, listener]\n"
    "author: Ines Moreau\nsummary: networking basics\n---\n"
    f"# Ports\n\n{SECTION}\n\n## Defaults\n\n{SECTION}\n\n## Errors\n\n{SECTION}\n",
    "tides.md": f"# Tides\n\n{'Spring tides follow the moon and neap tides do not. ' * 8}\n",
    "keys.md": f"# Keys\n\n{'Keys are rotated every quarter by the team. ' * 8}\n",
}
QUERIES = ["Moreau", "Ines Moreau", "socket", "firewall", "networking basics", "KMS-9"]


@pytest.mark.parametrize("query", QUERIES)
def test_the_first_chunk_is_found_by_words(engine: Engine, write: Callable[..., Path], query: str) -> None:
    engine.sync([write(NOTES)])
    answer = engine.search(query)
    assert [result.document for result in answer.results] == ["ports.md"]
    assert answer.results[0].lines[0] <= 9
    assert {evidence.by for evidence in answer.results[0].evidence} >= {"lexical"}
    assert ("exact" in {evidence.by for evidence in answer.results[0].evidence}) == (
        query in ("KMS-9", "Moreau", "Ines Moreau")
    )
    assert not answer.no_good_match


@pytest.mark.model
@pytest.mark.parametrize("query", QUERIES)
def test_and_with_vectors(tmp_path: Path, write: Callable[..., Path], query: str) -> None:
    with Engine(tmp_path / "index", load(flags={"index": {"dense": ""}})) as engine:
        engine.sync([write(NOTES)])
        answer = engine.search(query)
        assert answer.mode == ("lexical" if query == "KMS-9" else "hybrid")  # a code of the index is not embedded
        assert answer.results[0].document == "ports.md"
        assert not answer.no_good_match


def test_metadata_of_records_too(engine: Engine, tmp_path: Path) -> None:
    records = [
        {"_id": "a", "text": "Flow over a wedge.", "metadata": {"author": "Brenckman, M."}},
        {"_id": "b", "text": "Flow over a plate.", "metadata": {"authors": ["Ting-Yi Li"]}},
    ]
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    engine.sync([file])
    assert [result.document for result in engine.search("brenckman").results] == ["a"]
    assert [result.document for result in engine.search("Ting-Yi").results] == ["b"]


def test_a_changed_field_is_found_after_the_next_sync(engine: Engine, write: Callable[..., Path]) -> None:
    folder = write(NOTES)
    engine.sync([folder])
    write({"ports.md": NOTES["ports.md"].replace("Moreau", "Okafor")})
    engine.sync([folder])
    assert [result.document for result in engine.search("Okafor").results] == ["ports.md"]
    assert engine.search("Moreau").results == ()


@pytest.mark.parametrize("piece", [1, 4000])
def test_words_built_again_from_the_catalogue_are_the_same(
    engine: Engine, write: Callable[..., Path], piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watersmeet.store.local.writer.compact_piece", lambda writer, _: compact_piece(writer, piece))
    if piece == 1:
        monkeypatch.setattr(LocalWriter, "rewrite", None)
    folder = write(NOTES)
    engine.sync([folder])
    before = [(r.id, r.fusion_score) for r in engine.search("Moreau socket tides").results]
    write({"tides.md": NOTES["tides.md"] + "More.\n"})
    engine.sync([folder])
    write({"tides.md": NOTES["tides.md"]})
    engine.sync([folder])
    assert engine.compact(grace=0.0) > 0
    after = [(r.id, r.fusion_score) for r in engine.search("Moreau socket tides").results]
    assert after == before
    assert engine.sync([folder]).changed == 0


def test_an_older_index_is_brought_up_to_date_by_the_next_sync(
    engine: Engine, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(NOTES)
    with monkeypatch.context() as older:
        older.setattr("watersmeet.core.text_fields.description", lambda fields: "")
        engine.sync([folder])
        engine.close()
    with sqlite3.connect(Path(engine.folder) / "catalogue.db") as db:
        db.execute("DELETE FROM meta WHERE key = ?", (TEXT_FORM,))
        seal_meta(db)
    with Engine(engine.folder, engine.settings) as later:
        assert later.search("tides").results
        assert later.search("Moreau").results == ()
        report = later.sync([folder])
        assert (report.changed, report.unchanged) == (1, 2)
        assert [result.document for result in later.search("Moreau").results] == ["ports.md"]
        assert later.sync([folder]).changed == 0
