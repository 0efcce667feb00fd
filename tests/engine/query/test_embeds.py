"""`get` shows the text that embeds stand for, and nothing that the viewer may not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.engine.query import embeds
from watersmeet.engine.settings.settings import load

WORDS_ONLY = {"WATERSMEET__INDEX__VECTORS": "false"}


def engine_over(tmp_path: Path, **notes: str) -> Engine:
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in notes.items():
        (vault / f"{name}.md").write_text(text)
    engine = Engine(tmp_path / "index", load(start=str(tmp_path), environ=WORDS_ONLY))
    engine.sync([vault])
    return engine


KEYS = "# Keys\n\nIntro.\n\n## Rotation\n\nEach year.\n\n### How\n\nBy hand.\n\n## Storage\n\nIn the vault. ^where\n"


@pytest.mark.parametrize(
    ("embed", "shown"),
    [
        ("![[keys#Storage]]", "> ## Storage\n>\n> In the vault. ^where"),
        ("![[Keys#rotation|as a table]]", "> ## Rotation\n>\n> Each year.\n>\n> ### How\n>\n> By hand."),
        ("![[keys#^where]]", "> In the vault. ^where"),
        ("![[keys#Nowhere]]", "![[keys#Nowhere]]"),
        ("![[picture.png]]", "![[picture.png]]"),
        ("text ![[keys]] text", "text ![[keys]] text"),
        ("```\n![[keys]]\n```", "```\n![[keys]]\n```"),
        ("````\n```\n![[keys]]\n````", "````\n```\n![[keys]]\n````"),
        ("    ![[keys]]", "    ![[keys]]"),
    ],
)
def test_an_embed_is_shown_as_its_text(tmp_path: Path, embed: str, shown: str) -> None:
    with engine_over(tmp_path, keys=KEYS, note=f"# Note\n\n{embed}\n") as engine:
        assert engine.get("note.md")["text"] == f"# Note\n\n{shown}"
        assert engine.get("note.md", embeds=False)["text"] == f"# Note\n\n{embed}"


def test_notes_that_embed_each_other_end(tmp_path: Path) -> None:
    with engine_over(tmp_path, a="# A\n\n![[b]]\n", b="# B\n\n![[a]]\n\n![[b]]\n") as engine:
        assert engine.get("a.md")["text"] == "# A\n\n> # B\n>\n> ![[a]]\n>\n> ![[b]]"


def test_a_chain_of_embeds_ends(tmp_path: Path) -> None:
    notes = {f"n{i}": f"# N{i}\n\n![[n{i + 1}]]\n" for i in range(9)}
    with engine_over(tmp_path, **notes) as engine:
        assert engine.get("n0.md")["text"].count("# N") == 1 + embeds.MAX_DEPTH


def test_many_embeds_of_a_long_note_end(tmp_path: Path) -> None:
    with engine_over(tmp_path, long="word " * 10_000, note="![[long]]\n\n" * 60) as engine:
        text = engine.get("note.md")["text"]
        assert text.count("![[long]]") == 59
        assert len(text) < 2 * embeds.MAX_CHARS


def test_only_notes_embed_notes(tmp_path: Path) -> None:
    """Mail, a page or code of somebody else does not show a note as a part of it."""
    with engine_over(tmp_path, keys=KEYS) as engine:
        (tmp_path / "vault" / "a.eml").write_text("From: a@b\nSubject: x\n\nSee:\n\n![[keys]]\n")
        (tmp_path / "vault" / "b.txt").write_text("![[keys]]\n")
        engine.sync()
        assert "![[keys]]" in engine.get("a.eml")["text"]
        assert engine.get("b.txt")["text"] == "![[keys]]"
