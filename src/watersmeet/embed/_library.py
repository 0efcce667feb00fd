"""Embedders that another library runs on this machine: models by name or folder, never fetched unless named."""

from __future__ import annotations

import functools
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.common.encodable import clean
from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.core.options import option
from watersmeet.core.system import slashed
from watersmeet.embed._common import fingerprint, in_slices, languages, usable
from watersmeet.embed._encoder import stamp

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector

_PARTS = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".onnx", ".onnx_data"})
"""Endings of the files that make a model."""
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Library(ABC):
    """The common settings of these models. `setting` is the table of the component, and `extra` what it needs."""

    remote: ClassVar[bool] = False
    quick: ClassVar[bool] = False
    setting: ClassVar[str]
    extra: ClassVar[str]

    model: str = option("", "a folder (/…, ./… or ~/…), or the model's name, which must be set", outside=True)
    batch: int = option(32, "texts in one pass", outside=True, least=1)
    query_prefix: str = option("", "what the model wants before a query", outside=True)
    text_prefix: str = option("", "what the model wants before a text", outside=True)
    languages: tuple[str, ...] = option(
        (), "codes of the languages it reads (de, en); empty: as in the folder's languages.json", outside=True
    )
    download: bool = option(True, "fetch a model that is named and not on this machine", outside=True)

    @abstractmethod
    def _encoded(self, texts: list[str], query: bool) -> Any:
        """Vectors of these texts, none of which is blank, as an array or a list of arrays."""

    @property
    @abstractmethod
    def dimension(self) -> int: ...
    @property
    @abstractmethod
    def fingerprint(self) -> str: ...

    @property
    def name(self) -> str:
        return Path(self.model).name

    @property
    def reads(self) -> tuple[str, ...]:
        """Languages that the model reads, from the setting or the folder's `languages.json`; empty: unknown."""
        if self.languages or not self.is_folder:
            return tuple(self.languages)
        return languages(self.folder / "languages.json")

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, query=False)

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        return in_slices(self.embed, texts, batch)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([text], query=True)[0]
        return vector

    @property
    def is_folder(self) -> bool:
        """Whether `model` is a path. A bare name is never looked up in the working folder, which may be untrusted."""
        return os.path.isabs(self.model) or slashed(self.model).startswith(("/", "./", "../", "~"))

    @property
    def folder(self) -> Path:
        """The folder that `model` names."""
        found = Path(self.model).expanduser()
        if not found.is_dir():
            raise ModelMissing(f"there is no model folder {self.model!r}", f"check {self.setting}.model")
        return found

    def _embed(self, texts: Sequence[str], query: bool) -> Matrix:
        import numpy as np

        prefix = self.query_prefix if query else self.text_prefix
        places = [place for place, text in enumerate(texts) if text.strip()]
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if places:
            vectors = np.asarray(self._encoded([prefix + clean(texts[place]) for place in places], query))
            if vectors.shape != (len(places), result.shape[1]):
                raise ModelProblem(f"{self.model} gave vectors of the wrong shape", f"check [{self.setting}]")
            result[places] = usable(vectors, self.model)
        return result

    def _check_named(self) -> None:
        if not self.model:
            raise ModelMissing(f"{self.setting}.model is not set", "name a model, or a folder such as ~/models/minilm")

    def _not_installed(self) -> ModelMissing:
        return ModelMissing(f"{self.extra} is not installed", f"pip install 'watersmeet[{self.extra}]'")

    def _failed(self, error: Exception) -> ModelProblem:
        lines = str(error).strip().partition("\n")
        kind = ModelMissing if isinstance(error, OSError) else ModelProblem
        return kind(f"{self.model} cannot be used: {lines[0][:300]}", self._advice)

    @property
    def _advice(self) -> str:
        if self.is_folder:
            return f"is it a folder with a model for {self.extra}? Download it again, or name another"
        return f"check the name ({self.setting}.model) and the network, or download its folder and name that"


def folder_fingerprint(folder: Path, settings: dict[str, Any]) -> str:
    """Fingerprint of a model folder with all its parts, cached until one of them changes."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in _PARTS and path.is_file())
    return _fingerprint(tuple((path, *stamp(path)) for path in files), tuple(sorted(settings.items())))


@functools.lru_cache(maxsize=16)
def _fingerprint(files: tuple[tuple[Path, int, int], ...], settings: tuple[tuple[str, Any], ...]) -> str:
    return fingerprint([path for path, _, _ in files], dict(settings))


_loaded: dict[tuple[Any, ...], Any] = {}


def loaded(key: tuple[Any, ...], load: Callable[[], Any]) -> Any:
    """A model, loaded once per process."""
    with _loading:
        if key not in _loaded:
            _loaded[key] = load()
        return _loaded[key]
