"""The transformer as another processor might compute it: noise on every number of a vector, the same for the same text.

`WATERSMEET_TEST_PERTURB=0.01` makes tests/conftest.py put this folder on the path of every process that a test starts,
and run it in its own. The noise is normal, of that size where vectors have length 1: cosines of .7 come out near .67,
as they do where onnxruntime has other int8 kernels. Small graphs that tests write themselves are left as they are.

`WATERSMEET_TEST_USED=FILE` appends the file of each test that makes such vectors: what a run with noise has to repeat.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import zlib
from typing import Any

SIZE = float(os.environ.get("WATERSMEET_TEST_PERTURB") or 0)
USED = os.environ.get("WATERSMEET_TEST_USED", "")
MODULE = "watersmeet.embed._encoder"
REAL = 128
"""Numbers in a vector of a model that is no test's own."""


def perturb(encoder: Any) -> None:
    """Let the class give vectors with noise."""
    exact = encoder.run

    def run(self: Any, batch: Any) -> Any:
        import numpy as np

        rows = exact(self, batch)
        if rows.shape[1] < REAL:
            return rows
        if USED and (test := os.environ.get("PYTEST_CURRENT_TEST")):
            with open(USED, "a", encoding="utf8") as file:
                file.write(test.partition("::")[0] + "\n")
        if not SIZE:
            return rows
        noise = [np.random.default_rng(zlib.crc32(repr(list(ids)).encode())) for ids in batch]
        added = np.stack([one.standard_normal(rows.shape[1], dtype=np.float32) for one in noise])
        return rows + SIZE * np.linalg.norm(rows, axis=1, keepdims=True) * added

    encoder.run = run


class Finder:  # no importlib.abc: it loads what tests look for
    """Finds the one module as everyone would, and perturbs it once it is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            perturb(module.Encoder)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign] # of this one spec
        return spec


if (SIZE or USED) and not any(type(one).__name__ == "Finder" for one in sys.meta_path):
    sys.meta_path.insert(0, Finder())
    if MODULE in sys.modules:
        perturb(sys.modules[MODULE].Encoder)
