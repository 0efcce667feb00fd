"""Servers, tools, agents and skills in the same engine."""

from watersmeet.engine.registry.registry import Registry
from watersmeet.engine.registry.writing import Registered

__all__ = ["Registered", "Registry"]
