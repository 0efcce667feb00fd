"""Texts that can be sent: in UTF-8, without unpaired surrogates."""

from __future__ import annotations


def clean(text: str) -> str:
    """Text that can be encoded: unpaired surrogates become question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
