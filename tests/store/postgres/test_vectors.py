"""Vectors of an index over PostgreSQL and Qdrant, as an earlier version kept them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_indexes import cluster_index, cluster_settings
from clusters import NOT_RUN, missing
from watersmeet import Engine
from watersmeet.store.postgres.index import Postgres

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
SPARSE = {"WATERSMEET__INDEX__DENSE": "", "WATERSMEET__INDEX__STATIC": "", "WATERSMEET__INDEX__SPARSE": "terms"}


def test_sparse_vectors_without_numbered_terms_are_made_again(tmp_path: Path) -> None:
    (tmp_path / "otter.md").write_text("# Otter\n\nAn otter swims in the river.\n")
    (tmp_path / "tern.md").write_text("# Tern\n\nA tern flies over the sea.\n")
    with cluster_index(SPARSE) as filling, Engine(filling.index._address, cluster_settings(SPARSE)) as engine:  # type: ignore[attr-defined]
        engine.sync([tmp_path])
        engine.deepen(tiers=["sparse"])
        first = [one.document for one in engine.search("otter", mode="sparse").results][:1]
        assert first == ["otter.md"]
        assert isinstance(engine.index, Postgres)
        with engine.index._o.generation().writing.connection() as db:
            db.execute("DELETE FROM terms WHERE field = -1")
            db.execute("UPDATE vectors SET vector = vector || vector WHERE store LIKE 'vectors-sparse%'")
        engine.deepen(tiers=["sparse"])
        assert [one.document for one in engine.search("otter", mode="sparse").results][:1] == first
