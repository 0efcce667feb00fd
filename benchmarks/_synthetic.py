"""A random dense vector for every live row of an index, written into the store as deepening would.

python benchmarks/_synthetic.py INDEX         (run by speed.py, to stay small itself)
"""

from __future__ import annotations

import sys

import numpy as np

from watersmeet.core.model import ANY
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.tiers import embedder_name, new_tier, with_tier
from watersmeet.engine.models import embedder
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.documents import DocumentsView

BLOCK = 8192


def synthetic(index: str) -> None:
    settings = load(start=index, environ={})
    model = embedder(settings, embedder_name(settings, "dense"))
    snapshot = DocumentsView(index)
    with snapshot.transaction():
        rows = list(snapshot.every(ANY))
    snapshot.close()
    chance = np.random.default_rng(3)
    place = open_index(index, settings)
    with place.bookkeeping(10) as catalogue:
        tier = new_tier("dense", model, place, catalogue.meta())
        store = place.vector_store(tier)
        writer = store.writer()
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            writer.add(some, chance.standard_normal((len(some), tier.dimension), dtype=np.float32))
        writer.commit()
        catalogue.note_vectors(with_tier(catalogue.meta(), tier), tier.folder, rows)
        store.close()


if __name__ == "__main__":
    synthetic(sys.argv[1])
