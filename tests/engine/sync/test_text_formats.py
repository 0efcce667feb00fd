"""A folder of text formats: links between its documents, ids in a mailbox, and what is no document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.engine.settings.settings import load

FIRST = (
    "From a Tue Mar  5 10:00:00 2024\nFrom: a@x.org\nSubject: Tides\nMessage-ID: <1@x.org>\n\nWhen is high water?\n\n"
)
ANSWER = (
    "From b Tue Mar  5 11:00:00 2024\nFrom: b@x.org\nSubject: Re: Tides\nMessage-ID: <2@x.org>\n"
    "In-Reply-To: <1@x.org>\n\nAt noon.\n\n"
)
FILES = {
    "docs/keys.rst": "Keys\n====\n\nSee :doc:`setup` and :ref:`first <intro-label>`.\n",
    "docs/setup.rst": "Setup\n=====\n\nkittiwake\n",
    "docs/intro.rst": ".. _intro-label:\n\nIntro\n=====\n\nText.\n",
    "docs/a.adoc": "= A\n\nSee xref:b.adoc[B].\n",
    "docs/b.adoc": "= B\n\nText.\n",
    "notes/alpha.org": ":PROPERTIES:\n:ID: aa-1\n:END:\n#+TITLE: Alpha\n\nSee [[file:beta.org][Beta]].\n",
    "notes/beta.org": "#+TITLE: Beta\n\nBack to [[id:aa-1][Alpha]].\n",
    "mail/list.mbox": FIRST + ANSWER,
    "package-lock.json": '{"lockfileVersion": 3}',
    "watersmeet.toml": "[index]\nvectors = false\n",
    "settings.json": '{"server": {"port": 7878}}',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "all" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "all" / name).write_text(text)
    return tmp_path / "all"


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    words_only = {"WATERSMEET__INDEX__VECTORS": "false"}
    with Engine(folder / ".watersmeet", load(start=str(folder.parent), environ=words_only)) as engine:
        yield engine


def test_documents_of_a_folder(folder: Path, engine: Engine) -> None:
    report = engine.sync([folder])
    assert report.added == 10
    assert [skipped.reason for skipped in report.skipped] == ["a lock file or generated data"]
    assert engine.sync([folder]).unchanged == 10
    for source, targets in {
        "docs/keys.rst": {"docs/setup.rst", "docs/intro.rst"},
        "docs/a.adoc": {"docs/b.adoc"},
        "notes/alpha.org": {"notes/beta.org"},
        "notes/beta.org": {"notes/alpha.org"},
        "mail/list.mbox#2@x.org": {"mail/list.mbox#1@x.org"},
    }.items():
        assert {found.document for found in engine.related(source).results} == targets


def test_a_message_that_is_added_changes_no_other(folder: Path, engine: Engine) -> None:
    engine.sync([folder])
    with (folder / "mail/list.mbox").open("a") as mailbox:
        mailbox.write(ANSWER.replace("2@x.org", "3@x.org"))
    report = engine.sync([folder])
    assert (report.added, report.changed, report.removed) == (1, 0, 0)
