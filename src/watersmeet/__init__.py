"""watersmeet finds the few passages that answer a query, by letting several kinds of search vote.

`Engine` is the whole public Python API; everything else is reached through it. `Indexes` asks several as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine as Engine
    from watersmeet.engine.query.multi_index import MultiIndex as Indexes

__version__ = "0.1.0"
__all__ = ["Engine", "Indexes", "__version__"]


def __getattr__(name: str) -> Any:
    """`Engine` is loaded when it is asked for, so that `watersmeet --help` does not pay for it."""
    if name == "Indexes":
        from watersmeet.engine.query.multi_index import MultiIndex

        return MultiIndex
    if name == "Engine":
        from watersmeet.engine.engine import Engine

        return Engine
    raise AttributeError(f"module 'watersmeet' has no attribute {name!r}")
