"""A frozen copy has the documents of one snapshot, ranks as the original, and holds nothing of this machine."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.errors import IndexProblem
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._checksums import seal
from watersmeet.store.local._file_commits import publish
from watersmeet.store.local.frozen_copy import public_path

PRIVATE_NOTE = '---\n"@audience": [user:ann]\n---\n# Salaries\n\nThe zanzibar bonus is paid in pearls.\n'


@pytest.fixture
def original(vault: Path, tmp_path: Path) -> Iterator[Engine]:
    """An index with static vectors and one private document."""
    (vault / "secret.md").write_text(PRIVATE_NOTE, "utf8")
    settings = load(start=str(tmp_path), flags={"index": {"dense": ""}})
    with Engine(tmp_path / "index", settings) as engine:
        engine.sync([vault])
        yield engine


def copied(engine: Engine, folder: Path, **options: Any) -> Engine:
    index: Any = engine.index
    index.copy_to(str(folder), ["static"], **options)
    copy = Engine(folder, engine.settings)
    made: Any = copy.index
    made.freeze()
    return copy


def everything(folder: Path) -> bytes:
    """All files; tantivy keeps an empty lock file where it reads."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return b"\0".join(path.read_bytes() for path in files)


def ranks(engine: Engine, query: str) -> list[tuple[str, float]]:
    return [(one.id, one.score) for one in engine.search(query).results]


def test_it_ranks_as_the_original_without_private_documents(original: Engine, tmp_path: Path) -> None:
    from watersmeet.core.visibility import EVERYONE

    with copied(original, tmp_path / "copy") as copy:
        for query in ("rotate keys", "TRN-1042", "port", "tides and estuaries", "zanzibar bonus"):
            mine = [(one.id, one.score) for one in original.search(query, viewer=EVERYONE).results]
            assert ranks(copy, query) == mine
        assert copy.search("rotate keys").mode == "hybrid"
        assert all(check.ok for check in copy.doctor() if check.name != "sources")


def test_no_byte_of_private_documents_or_of_this_machine_is_in_it(
    original: Engine, tmp_path: Path, vault: Path
) -> None:
    with copied(original, tmp_path / "copy"):
        content = everything(tmp_path / "copy")
    for word in (b"zanzibar", b"pearl", b"secret", b"salar", str(tmp_path).encode(), str(vault).encode()):
        assert word not in content.lower()
    assert b"estuaries" in content


def test_private_documents_come_along_if_they_are_asked_for(original: Engine, tmp_path: Path) -> None:
    with copied(original, tmp_path / "copy", private_too=True) as copy:
        assert ranks(copy, "zanzibar bonus") == ranks(original, "zanzibar bonus") != []


def test_words_of_deleted_texts_are_gone(original: Engine, tmp_path: Path, vault: Path) -> None:
    (vault / "notes" / "ideas.txt").write_text("Something else entirely.\n", "utf8")
    original.sync([vault])
    with copied(original, tmp_path / "copy"):
        assert b"estuaries" not in everything(tmp_path / "copy")


def test_it_is_never_written(original: Engine, tmp_path: Path, vault: Path) -> None:
    with copied(original, tmp_path / "copy") as copy:
        before = everything(tmp_path / "copy")
        copy.search("keys")
        copy.index.note_damage("nothing")
        for change in (lambda: copy.sync([vault]), lambda: copy.remove("index.md"), copy.compact):
            with pytest.raises(IndexProblem, match="read-only"):
                change()
        with pytest.raises(IndexProblem, match="frozen"), copy.index.state("embed_first").changing(0):
            pass
        names = {path.name for path in (tmp_path / "copy").rglob("*")}
    assert everything(tmp_path / "copy") == before
    assert not {name for name in names if name.endswith(("-wal", "-shm"))}


