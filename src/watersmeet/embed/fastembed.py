"""FastEmbed embedder: a model that FastEmbed knows by name, or a folder with an ONNX graph (the extra `fastembed`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from watersmeet.core.errors import ConfigError, ModelMissing, nearest
from watersmeet.core.options import option
from watersmeet.embed._common import fingerprint
from watersmeet.embed._encoder import engine_errors, graph_file, session_of, stated_pooling
from watersmeet.embed._library import Library, folder_fingerprint, loaded

_POOLINGS = {"cls": "CLS", "mean": "MEAN", "none": "DISABLED"}


@dataclass(frozen=True, slots=True)
class FastEmbed(Library):
    """A model that FastEmbed runs on this machine."""

    setting: ClassVar[str] = "embed.fastembed"
    extra: ClassVar[str] = "fastembed"

    batch: int = option(
        1,
        "texts in one pass; 1: each alone, so that the vectors of a quantised model do not depend on the others",
        outside=True,
        least=1,
    )
    file: str = option("", "the graph's file in a folder; empty: model.onnx or onnx/model.onnx", outside=True)
    pooling: str = option(
        "", "of a folder: cls, mean, or none if the graph does it; empty: as its files say", outside=True
    )
    threads: int = option(0, "threads of a pass; 0: one for each core", outside=True, least=0)
    cache: str = option("", "folder for models that are fetched; empty: the cache of huggingface_hub", outside=True)

    def __post_init__(self) -> None:
        if self.pooling and self.pooling not in _POOLINGS:
            raise ConfigError(f"{self.setting}.pooling cannot be {self.pooling!r}", f"use {', '.join(_POOLINGS)}")

    @property
    def fingerprint(self) -> str:
        self._check_named()
        settings = {
            "fastembed": self.file,
            "batch": self.batch,
            "pooling": self.pooling,
            "query": self.query_prefix,
            "text": self.text_prefix,
        }
        if self.is_folder:
            return folder_fingerprint(self.folder, settings)
        return fingerprint([], {**settings, "model": self.model})

    @property
    def dimension(self) -> int:
        return self._model()[1]

    def _encoded(self, texts: list[str], query: bool) -> Any:
        model, _ = self._model()
        return self._vectors(model, texts, query)

    def _vectors(self, model: Any, texts: list[str], query: bool) -> list[Any]:
        try:
            made = model.query_embed(texts) if query else model.passage_embed(texts, batch_size=self.batch)
            return list(made)
        except _errors() as error:
            raise self._failed(error) from error

    def _model(self) -> tuple[Any, int]:
        """The model, and the length of its vectors."""
        self._check_named()
        made: tuple[Any, int] = loaded(("fastembed", self), self._load)
        return made

    def _load(self) -> tuple[Any, int]:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before the import, which would store a device id
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise self._not_installed() from error
        options: dict[str, Any] = {"threads": self.threads or None, "cuda": False}
        try:
            model = self._of_folder(TextEmbedding, options) if self.is_folder else self._named(TextEmbedding, options)
        except _errors() as error:
            raise self._failed(error) from error
        return model, len(self._vectors(model, ["dimension"], query=True)[0])

    def _of_folder(self, cls: Any, options: dict[str, Any]) -> Any:
        from fastembed.common.model_description import ModelSource, PoolingType

        folder = self.folder
        graph = graph_file(folder, self.file)
        name = f"{folder}#{graph.name}#{self.pooling}"
        if name not in {one["model"] for one in cls.list_supported_models()}:
            cls.add_custom_model(
                model=name,
                pooling=PoolingType[_POOLINGS[self.pooling or _pooling_of(folder, graph)]],
                normalization=False,
                sources=ModelSource(hf=name),  # required, and not used: the folder is given
                dim=1,
                model_file=str(graph.relative_to(folder)),
            )
        return cls(name, specific_model_path=str(folder), **options)

    def _named(self, cls: Any, options: dict[str, Any]) -> Any:
        names = [one["model"] for one in cls.list_supported_models()]
        if self.model.lower() not in {name.lower() for name in names}:
            raise ModelMissing(f"FastEmbed knows no model {self.model!r}", nearest(self.model, names))
        options["cache_dir"] = os.path.expanduser(self.cache) or _hub_cache()
        try:
            return cls(self.model, local_files_only=True, **options)
        except (ValueError, OSError, RuntimeError) as error:
            if not self.download:
                raise ModelMissing(
                    f"the model {self.model!r} is not on this machine", f"set {self.setting}.download = true"
                ) from error
        return cls(self.model, **options)


def _errors() -> tuple[type[Exception], ...]:
    """Exceptions of FastEmbed and of onnxruntime."""
    return (OSError, LookupError, *engine_errors())


def _pooling_of(folder: Any, graph: Any) -> str:
    """The pooling of a folder: none if its graph gives one vector for each text."""
    output = session_of(graph).get_outputs()[0]
    return "none" if len(output.shape) == 2 else stated_pooling(folder)


def _hub_cache() -> str:
    """FastEmbed's own default is in the folder for temporary files, where others may write."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return str(HF_HUB_CACHE)
