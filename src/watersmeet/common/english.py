"""English and technical words, to tell a word that a corpus lacks from a word with a typing error.

`english_words.txt` has their stems; `scripts/english_words.py` made it.
"""

from __future__ import annotations

import os
from functools import cache

from watersmeet.common.stems import stem


def is_english(word: str) -> bool:
    """Whether a word in lower case, or another form of it, is in the list."""
    return f"\n{stem(word)}\n" in _stems()


@cache
def _stems() -> str:
    """The file as one text: a search in it is quicker than making a set at each start."""
    with open(os.path.join(os.path.dirname(__file__), "english_words.txt"), encoding="ascii") as file:
        return file.read()
