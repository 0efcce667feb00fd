"""A made-up vector of a tier for every live row of an index, written into the store as deepening would.

python benchmarks/_synthetic.py INDEX                    (run by speed.py, to stay small itself)
python benchmarks/_synthetic.py INDEX FOLDER [TIER]      (dense by default)

Without FOLDER they are random. FOLDER has real vectors (_real.py): each made-up one is a mixture of two of these and of
a little noise, so that they lie as close to each other and to questions as real ones do.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _real import real
from numpy.typing import NDArray

from watersmeet.core.model import ANY
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.tiers import embedder_name, new_tier, with_tier
from watersmeet.engine.models import embedder
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.documents import DocumentsView

BLOCK = 8192
Matrix = NDArray[np.float32]


def made(chance: np.random.Generator, count: int, dimension: int, of: Matrix | None) -> Matrix:
    noise = chance.standard_normal((count, dimension), dtype=np.float32)
    if of is None:
        return noise
    first, second = of[chance.integers(0, len(of), (2, count))]
    share = chance.random((count, 1), dtype=np.float32)
    mixed: Matrix = share * first + (1 - share) * second + np.float32(0.3 / dimension**0.5) * noise
    return mixed


def synthetic(index: str, tier_name: str = "dense", of: Matrix | None = None) -> None:
    settings = load(start=index, environ={})
    model = embedder(settings, embedder_name(settings, tier_name))
    snapshot = DocumentsView(index)
    with snapshot.transaction():
        rows = list(snapshot.every(ANY))
    snapshot.close()
    chance = np.random.default_rng(3)
    place = open_index(index, settings)
    with place.bookkeeping(10) as catalogue:
        tier = new_tier(tier_name, model, place, catalogue.meta())
        store = place.vector_store(tier)
        writer = store.writer()
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            writer.add(some, made(chance, len(some), tier.dimension, of))
        writer.commit()
        catalogue.note_vectors(with_tier(catalogue.meta(), tier), tier.folder, rows)
        store.close()


if __name__ == "__main__":
    name = sys.argv[3] if len(sys.argv) > 3 else "dense"
    synthetic(sys.argv[1], name, real(Path(sys.argv[2]), name)[0] if len(sys.argv) > 2 else None)
