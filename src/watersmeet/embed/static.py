"""Static embedder by a table of token vectors: thousands of chunks a second, without network or graph.

A text's vector is the mean of its tokens' rows, scaled to length 1. The table is potion-base-8M, made with model2vec,
stored as int8 rows with a scale each (scripts/quantise_static.py); see potion/NOTICE.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.common.encodable import clean
from watersmeet.core.errors import ModelProblem
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.options import option
from watersmeet.embed._common import fingerprint, in_slices, languages, unit, unreadable
from watersmeet.embed._one_text import TextTokenizer
from watersmeet.embed._token_table import open_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Matrix, Vector

_SHIPPED = Path(__file__).parent / "potion"
_FILES = ("rows.npy", "scales.npy", "tokenizer.json")
_PARALLEL = 32  # fewer texts are tokenised without waking the thread pool
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Static:
    """A model with one vector for each token; the shipped potion-base-8M by default."""

    remote: ClassVar[bool] = False
    quick: ClassVar[bool] = True

    folder: str = option("", "a folder made by scripts/quantise_static.py; empty: the shipped potion-base-8M")

    languages: tuple[str, ...] = option((), "codes of the languages it reads (de, en); empty: as in its languages.json")

    @property
    def reads(self) -> tuple[str, ...]:
        """Languages that the table is for, from the setting or the folder's `languages.json`."""
        return self.languages or languages(self._path() / "languages.json")

    @property
    def name(self) -> str:
        return Path(self.folder).name if self.folder else "potion-base-8M"

    @property
    def dimension(self) -> int:
        return int(self.table().rows.shape[1])

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self._path())

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        table = self.table()
        sums = np.zeros((len(texts), table.rows.shape[1]), dtype=np.float32)
        for number, ids in enumerate(table.tokens([clean(text) for text in texts])):
            if ids.size:
                sums[number] = table.scales[ids] @ table.rows[ids].astype(np.float32)
        return unit(sums)

    def embed_stream(self, texts: Sequence[str], batch: int = 1024) -> Iterator[tuple[int, Matrix]]:
        return in_slices(self.embed, texts, batch)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector

    def _path(self) -> Path:
        return Path(self.folder).expanduser() if self.folder else _SHIPPED

    def table(self) -> Table:
        """Table of token vectors, loaded once per process."""
        with _loading:
            return _load(self._path())


@dataclass(frozen=True, slots=True)
class Table:
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    tokenizer: TextTokenizer
    unknown: int

    def tokens(self, texts: Sequence[str]) -> Iterator[NDArray[np.int64]]:
        import numpy as np

        if len(texts) < _PARALLEL:
            encoded = [self.tokenizer.ids(text, special=False) for text in texts]
        else:
            encoded = self.tokenizer.ids_of_each(texts, special=False)
        for one in encoded:
            ids = np.array(one, dtype=np.int64)
            yield ids[ids != self.unknown]


@functools.lru_cache(maxsize=4)
def _load(folder: Path) -> Table:
    import numpy as np

    for file in _FILES:
        try:
            (folder / file).open("rb").close()
        except OSError as error:
            raise unreadable(folder / file, error) from error
    try:
        rows = np.asarray(np.load(folder / "rows.npy", mmap_mode="r"))  # mapped still; an np.memmap is slow to slice
        scales = np.load(folder / "scales.npy")
    except (ValueError, EOFError) as error:
        raise _broken(folder, "rows.npy or scales.npy", error) from error
    tokenizer = TextTokenizer(functools.partial(_whole, folder), _unlimited, open_table(folder))
    if table := tokenizer.table:
        size, unknown = table.size, table.number("[UNK]")
    else:
        whole = tokenizer.whole()
        size, unknown = whole.get_vocab_size(), whole.token_to_id("[UNK]")
    if rows.ndim != 2 or scales.shape != rows.shape[:1] or size > len(rows):
        raise _broken(folder, "rows.npy", "not one row and one scale for each token")
    if not np.isfinite(scales).all():
        raise _broken(folder, "scales.npy", "it has values that are no numbers")
    return Table(rows, scales, tokenizer, -1 if unknown is None else unknown)


def _whole(folder: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    except ValueError as error:
        raise _broken(folder, "tokenizer.json", error) from error


def _unlimited(tokenizer: Any) -> Any:
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _broken(folder: Path, file: str, why: object) -> ModelProblem:
    return ModelProblem(
        f"the static model in {folder} is damaged: {file}: {why}",
        "install watersmeet again" if folder == _SHIPPED else "make the folder again: scripts/quantise_static.py",
    )


@functools.lru_cache(maxsize=4)
def _fingerprint(folder: Path) -> str:
    return fingerprint([folder / file for file in _FILES], {"pooling": "mean"})
