"""The upper layers of granite-30m in torch: from the state of the lower layers to the vector of a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watersmeet.evaluate.encoder.graph import EPSILON, HEADS, LAYERS, UPPER

Parameters = dict[str, Any]
"""Tensors by the names of `graph.py`."""


def parameters(weights: Mapping[str, Any]) -> Parameters:
    import torch  # lazy: in the extra `train`

    return {name: torch.tensor(value, requires_grad=True) for name, value in weights.items()}


def vectors(found: Parameters, state: Any, mask: Any) -> Any:
    """Vectors of length 1. `state`: texts x tokens x width, `mask`: which tokens are there."""
    from torch.nn import functional  # lazy: in the extra `train`

    for layer in UPPER:
        state = _layer(found, f"l{layer}", state, mask[:, None, None, :], first_only=layer == LAYERS - 1)
    return functional.normalize(state[:, 0], dim=-1)


def _layer(found: Parameters, name: str, state: Any, mask: Any, first_only: bool) -> Any:
    from torch.nn import functional  # lazy: in the extra `train`

    residual = state[:, :1] if first_only else state
    texts, _, width = state.shape

    def heads(source: Any, letter: str) -> Any:
        made = _product(found, f"{name}.{letter}", source)
        return made.view(texts, -1, HEADS, width // HEADS).transpose(1, 2)

    attended = functional.scaled_dot_product_attention(
        heads(residual, "q"), heads(state, "k"), heads(state, "v"), attn_mask=mask
    )
    attended = _product(found, f"{name}.ao", attended.transpose(1, 2).reshape(texts, -1, width))
    attended = _normal(found, f"{name}.aln", attended + residual)
    wide = functional.gelu(_product(found, f"{name}.f1", attended))
    return _normal(found, f"{name}.fln", _product(found, f"{name}.f2", wide) + attended)


def _product(found: Parameters, name: str, inputs: Any) -> Any:
    from torch.nn import functional  # lazy: in the extra `train`

    return functional.linear(inputs, found[f"{name}.w"], found[f"{name}.b"])


def _normal(found: Parameters, name: str, inputs: Any) -> Any:
    from torch.nn import functional  # lazy: in the extra `train`

    return functional.layer_norm(inputs, inputs.shape[-1:], found[f"{name}.w"], found[f"{name}.b"], EPSILON)
