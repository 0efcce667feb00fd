"""Servers, tools, agents and skills in the same engine."""

from watersmeet.engine.registry.register import Registered
from watersmeet.engine.registry.registry import Registry

__all__ = ["Registered", "Registry"]
