"""Test doubles for whoever builds on the engine: real components that need no model.

`Hashed` is an embedder that is the same on every machine: words and their parts hashed to places of a vector. In
settings it is `index.dense = "hashed"`.
"""

from __future__ import annotations

from watersmeet.embed.hashed import Hashed

__all__ = ["Hashed"]
