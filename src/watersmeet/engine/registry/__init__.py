"""The registry: servers, tools, agents and skills in the same index."""

from watersmeet.engine.registry.register import Registered
from watersmeet.engine.registry.registry import Registry

__all__ = ["Registered", "Registry"]