def test_it_is_one_state_of_an_index_that_others_write(original: Engine, tmp_path: Path, vault: Path) -> None:
    """Two files always change together, so no copy may have one of them alone."""
    stop = threading.Event()

    def write() -> None:
        settings = load(start=str(tmp_path), flags={"index": {"dense": ""}})
        with Engine(tmp_path / "index", settings) as writer:
            number = 0
            while not stop.is_set():
                number += 1
                for name in ("one", "two"):
                    (vault / f"{name}.md").write_text(f"# Pair\n\nThe pair is edition{number}.\n", "utf8")
                writer.sync([vault])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            with copied(original, tmp_path / f"copy{number}") as copy:
                texts = {p.text for name in ("one.md", "two.md") for p in copy.passages(name)}
                assert len(texts) <= 1
                found = copy.search("pair edition", mode="lexical")
                assert found.failures == ()
                assert len([one for one in found.results if one.document in ("one.md", "two.md")]) in (0, 2)
    finally:
        stop.set()
        thread.join(60)


def test_a_document_that_is_private_by_its_gate_alone_stays_behind(original: Engine, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "index" / "catalogue.db") as db:
        (key,) = db.execute("SELECT id FROM documents WHERE name = 'index.md'").fetchone()
        db.execute("INSERT INTO facets VALUES ('@audience', 'group:staff', ?)", (key,))
        seal(db, key)
    db.close()
    index: Any = original.index
    assert index.copy_to(str(tmp_path / "copy"), ["static"]).private == 2


def test_damaged_documents_stay_behind(original: Engine, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "index" / "catalogue.db") as db:
        db.execute("UPDATE chunks SET text = text || 'x' WHERE text LIKE '%7878%'")
    db.close()
    index: Any = original.index
    found = index.copy_to(str(tmp_path / "copy"), ["static"])
    assert (found.damaged, found.private) == (1, 1)


def test_an_index_without_documents_can_be_copied(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "empty").mkdir()
    engine.sync([tmp_path / "empty"])
    index: Any = engine.index
    assert index.copy_to(str(tmp_path / "copy"), []).documents == 0


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/ann/notes/a.md", "a.md"),
        ("@/notes/a.md", "a.md"),
        ("C:\\notes\\a.md", "a.md"),
        ("git+file:///srv/repo.git", "a.md"),
        ("https://example.org/a", "https://example.org/a"),
        ("https://ann:pw@example.org/a", "https://***@example.org/a"),
        ("pypi:click", "pypi:click"),
    ],
)
def test_paths_mean_the_same_on_every_machine(path: str, shown: str) -> None:
    assert public_path(path, "a.md") == shown


@pytest.mark.parametrize(
    "values",
    [
        {"rows": 10**12},
        {"rows": -5},
        {"rows": "7"},
        {"rows": 2**70},
        {"drops": -1},
        {"generation": -1},
        {"dimension": 3},
        {"sums": 7},
    ],
)
def test_forged_vectors_are_a_failure_of_their_signal_and_nothing_else(
    original: Engine, tmp_path: Path, values: dict[str, Any]
) -> None:
    """With valid checksums, as somebody would forge them: words still answer, and the failure is reported."""
    with copied(original, tmp_path / "copy"):
        pass
    (folder,) = (tmp_path / "copy").glob("vectors-static-*")
    body = {**json.loads((folder / "commit.json").read_bytes())["commit"], **values}
    publish(folder, body)
    with Engine(tmp_path / "copy", original.settings) as copy:
        found = copy.search("rotate keys")
    assert found.results[0].document == "guides/keys.md"
    assert [failure.by for failure in found.failures] == ["static"]


def test_files_are_plain(original: Engine, tmp_path: Path) -> None:
    with copied(original, tmp_path / "copy") as copy:
        index: Any = copy.index
        index.check_frozen()
        os.symlink("/etc/passwd", tmp_path / "copy" / "text-1" / "link")
        with pytest.raises(IndexProblem, match="link"):
            index.check_frozen()
