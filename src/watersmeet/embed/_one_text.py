"""A tokenizer for one text: with the part of the vocabulary that the text can need.

A command embeds one query and ends. Building the tables of 50,000 tokens takes longer than everything else about the
query, and the query uses a dozen of them. All tokens of a text are substrings of its words, so a tokenizer with only
these in its vocabulary, and with only the merges that lead to them, gives the same tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_LETTERS = 200
"""A longer text has too many substrings."""
_UNREAD = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
"""Options of a BPE model with which its tokens may be other than substrings; none may be on."""


def plain_bpe(content: bytes) -> dict[str, Any] | None:
    """The description of a tokenizer, if it is one that can be cut down: `tokenizer.json` of a BPE model."""
    try:
        whole = json.loads(content)
        model = whole["model"]
        return whole if model["type"] == "BPE" and not any(model.get(name) for name in _UNREAD) else None
    except (ValueError, TypeError, KeyError):
        return None


def tokenizer_for(whole: Mapping[str, Any], text: str) -> Any:
    """A `tokenizers.Tokenizer` that reads this text as the whole one does; None if it could read it otherwise."""
    from tokenizers import Tokenizer

    model, added = whole["model"], whole.get("added_tokens") or []
    if len(text) > MAX_LETTERS:
        return None
    if any(token["content"] in text or not token.get("special") for token in added):  # it would split the text
        return None
    always = {model.get("unk_token"), *(token["content"] for token in added)}
    vocabulary: Mapping[str, int] = model["vocab"]
    kept = {token: vocabulary[token] for token in always if token in vocabulary}
    reading = Tokenizer.from_str(_with_model(whole, kept, []))
    normal = text if reading.normalizer is None else reading.normalizer.normalize_str(text)
    split = reading.pre_tokenizer
    pieces = [normal] if split is None else [piece for piece, _ in split.pre_tokenize_str(normal)]
    kept |= {token: vocabulary[token] for token in _substrings(pieces) if token in vocabulary}
    pairs = {f"{token[:cut]} {token[cut:]}" for token in kept for cut in range(1, len(token))}
    return Tokenizer.from_str(_with_model(whole, kept, _merges(model["merges"], pairs, kept)))


def _substrings(pieces: Iterable[str]) -> set[str]:
    ranges = ((piece, start) for piece in set(pieces) for start in range(len(piece)))
    return {piece[start:end] for piece, start in ranges for end in range(start + 1, len(piece) + 1)}


def _merges(merges: Sequence[Any], pairs: set[str], kept: Mapping[str, int]) -> list[Any]:
    """The merges of these pairs, in order: a file has pairs as `"a b"` or as `["a", "b"]`."""
    if merges and isinstance(merges[0], str):
        found = [pair for pair in merges if pair in pairs]
        return [pair for pair in found if kept.keys() >= set(pair.split(" "))]
    return [pair for pair in merges if " ".join(pair) in pairs and kept.keys() >= set(pair)]


def _with_model(whole: Mapping[str, Any], vocabulary: Mapping[str, int], merges: Sequence[Any]) -> str:
    return json.dumps({**whole, "model": {**whole["model"], "vocab": vocabulary, "merges": merges}})
