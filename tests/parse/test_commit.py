"""The parser of commits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse import commit as module
from watersmeet.parse.commit import Commit
from watersmeet.testing.contracts.parser import ParserContract

HASH = "1234567890" * 4
DIFF = """
diff --git a/src/auk.py b/src/auk.py
index 111..222 100644
--- a/src/auk.py
+++ b/src/auk.py
@@ -3,2 +3,2 @@ class Auk:
-    wings = 0
+    wings = 2
\\ No newline at end of file
diff --git a/old.md b/new.md
similarity index 90%
rename from old.md
rename to new.md
--- a/old.md
+++ b/new.md
@@ -1 +1 @@
--- a line that began with two dashes
+x
diff --git a/p.png b/p.png
index 111..222 100644
Binary files a/p.png and b/p.png differ
"""


def content(message: str = "Give the auk wings\n\nIt could not fly.", diff: str = DIFF, parents: str = "a") -> bytes:
    fields = [HASH, "Ada Auk", "ada@example.org", "1600000000", "1600086400", parents, message]
    return "".join(f"{field}\0" for field in fields).encode() + diff.encode()


def parsed(given: bytes, parser: Commit | None = None) -> Document:
    (document,) = (parser or Commit()).parse(Found(HASH, f"git+/x@{HASH}", HASH), given)
    assert isinstance(document, Document)
    return document


class TestCommit(ParserContract):
    samples: ClassVar = {"commit": content()}

    @pytest.fixture
    def parser(self) -> Parser:
        return Commit()


def test_message_author_files_and_dates() -> None:
    found = parsed(content())
    assert (found.kind, found.title, found.id) == ("commit", "Give the auk wings", HASH)
    assert found.fields == {
        "author": "Ada Auk",
        "email": "ada@example.org",
        "commit": HASH,
        "files": ["src/auk.py", "new.md", "p.png"],
    }
    assert found.created == datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
    assert found.modified == datetime(2020, 9, 14, 12, 26, 40, tzinfo=UTC)
    assert found.aliases == (HASH[:7],)
    texts = {section.headings: "\n".join(block.text for block in section.blocks) for section in found.sections}
    assert texts == {
        (): "It could not fly.",
        ("src/auk.py",): "@@ class Auk:\n-    wings = 0\n+    wings = 2",
        ("new.md",): "rename from old.md\n@@\n--- a line that began with two dashes\n+x",
        ("p.png",): "Binary files a/p.png and b/p.png differ",
    }


def test_a_merge_and_a_commit_without_text() -> None:
    merge = parsed(content(diff="", parents="a b"))
    assert merge.fields["merge"] is True
    assert merge.fields["files"] == []
    empty = parsed(content(message="\n"))
    assert empty.title == HASH[:7]
    only = parsed(content(message="Just a subject"))
    assert only.sections[0].blocks[0].text == "Just a subject"


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    def difference(name: str, lines: int) -> str:
        return f"\ndiff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@" + "\n+x" * lines

    long = parsed(content("s" * 10_000 + "\n\n" + "word " * 10_000, difference("a", 1000)))
    assert len(long.title) == module.MAX_SUBJECT
    assert sum(len(block.text) for block in long.sections[0].blocks) <= module.MAX_MESSAGE
    assert long.sections[1].blocks[0].text.count("\n") == 199
    few = parsed(content(diff=difference("a", 1000)), Commit(diff_lines=3))
    assert few.sections[1].blocks[0].text == "@@\n+x\n+x"
    wide = parsed(content(diff=difference("a", 1).replace("+x", "+" + "x" * 10_000)))
    assert len(wide.sections[1].blocks[0].text) < 600
    monkeypatch.setattr(module, "MAX_TOTAL_LINES", 5)
    monkeypatch.setattr(module, "MAX_FILES", 3)
    many = parsed(content(diff="".join(difference(name, 3) for name in "abcde")))
    assert many.fields["files"] == ["a", "b", "c"]
    assert many.sections[0].blocks[-1].text == "3 more files changed; their lines are not indexed."


def test_bytes_that_are_no_text_and_contents_that_are_no_commit() -> None:
    odd = parsed(content().replace(b"Ada Auk", b"Ad\xe9").replace(b"wings = 2", b"wings = \xff\x00"))
    assert odd.fields["author"] == "Ad\ufffd"
    (skipped,) = Commit().parse(Found(HASH, "x", HASH), b"nothing")
    assert isinstance(skipped, Skipped)
