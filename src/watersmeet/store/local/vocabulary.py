"""The concept vocabulary: which terms does this corpus use, and where are their vectors?

`concept_vocabulary.json` holds the most frequent terms, how often each was seen, and the name of the file of their
vectors, which is made when it is first needed. That name changes with the terms and with the model, so vectors are
never taken for those of other terms. Both files can be deleted: they are made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING
from zlib import crc32

from watersmeet.core import tokens
from watersmeet.core.files import replace_file

if TYPE_CHECKING:
    from watersmeet.core.vectors import Embedder, Matrix

PUBLIC, PRIVATE = "concept_vocabulary", "private_vocabulary"
"""What its files are called: of the texts that everyone may see, and of the others."""
VERSION = 1
MOST_TERMS = 20_000
SHORTEST = 3
SUM = 4
"""The bytes at the end of the file of vectors that tell whether it is damaged."""
CHANGED = 0.05
"""The share of new and gone chunks from which on the terms are gathered anew."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms, the most frequent first. `chunks` and `last_row` are what they were gathered from."""

    terms: list[str]
    frequencies: list[int]
    chunks: int
    last_row: int
    model: str  # fingerprint of the model that the vectors are of
    vectors: str = ""
    text: str = ""  # the folder of the words; another one after compaction
    version: int = field(default=VERSION)
    public: bool = False  # whether all of it is from texts that everyone may see
    sum: int = 0  # of all the others; 0 by an older version

    def is_sound(self) -> bool:
        return self.sum in (0, _sum(self))

    def is_current(self, chunks: int, added: int, model: str, text: str = "") -> bool:
        """Whether it still fits so many chunks, of which so many were added since."""
        moved = added + max(0, self.chunks - (chunks - added))
        return self.model == model and self.text == text and moved <= CHANGED * max(1, self.chunks)


def gather(texts: Iterable[str], most: int = MOST_TERMS) -> list[tuple[str, int]]:
    """The terms in most of the texts, with the number of texts; no stop words, numbers or very short words."""
    counts = Counter(chain.from_iterable(map(_terms, texts)))
    found: Counter[str] = Counter()
    for term, count in counts.items():
        if term.isascii():
            found[term] += count
        else:  # accents folded, scripts without spaces cut, as everywhere
            for word in set(tokens.words(term)):
                found[word] += count
    wanted = [(t, n) for t, n in found.items() if t not in tokens.ASKING and (len(t) >= SHORTEST or not t.isascii())]
    return sorted(wanted, key=lambda pair: (-pair[1], pair[0]))[:most]


_ASCII = re.compile(r"[a-z]{3,32}")
_UNICODE = re.compile(r"[^\W\d_]{2,32}")


def _terms(text: str) -> set[str]:
    """Runs of letters: a quarter of the cost of all that a search wants of a text."""
    low = text.lower()
    return set((_ASCII if low.isascii() else _UNICODE).findall(low))


def save(
    folder: str,
    counted: Sequence[tuple[str, int]],
    chunks: int,
    last_row: int,
    model: str,
    text: str = "",
    name: str = PUBLIC,
) -> Terms:
    """Replace what is there in one step; vectors of other terms go."""
    terms = [term for term, _ in counted]
    digest = hashlib.blake2b("\0".join((model, *terms)).encode("utf8", "surrogatepass"), digest_size=8).hexdigest()
    vectors = f"{name}-{digest}.npy"
    made = Terms(terms, [n for _, n in counted], chunks, last_row, model, vectors, text, public=name == PUBLIC)
    made = replace(made, sum=_sum(made))
    content = json.dumps(asdict(made), ensure_ascii=False).encode("utf8", "surrogatepass")
    replace_file(path_of(folder, name), content)
    _clean(folder, name, made.vectors)
    return made


def forget(folder: str, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path_of(folder, name))
        _clean(folder, name)


def _clean(folder: str, name: str, keep: str = "") -> None:
    for file in os.listdir(folder):
        if file.startswith(f"{name}-") and file != keep:
            with suppress(OSError):  # it is only in the way
                os.unlink(os.path.join(folder, file))


def path_of(folder: str, name: str) -> str:
    return os.path.join(folder, f"{name}.json")


def _sum(terms: Terms) -> int:
    values = {key: value for key, value in asdict(terms).items() if key != "sum"}
    return crc32(repr(sorted(values.items())).encode("utf8", "surrogatepass")) or 1


def load(folder: str, name: str = PUBLIC) -> Terms | None:
    """What is there; None if there is none that can be used."""
    try:
        with open(path_of(folder, name), "rb") as file:
            held = Terms(**json.loads(file.read().decode("utf8", "surrogatepass")))
    except (OSError, ValueError, TypeError):
        return None
    sound = (
        held.version == VERSION
        and held.is_sound()
        and len(held.terms) == len(held.frequencies)
        and os.path.basename(held.vectors)
    )
    return held if sound and os.path.basename(held.vectors) == held.vectors else None


def vectors(folder: str, vocabulary: Terms, model: Embedder) -> Matrix:
    """One row for each term, from the file or, the first time, from the model."""
    import numpy as np

    path = os.path.join(folder, vocabulary.vectors)
    with suppress(OSError, ValueError, EOFError), open(path, "rb") as file:
        content = file.read()
        if crc32(content[:-SUM]) != int.from_bytes(content[-SUM:], "little"):
            raise ValueError("it is damaged, or an older version's")
        held: Matrix = np.load(BytesIO(content)).astype(np.float32)
        if held.shape == (len(vocabulary.terms), model.dimension):
            return held
    made = model.embed(vocabulary.terms)
    with suppress(OSError):  # a folder that may only be read costs the time again, and nothing else
        buffer = BytesIO()
        np.save(buffer, made.astype(np.float16))
        content = buffer.getvalue()
        replace_file(path, content + crc32(content).to_bytes(SUM, "little"))
    return made
