"""The contracts of an index, passed by one in a folder: with either text store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from engine_filling import EngineFilling
from watersmeet.engine.settings.settings import load
from watersmeet.testing.contracts.documents import DocumentsContract
from watersmeet.testing.contracts.entities import EntitiesContract
from watersmeet.testing.contracts.index import IndexContract
from watersmeet.testing.contracts.links import LinksContract
from watersmeet.testing.contracts.vectors import VectorsContract
from watersmeet.testing.contracts.words import WordsContract


class InFolder:
    @classmethod
    @contextmanager
    def made(cls, folder: Path) -> Iterator[EngineFilling]:
        settings = load(start=str(folder), environ={"WATERSMEET__INDEX__VECTORS": "false"})
        filling = EngineFilling(str(folder / "index"), settings)
        with closing(filling.index):
            yield filling


class TestIndex(InFolder, IndexContract): ...


class TestDocuments(InFolder, DocumentsContract): ...


class TestWords(InFolder, WordsContract): ...


class TestVectors(InFolder, VectorsContract): ...


class TestLinks(InFolder, LinksContract): ...


class TestEntities(InFolder, EntitiesContract): ...
