"""What sort of query it is: what its dataset says, and what it looks like."""

from __future__ import annotations

from typing import Any

from watersmeet.core import tokens

SHORT = 4
"""A query of more words than this is a sentence."""


def classes_of(text: str, metadata: Any = None) -> tuple[str, ...]:
    """The dataset's own classes under their names, ours as `kind:...` and `length:...`."""
    named = metadata if isinstance(metadata, dict) else {}
    own = [str(named[key]) for key in ("class", "split") if named.get(key)]
    kind, length = looks(text)
    return (*dict.fromkeys(own), f"kind:{kind}", f"length:{length}")


def looks(text: str) -> tuple[str, str]:
    """Kind (identifier, mixed, conceptual) and length (short, sentence)."""
    surfaces = tokens.surfaces(text)
    telling = [surface for surface in surfaces if surface.lower() not in tokens.QUESTION_WORDS] or surfaces
    identifiers = sum(tokens.is_identifier(surface) for surface in telling)
    kind = "conceptual" if not identifiers else "identifier" if identifiers == len(telling) else "mixed"
    return kind, "short" if len(surfaces) <= SHORT else "sentence"
