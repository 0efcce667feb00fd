"""A random dense vector for every live row of an index, written into the store as deepening would.

python benchmarks/_synthetic.py INDEX         (run by speed.py, to stay small itself)
"""

from __future__ import annotations

import sys

import numpy as np

from watersmeet.core.model import ANY
from watersmeet.engine.models import embedder
from watersmeet.engine.settings import load
from watersmeet.engine.tiers import embedder_name, new_tier, open_store, with_tier
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.opening import bookkeeping

BLOCK = 8192


def synthetic(index: str) -> None:
    settings = load(start=index, environ={})
    model = embedder(settings, embedder_name(settings, "dense"))
    view = DocumentsView(index)
    with view.moment():
        rows = list(view.every(ANY))
    view.close()
    chance = np.random.default_rng(3)
    with bookkeeping(index, 10) as catalogue:
        tier = new_tier("dense", model, catalogue.meta(), index)
        store = open_store(tier, index)
        writer = store.writer()
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            writer.add(some, chance.standard_normal((len(some), tier.dimension), dtype=np.float32))
        writer.commit()
        catalogue.note_vectors(with_tier(catalogue.meta(), tier), tier.folder, rows)
        store.close()


if __name__ == "__main__":
    synthetic(sys.argv[1])
