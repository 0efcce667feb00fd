"""The reference semantics of filter conditions; every store must agree with it."""

from watersmeet.common.conditions import Facts, in_path, satisfies

__all__ = ["Facts", "in_path", "satisfies"]
