"""The contracts of an index, passed by one in memory that knows no other store."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from memory_filling import MemoryFilling
from watersmeet.testing.contracts.documents import DocumentsContract
from watersmeet.testing.contracts.entities import EntitiesContract
from watersmeet.testing.contracts.index import IndexContract
from watersmeet.testing.contracts.links import LinksContract
from watersmeet.testing.contracts.vectors import VectorsContract
from watersmeet.testing.contracts.words import WordsContract


class InMemory:
    @classmethod
    def made(cls, folder: Path) -> nullcontext[MemoryFilling]:
        return nullcontext(MemoryFilling())


class TestIndex(InMemory, IndexContract): ...


class TestDocuments(InMemory, DocumentsContract): ...


class TestWords(InMemory, WordsContract): ...


class TestVectors(InMemory, VectorsContract): ...


class TestLinks(InMemory, LinksContract): ...


class TestEntities(InMemory, EntitiesContract): ...
