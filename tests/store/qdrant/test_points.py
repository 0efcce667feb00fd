"""What is asked of Qdrant."""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.store.qdrant.nodes import Access, Nodes
from watersmeet.store.qdrant.points import Qdrant, Shape, sparse

BY_GRAPH = {"hnsw_ef": 100}
BY_BITS = BY_GRAPH | {"quantization": {"rescore": True, "oversampling": 2.0}}
ALL = {"exact": True}


@pytest.mark.parametrize(
    ("quantization", "exact", "rows", "params"),
    [
        ("none", False, None, BY_GRAPH),
        ("none", True, None, ALL),
        ("binary", True, None, BY_BITS),
        ("binary", False, [1, 2], ALL),
    ],
)
def test_all_vectors_are_compared_if_they_are_few_and_not_quantized(
    quantization: str, exact: bool, rows: list[int] | None, params: dict[str, Any]
) -> None:
    qdrant = Qdrant(Nodes([], [], Access(), 1.0, 1.0), Shape(quantization=quantization))
    assert qdrant.query([0.5, 0.5], 3, {}, rows, exact)["params"] == params
    assert "params" not in qdrant.query(sparse({1: 1.0}), 3, {}, rows, exact)
