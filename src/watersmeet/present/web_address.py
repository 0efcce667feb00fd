"""The address of a passage of a web page: with its anchor, or else with the words that the browser is to show."""

from __future__ import annotations

import re
from urllib.parse import quote

from watersmeet.core.place import Place

WORDS = 8
"""Words of a passage that a browser looks for in the page."""
_WEB = re.compile(r"https?://[^\s\x00-\x20<>\"\\^`{|}]+", re.IGNORECASE)
_MARKS = re.compile(r"^[\s#>*+\-|\d.)]+|[*_`]+|\[\[|\]\]|\]\([^)\n]*\)|[\[\]]")


def is_web_address(path: str) -> bool:
    return bool(_WEB.fullmatch(path))


def web_address(path: str, place: Place, text: str) -> str:
    """Where to open a passage; empty if it is on no web page."""
    if not is_web_address(path):
        return ""
    if "#" in path:
        return path
    if place.anchor:
        return f"{path}#{quote(place.anchor, safe='')}"
    words = _first_words(text)
    return f"{path}#:~:text={quote(words, safe='').replace('-', '%2D')}" if words else path


def _first_words(text: str) -> str:
    """Words of the first line of prose: a page has no marks."""
    for line in text.split("\n"):
        if line.lstrip().startswith(("#", "```", "~~~", "|")):
            continue
        words = _MARKS.sub("", line).split()
        if len(words) >= 3:
            return " ".join(words[:WORDS])
    return ""
