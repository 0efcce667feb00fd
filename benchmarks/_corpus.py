"""A corpus of any number of notes from real Markdown, repeated with variation if there is too little.

python benchmarks/_corpus.py FOLDER FIRST LAST         (run by speed.py, to stay small itself)
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

from _common import ROOT, SHARED

SOURCES = [SHARED / "data" / "markdown", ROOT / "examples", ROOT]
WORDS = 80
"""A note has whole paragraphs and ends after so many words."""
LONGEST = 400
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za".split()


def source() -> Path:
    """The Markdown to take notes from: the shared corpora, or what the repository has."""
    return next(one for one in SOURCES if one.is_dir())


def notes(folder: Path) -> list[tuple[str, str]]:
    """(title, text) of every piece of about a hundred words, in an order that mixes the pages."""
    found: list[tuple[str, str]] = []
    for path in sorted(folder.rglob("*.md")):
        title, kept, count = path.stem, [], 0
        for paragraph in path.read_text(errors="replace").split("\n\n"):
            heading = re.match(r"#+ +(.+)", paragraph.strip())
            title = heading[1] if heading else title
            kept.append(paragraph)
            count += len(paragraph.split())
            if count >= WORDS:
                found.append((title, " ".join("\n\n".join(kept).split(" ")[:LONGEST])))
                kept, count = [], 0
    if not found:
        raise SystemExit(f"{folder} has no Markdown of {WORDS} words")
    random.Random(1).shuffle(found)  # noqa: S311 - to be repeatable
    return found


def varied(text: str, seed: int) -> str:
    """The same sentences in another order, and words that are nowhere else: one of its own, one shared by some."""
    chance = random.Random(seed)  # noqa: S311 - to be repeatable
    sentences = re.split(r"(?<=[.!?])\s+", text)
    chance.shuffle(sentences)
    own = "".join(chance.choices(SYLLABLES, k=5))
    shared = "".join(chance.choices(SYLLABLES, k=3))
    return f"{' '.join(sentences)}\n\nSee also {own} and {shared}.\n"


def write(folder: Path, first: int, last: int) -> None:
    """The notes from one number to another, a thousand to a folder: first as they are, then with variation."""
    found = notes(source())
    for number in range(first, last):
        place = folder / f"{number // 1000:03}"
        if number % 1000 == 0 or number == first:
            place.mkdir(parents=True, exist_ok=True)
        title, text = found[number % len(found)]
        text = text if number < len(found) else varied(text, number)
        (place / f"note-{number:06}.md").write_text(f"# {title}\n\n{text}\n", "utf8", "surrogatepass")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
