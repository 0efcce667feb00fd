"""Make src/watersmeet/common/english_words.txt: the stems of English and technical words.

    python scripts/english_words.py DICTIONARY MARKDOWN_FOLDER...

DICTIONARY is a list of words, one a line (Debian's package `wamerican-large`). Added are the
whole words in the vocabulary of potion-base-8M, and words that at least 10 of the Markdown files have.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

from watersmeet.common.stems import stems

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "watersmeet"
OUT = PACKAGE / "common" / "english_words.txt"
MIN_LETTERS, MIN_FILES = 4, 10
_WORD = re.compile(rf"[a-z]{{{MIN_LETTERS},30}}")


def main() -> None:
    dictionary, *folders = map(Path, sys.argv[1:])
    found = {word for word in dictionary.read_text("utf8").lower().split() if _WORD.fullmatch(word)}
    vocabulary = json.loads((PACKAGE / "embed" / "potion" / "tokenizer.json").read_text("utf8"))["model"]["vocab"]
    found |= {word for word in vocabulary if _WORD.fullmatch(word)}
    counts: Counter[str] = Counter()
    for folder in folders:
        for path in folder.rglob("*.md"):
            counts.update(set(_WORD.findall(path.read_text("utf8", "replace").lower())))
    found |= {word for word, count in counts.items() if count >= MIN_FILES}
    listed = sorted(set(stems(sorted(found))))
    OUT.write_text("\n" + "\n".join(listed) + "\n", "ascii")
    print(f"{len(found)} words, {len(listed)} stems")


if __name__ == "__main__":
    main()
