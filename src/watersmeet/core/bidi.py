"""Characters that turn the direction of the text around them: what is read is then not what is there.

Embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069) reorder whole lines: a name that ends in `.exe`
reads as if it ended in `.pdf`. The marks U+200E, U+200F and U+061C only place single signs; texts in Arabic and Hebrew
need them, and they stay.
"""

from __future__ import annotations

import re

TURNING = "\u202a-\u202e\u2066-\u2069"
"""As part of a set in a regular expression."""
_TURNING = re.compile(f"[{TURNING}]")


def escape(character: str) -> str:
    """As JSON, Python and JavaScript write it."""
    return f"\\u{ord(character):04x}"


def one_line(text: str) -> str:
    """Text of a document where a line of ours stands: no breaks, and nothing that is not seen."""
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)
    return " ".join(shown.split())


def straight(text: str) -> str:
    """The text, to be read in its own order: what would turn it is shown instead."""
    return _TURNING.sub(lambda found: escape(found[0]), text)
