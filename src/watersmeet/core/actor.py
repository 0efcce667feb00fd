"""Who acts: set by a face for each request, read where a change is recorded."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from watersmeet.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """`via`: python, cli, rest or mcp. `token`: the id of a token, never its secret."""

    via: str = "python"
    user: str = ""
    token: str = ""

    def to_json(self) -> dict[str, str]:
        found = {"via": self.via, "user": self.user, "token": self.token}
        return {name: value for name, value in found.items() if value}


_actor: ContextVar[Actor | None] = ContextVar("watersmeet_actor", default=None)
_program = ["python"]


def by_program(via: str) -> None:
    """Name the program for everything that no request names an actor for."""
    _program[0] = via


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Changes inside the block are those of this actor."""
    before = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(before)


def current_actor() -> Actor:
    """The actor of this request, or the user of this process."""
    return _actor.get() or Actor(_program[0], _user())


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no name for the user id
        return ""
