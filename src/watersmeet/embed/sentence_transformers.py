"""Sentence-transformers embedder: a model of that library by name or folder (the extra `sentence-transformers`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from watersmeet.core.errors import ModelMissing
from watersmeet.core.options import option
from watersmeet.embed._library import Library, folder_fingerprint, loaded
from watersmeet.embed._locate import snapshot

_WANTED = ["*.json", "*.txt", "*.model", "*.safetensors", "*/*.json", "*/*.safetensors"]


@dataclass(frozen=True, slots=True)
class SentenceTransformers(Library):
    """A model that sentence-transformers runs on this machine, with the prompts of its configuration."""

    setting: ClassVar[str] = "embed.sentence_transformers"
    extra: ClassVar[str] = "sentence-transformers"

    device: str = option("", "cpu, cuda, mps; empty: the best that is there", outside=True)
    max_tokens: int = option(0, "where a text is cut; 0: what the model's configuration says", outside=True, least=0)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model's files and of what changes a vector; not of the device."""
        settings = {
            "sentence_transformers": self.max_tokens,
            "query": self.query_prefix,
            "text": self.text_prefix,
        }
        return folder_fingerprint(self._place(), settings)

    @property
    def dimension(self) -> int:
        return int(self._model().get_embedding_dimension())

    def _encoded(self, texts: list[str], query: bool) -> Any:
        """Vectors with the prompts of the model's configuration, if it has any."""
        model = self._model()
        encode = model.encode_query if query else model.encode_document
        return self._safely(
            lambda: encode(texts, batch_size=self.batch, convert_to_numpy=True, show_progress_bar=False)
        )

    def _model(self) -> Any:
        place = self._place()
        return loaded(("sentence_transformers", self, place), lambda: self._load(place))

    def _load(self, place: Path) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise self._not_installed() from error
        options = {"device": self.device or None, "local_files_only": True, "trust_remote_code": False}
        model = self._safely(lambda: SentenceTransformer(str(place), **options))
        if self.max_tokens:
            model.max_seq_length = self.max_tokens
        return model

    def _place(self) -> Path:
        """The model's folder, fetched if it is named and may be."""
        self._check_named()
        if self.is_folder:
            return self.folder
        found, why = snapshot(self.model, _WANTED, local=True, has="*.safetensors")
        if found is None and self.download:
            found, why = snapshot(self.model, _WANTED, local=False, has="*.safetensors")
        if found is None:
            raise ModelMissing(f"the model {self.model!r} is not on this machine: {why}", self._advice)
        return found

    def _safely(self, work: Callable[[], Any]) -> Any:
        """The result of the library, or its error as `ModelProblem`; torch raises a RuntimeError if memory is full."""
        from safetensors import SafetensorError

        try:
            return work()
        except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, SafetensorError) as error:
            raise self._failed(error) from error
