"""Recognition of `#tags`, in texts and in queries."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Everything but blanks and punctuation, so that combining marks, which are not \w in `re`, belong to a tag.
_TAG = re.compile(
    r"(?<![^\s(\[,;])#([^\s\x00-,.:-@\[-^`{-\xa0\xa1-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf"
    r"\u2000-\u200b\u200e-\u206f\u3000-\u303f\ufe10-\ufe1f\ufe30-\ufe6f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40]+)"
)
_COLOUR = re.compile(r"(?:[0-9a-f]{3}){1,2}|(?=[a-f]*[0-9])(?:[0-9a-f]{4}){1,2}", re.IGNORECASE)
_SEPARATORS = "-/_"


def tags(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of each `#tag`.

    A tag begins after a blank, a bracket or a comma, so neither `foo#bar` nor the fragment of a URL is one.
    It has a character that is no digit, so `#123` is no tag. Nor is a colour: three or six hex digits
    (`#fff`, `#add`, `#a1b2c3`), or four or eight of which one is 0 to 9 (`#ff0c`); `#cafe` is a tag.
    """
    for found in _TAG.finditer(text):
        tag = found[1].rstrip(_SEPARATORS)
        if tag.strip("0123456789" + _SEPARATORS) and not _COLOUR.fullmatch(tag):
            yield found.start(), found.start() + 1 + len(tag), tag
