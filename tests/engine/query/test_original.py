"""The file of a document is served only if it is the one that was indexed."""

from __future__ import annotations

import json
import mailbox
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdf_files import pdf
from watersmeet import Engine
from watersmeet.core.errors import NotFound, VersionConflict
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.query.original import OTHER, PDF, TEXT
from watersmeet.engine.settings.settings import load

REPORT = pdf([[(12, "A report about rivers.")]])
HTML = "<html><main><h1>Page</h1><p>Enough words for a page of text.<script>alert(1)</script></p></main></html>"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "report.pdf").write_bytes(REPORT)
    (docs / "page.html").write_text(HTML)
    (docs / "note.md").write_text("# Note\n")
    (docs / "hidden.md").write_text("---\n'@audience': ['user:ada']\n---\n# Hidden\n")
    (docs / "latin.txt").write_bytes("caf\xe9 and more words".encode("latin-1"))
    (docs / "table.jsonl").write_text(
        "".join(json.dumps({"_id": f"r{n}", "text": f"Record {n}"}) + "\n" for n in (1, 2))
    )
    box = mailbox.mbox(docs / "mails.mbox")
    for n in (1, 2):
        box.add(
            f"From: a@example.org\nSubject: Mail {n}\nMessage-ID: <{n}@example.org>\n\nText of mail {n}.\n".encode()
        )
    box.close()
    return docs


@pytest.fixture
def engine(docs: Path, tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "index", load(start=str(tmp_path))) as made:
        made.sync([docs], vectors=False)
        yield made


def test_the_content_and_a_type_that_runs_nothing(engine: Engine, docs: Path) -> None:
    assert engine.original("report.pdf") == ("report.pdf", PDF, REPORT)
    assert engine.original("page.html") == ("page.html", TEXT, HTML.encode())  # never as HTML
    assert engine.original("note.md").type == TEXT
    assert engine.original("latin.txt").type == OTHER


def test_who_may_not_see_the_document_does_not_get_its_file(engine: Engine) -> None:
    assert engine.original("hidden.md").type == TEXT
    with pytest.raises(NotFound):
        engine.original("hidden.md", EVERYONE)


@pytest.mark.parametrize(
    "identity", ["../secret", "/etc/passwd", "docs", "note", "no.md", "note.md/../report.pdf", "", "note.md\n"]
)
def test_only_documents_are_files(engine: Engine, docs: Path, identity: str) -> None:
    (docs.parent / "secret").write_text("secret")
    with pytest.raises(NotFound):
        engine.original(identity)
    with pytest.raises(NotFound):
        engine.original(str(docs / "note.md"))  # a path is not an id


def test_a_file_that_changed_is_not_served(engine: Engine, docs: Path) -> None:
    (docs / "note.md").write_text("# Nota\n")
    with pytest.raises(VersionConflict, match="changed since"):
        engine.original("note.md")
    engine.sync([docs], vectors=False)
    assert engine.original("note.md").content == b"# Nota\n"
    (docs / "note.md").unlink()
    with pytest.raises(NotFound):
        engine.original("note.md")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_does_not_lead_out(engine: Engine, docs: Path) -> None:
    secret = docs.parent / "secret.md"
    secret.write_text("# Note\n")  # even with the same content
    (docs / "note.md").unlink()
    (docs / "note.md").symlink_to(secret)
    with pytest.raises(NotFound):
        engine.original("note.md")
    (docs / "note.md").unlink()
    (docs / "note.md").symlink_to(docs / "page.html")
    with pytest.raises(VersionConflict):
        engine.original("note.md")
    (docs / "note.md").unlink()
    os.mkfifo(docs / "note.md")
    with pytest.raises(NotFound):
        engine.original("note.md")


def test_a_file_of_several_documents_is_not_served(engine: Engine) -> None:
    several = [
        one["document"] for one in engine.documents() if "mail" in one["document"] or one["document"] in ("r1", "r2")
    ]
    assert len(several) >= 4
    for document in several:
        with pytest.raises(NotFound):
            engine.original(document)
