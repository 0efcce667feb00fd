"""`get` gives a document back as it is written, as far as chunks keep it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import Engine

Write = Callable[[dict[str, str]], Path]
LONG = "word " * 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "# Real heading\n\nshort\n\n## Sub\n\nshort\n\n### Deep\n\nshort",
        f"# Real heading\n\n{LONG}\n\n## Sub\n\n{LONG}\n\n### Deep\n\n{LONG}",
        f"## Begins at two\n\n{LONG}\n\n### Below\n\n{LONG}",
        f"# One\n\n{LONG}\n\n# Two\n\n{LONG}\n\n## Below two\n\n{LONG}",
        f"# One\n\n### Skips a level\n\n{LONG}\n\n#### Below\n\n{LONG}\n\n## Back\n\n{LONG}",
        f"### Deep first\n\n{LONG}\n\n# Then high\n\n{LONG}",
        f"# One\n\n{LONG}\n\n## Small\n\nshort\n\n### Large below small\n\n{LONG}",
        "# Only a heading",
        f"# One\n\n```\n# One\n{LONG}\n```\n\n## Two\n\n{LONG}",
    ],
)
@pytest.mark.parametrize("matter", ["", "---\ntitle: Given\n---\n", "---\ntitle: One\n---\n"])
def test_headings_have_the_levels_that_are_written(engine: Engine, write: Write, page: str, matter: str) -> None:
    engine.sync([write({"a page.md": f"{matter}{page}\n"})])
    text = engine.get("a page.md")["text"]
    assert [line.rstrip() for line in text.splitlines()] == [line.rstrip() for line in page.splitlines()]


def test_front_matter_cannot_say_what_the_levels_are(engine: Engine, write: Write) -> None:
    engine.sync([write({"a.md": "---\n'@levels': 7\n---\n# A\n\ntext\n"})])
    assert engine.get("a.md")["text"] == "# A\n\ntext"
