"""The contracts of an index, passed by one over PostgreSQL and Qdrant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster_indexes import cluster_index
from clusters import NOT_RUN, missing
from engine_filling import EngineFilling
from watersmeet.testing.contracts.documents import DocumentsContract
from watersmeet.testing.contracts.entities import EntitiesContract
from watersmeet.testing.contracts.index import IndexContract
from watersmeet.testing.contracts.links import LinksContract
from watersmeet.testing.contracts.vectors import VectorsContract
from watersmeet.testing.contracts.words import WordsContract

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]


class InCluster:
    @classmethod
    @contextmanager
    def made(cls, folder: Path) -> Iterator[EngineFilling]:
        with cluster_index() as filling:
            yield filling


class TestIndex(InCluster, IndexContract): ...


class TestDocuments(InCluster, DocumentsContract): ...


class TestWords(InCluster, WordsContract): ...


class TestVectors(InCluster, VectorsContract): ...


class TestLinks(InCluster, LinksContract): ...


class TestEntities(InCluster, EntitiesContract): ...
