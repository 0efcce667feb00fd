"""The tokens of a tokenizer as a hash table in a file: a process that reads one text need not parse all of them.

`tokenizer.json` has 50,000 tokens, and a query needs a dozen. The file beside it has the same ones, each found by the
checksum of its letters, and the digest of the `tokenizer.json` that it was made from: with another one it is not used.
scripts/token_tables.py writes it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import struct
import zlib
from pathlib import Path
from typing import Any

from watersmeet.core.lazy_dataclass import dataclass

NAME = "tokens.table"
KINDS = ("BPE", "WordPiece")
_BUCKETS = 1 << 16
_NUMBER = struct.Struct("<I")
_TWO = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class TokenTable:
    described: dict[str, Any]
    """`tokenizer.json` without tokens and merges."""
    size: int
    content: mmap.mmap
    buckets: int
    """Where the starts of the buckets begin; the entries follow."""

    def number(self, token: str) -> int | None:
        found = self.entry(token)
        return found[0] if found else None

    def entry(self, token: str) -> tuple[int, list[tuple[int, int]]] | None:
        """A token's id, and its merges: each with its rank, and the letter where its second part begins."""
        letters = token.encode("utf8", "surrogatepass")
        place = self.buckets + _NUMBER.size * (zlib.crc32(letters) % _BUCKETS)
        start, end = _TWO.unpack_from(self.content, place)
        key = b"\n%b\t" % letters
        found = self.content.find(key, start, end)
        if found < 0:
            return None
        line = self.content[found + len(key) : self.content.find(b"\n", found + 1)]
        number, *merges = line.split()
        return int(number), [(int(rank), int(cut)) for rank, _, cut in (merge.partition(b":") for merge in merges)]


def open_table(folder: Path) -> TokenTable | None:
    """The table of a model's folder, if it has one that is of its `tokenizer.json`."""
    try:
        with open(folder / NAME, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        head_end = content.find(b"\n")
        head = json.loads(content[:head_end])
        (size,) = _NUMBER.unpack_from(content, head_end + 1 + _NUMBER.size * _BUCKETS)
        if size == len(content) and head["digest"] == _digest((folder / "tokenizer.json").read_bytes()):
            return TokenTable(head["described"], head["size"], content, head_end + 1)
    except (OSError, ValueError, TypeError, KeyError, struct.error):
        pass  # the tokenizer is read without it
    return None


def table_of(tokenizer: bytes) -> bytes:
    """The content of the table for a `tokenizer.json`."""
    whole = json.loads(tokenizer)
    vocabulary: dict[str, int] = whole["model"]["vocab"]
    merges: dict[str, list[str]] = {}
    for rank, pair in enumerate(whole["model"].get("merges", [])):
        first, second = pair.split(" ") if isinstance(pair, str) else pair
        merges.setdefault(first + second, []).append(f"{rank}:{len(first)}")
    if any(letter in token for token in vocabulary for letter in "\t\n"):
        raise ValueError("a token with a tab or a line break")
    entries: list[list[str]] = [[] for _ in range(_BUCKETS)]
    for token, number in vocabulary.items():
        line = "\t".join((token, " ".join((str(number), *merges.get(token, [])))))
        entries[zlib.crc32(token.encode()) % _BUCKETS].append(line)
    blocks = [("\n" + "\n".join(lines) + "\n").encode() if lines else b"" for lines in entries]
    model = {name: value for name, value in whole["model"].items() if name not in ("vocab", "merges")}
    described = {**whole, "model": model}
    head = json.dumps({"digest": _digest(tokenizer), "size": len(vocabulary), "described": described}).encode() + b"\n"
    place = len(head) + _NUMBER.size * (_BUCKETS + 1)
    starts = []
    for block in blocks:
        starts.append(place)
        place += len(block)
    return b"".join((head, *map(_NUMBER.pack, (*starts, place)), *blocks))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
