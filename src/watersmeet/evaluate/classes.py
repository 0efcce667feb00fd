"""Query classes: those named by the dataset, and kind and length of the text."""

from __future__ import annotations

from typing import Any

from watersmeet.core import tokens

MAX_SHORT_WORDS = 4
"""A query with more words than this is a sentence."""


def classes_of(text: str, metadata: Any = None) -> tuple[str, ...]:
    """Classes of a query: the dataset's own by name, ours as `kind:...` and `length:...`."""
    named = metadata if isinstance(metadata, dict) else {}
    own = [str(named[key]) for key in ("class", "split") if named.get(key)]
    kind, length = looks(text)
    return (*dict.fromkeys(own), f"kind:{kind}", f"length:{length}")


def looks(text: str) -> tuple[str, str]:
    """Kind (identifier, mixed, conceptual) and length (short, sentence)."""
    surfaces = tokens.surfaces(text)
    content_words = [surface for surface in surfaces if surface.lower() not in tokens.QUESTION_WORDS] or surfaces
    identifiers = sum(tokens.is_identifier(surface) for surface in content_words)
    kind = "conceptual" if not identifiers else "identifier" if identifiers == len(content_words) else "mixed"
    return kind, "short" if len(surfaces) <= MAX_SHORT_WORDS else "sentence"
