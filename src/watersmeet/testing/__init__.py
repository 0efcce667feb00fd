"""Test doubles for users of the engine: real components that need no model.

`Hashed` is a deterministic embedder: words and their parts are hashed to positions of a vector. In
settings it is `index.dense = "hashed"`. `ScriptedChat` is a chat model with scripted replies.
"""

from __future__ import annotations

from watersmeet.embed.hashed import Hashed
from watersmeet.testing.chat import ScriptedChat

__all__ = ["Hashed", "ScriptedChat"]
