"""The contracts of an index, passed by a draft over PostgreSQL and Qdrant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from cluster_index import Cluster, ClusterFilling
from clusters import NOT_RUN, missing, running
from watersmeet.testing.contracts.documents import DocumentsContract
from watersmeet.testing.contracts.entities import EntitiesContract
from watersmeet.testing.contracts.index import IndexContract
from watersmeet.testing.contracts.links import LinksContract
from watersmeet.testing.contracts.vectors import VectorsContract
from watersmeet.testing.contracts.words import WordsContract

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
NUMBERS = count()


class InCluster:
    @classmethod
    @contextmanager
    def made(cls, folder: Path) -> Iterator[ClusterFilling]:
        servers = running()
        index = Cluster(servers.postgres, servers.qdrant, f"contract_{next(NUMBERS)}")
        filling = ClusterFilling(index, {"static": 64, "dense": 64})
        yield filling
        index.drop()
        index.close()


class TestIndex(InCluster, IndexContract): ...


class TestDocuments(InCluster, DocumentsContract): ...


class TestWords(InCluster, WordsContract): ...


class TestVectors(InCluster, VectorsContract): ...


class TestLinks(InCluster, LinksContract): ...


class TestEntities(InCluster, EntitiesContract): ...
