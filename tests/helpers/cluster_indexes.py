"""Indexes over the PostgreSQL and the Qdrant of this test process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count

from clusters import running
from engine_filling import EngineFilling
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.store.postgres.index import Postgres

NUMBERS = count(1)
NO_VECTORS = {"WATERSMEET__INDEX__VECTORS": "false"}
"""No models: a test brings vectors of its own."""


def cluster_environment() -> dict[str, str]:
    """Variables that lead to the servers."""
    servers = running()
    return {
        "WATERSMEET__STORE__POSTGRES__QDRANT": json.dumps([servers.qdrant.url]),
        "WATERSMEET__STORE__POSTGRES__QDRANT_GRPC_PORTS": json.dumps([servers.qdrant.grpc_port]),
    }


def cluster_settings(environ: Mapping[str, str] | None = None) -> Settings:
    return load(environ=cluster_environment() | dict(environ or {}))


def cluster_address(name: str) -> str:
    address = running().postgres
    return f"{address}{'&' if '?' in address else '?'}index={name}"


@contextmanager
def cluster_index(environ: Mapping[str, str] = NO_VECTORS) -> Iterator[EngineFilling]:
    """An index of its own, removed afterwards."""
    filling = EngineFilling(cluster_address(f"test_{next(NUMBERS)}"), cluster_settings(environ))
    try:
        yield filling
    finally:
        filling.index.drop()
        filling.index.close()


def points_of(index: Postgres) -> int | None:
    """How many points of words there are, dead ones included."""
    with index.snapshot() as snapshot:
        collection = f"{snapshot._points}-{snapshot.words_store}"
    return index._o.qdrant.count(collection)
