"""Test doubles for users of the engine: real components that need no model.

`Hashed` is a deterministic embedder: words and their parts are hashed to positions of a vector. In
settings it is `index.dense = "hashed"`.
"""

from __future__ import annotations

from watersmeet.embed.hashed import Hashed

__all__ = ["Hashed"]
