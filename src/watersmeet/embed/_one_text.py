"""A tokenizer for one text: with the part of the vocabulary that the text can need.

A command embeds one query and ends. Building the tables of 50,000 tokens takes longer than everything else about the
query, and the query uses a dozen of them. All tokens of a text are substrings of its words, so a tokenizer with only
these in its vocabulary, and with only the merges that lead to them, gives the same tokens.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.embed._token_table import KINDS, TokenTable

MAX_LETTERS = 200
"""A longer text has too many substrings."""
_UNREAD = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
"""Options of a BPE model with which its tokens may be other than substrings; none may be on."""


@dataclass(slots=True)
class TextTokenizer:
    """The tokenizer of a folder, for a start with one text: it is built as a whole for the second, or for several."""

    make: Callable[[], Any]
    limit: Callable[[Any], Any]
    table: TokenTable | None
    _whole: Any = None  # tokenizers.Tokenizer: compiled, without types
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ids(self, text: str, special: bool = True) -> list[int]:
        tokenizer = self._for_one(text) or self.whole()
        found: list[int] = tokenizer.encode(text, add_special_tokens=special).ids
        return found

    def ids_of_each(self, texts: Sequence[str], special: bool = True) -> list[list[int]]:
        return [one.ids for one in self.whole().encode_batch_fast(texts, add_special_tokens=special)]

    def whole(self) -> Any:
        with self._lock:
            if self._whole is None:
                self._whole, self.table = self.limit(self.make()), None
            return self._whole

    def _for_one(self, text: str) -> Any:
        """A tokenizer for the first text alone; None if only the whole one can read it."""
        with self._lock:
            table, self.table = self.table, None
        try:
            tokenizer = tokenizer_for(table, text) if table else None
        except (ValueError, TypeError, KeyError):  # the whole one says what is wrong
            return None
        return None if tokenizer is None else self.limit(tokenizer)


def tokenizer_for(table: TokenTable, text: str) -> Any:
    """A `tokenizers.Tokenizer` that reads this text as the whole one does; None if it could read it otherwise."""
    from tokenizers import Tokenizer

    model, added = table.described["model"], table.described.get("added_tokens") or []
    if len(text) > MAX_LETTERS or model["type"] not in KINDS:
        return None
    words = model["type"] == "WordPiece"
    if not words and any(model.get(name) for name in _UNREAD):
        return None
    if any(token["content"] in text or not token.get("special") for token in added):  # it would split the text
        return None
    always = [token for token in (model.get("unk_token"), *(one["content"] for one in added)) if token is not None]
    reading = Tokenizer.from_str(_with_tokens(table, dict(_ids(table, always)), []))
    normal = text if reading.normalizer is None else reading.normalizer.normalize_str(text)
    split = reading.pre_tokenizer
    pieces = [normal] if split is None else [piece for piece, _ in split.pre_tokenize_str(normal)]
    if sum(len(piece) ** 2 for piece in set(pieces)) > MAX_LETTERS**2:  # a letter of CJK may be three here
        return None
    wanted = {*_substrings(pieces), *always}
    if words:
        wanted |= {model["continuing_subword_prefix"] + part for part in _substrings(pieces)}
        return Tokenizer.from_str(_with_tokens(table, dict(_ids(table, wanted)), None))
    found = {token: entry for token in wanted if (entry := table.entry(token))}
    merges = sorted((rank, token[:cut], token[cut:]) for token, (_, ways) in found.items() for rank, cut in ways)
    kept = [(first, second) for _, first, second in merges if first in found and second in found]
    return Tokenizer.from_str(_with_tokens(table, {token: number for token, (number, _) in found.items()}, kept))


def _ids(table: TokenTable, tokens: Iterable[str]) -> Iterable[tuple[str, int]]:
    return ((token, number) for token in tokens if (number := table.number(token)) is not None)


def _substrings(pieces: Iterable[str]) -> set[str]:
    ranges = ((piece, start) for piece in set(pieces) for start in range(len(piece)))
    return {piece[start:end] for piece, start in ranges for end in range(start + 1, len(piece) + 1)}


def _with_tokens(table: TokenTable, vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]] | None) -> str:
    model = {**table.described["model"], "vocab": vocabulary}
    if model["type"] == "BPE":
        model["merges"] = merges or []
    return json.dumps({**table.described, "model": model})
