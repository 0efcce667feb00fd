"""Bidirectional control characters: they reorder text, so that a reader sees something else than what is stored.

Embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069) reorder whole lines: a name that ends in `.exe`
reads as if it ended in `.pdf`. The marks U+200E, U+200F and U+061C only place single signs; texts in Arabic and Hebrew
need them, and they stay.
"""

from __future__ import annotations

import re

BIDI_CONTROLS = "\u202a-\u202e\u2066-\u2069"
"""For use inside a character class of a regular expression."""
_BIDI_CONTROLS = re.compile(f"[{BIDI_CONTROLS}]")


def escape(character: str) -> str:
    """Unicode escape, as in JSON, Python and JavaScript."""
    return f"\\u{ord(character):04x}"


def one_line(text: str) -> str:
    """Document text for one line of output: no line breaks, no invisible characters."""
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)
    return " ".join(shown.split())


def straight(text: str) -> str:
    """Text with its bidirectional controls shown as escapes, so that it reads in stored order."""
    return _BIDI_CONTROLS.sub(lambda found: escape(found[0]), text)
