"""Names that a signature defines: `get_or_create` for `def get_or_create(self, defaults=None)`.

They are indexed as forms of their own, so that a query with an identifier finds its definition before its uses.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"[^\W\d][\w$]*[!?]?")
_RECEIVER = re.compile(r"func \([^()]*\) ?")  # of a method in Go
_CONTAINER = re.compile(
    r"\b(?:class|struct|interface|trait|enum|type|impl|module|object|record|protocol|namespace|union|contract|mixin|"
    r"extension|defmodule|table|view) +(?:class +)?([^\W\d][\w$.]*)"
)
_TYPES = re.compile(r"<[^<>]*>")
_MAX_TYPE_DEPTH = 3
_KEYWORDS = frozenset({"def", "fn", "func", "function", "async", "sub", "constructor", "new", "operator", "lambda"})
_MAX_NAMES = 20
_PREFIX = "defines:"


def defined_names(heading: str) -> list[str]:
    """Names that a signature defines; of a list of names, all of them."""
    parts = heading.split(", ")
    if all(map(_NAME.fullmatch, parts)):
        return parts[:_MAX_NAMES]
    head = _RECEIVER.sub("", heading, count=1)
    found = _CONTAINER.search(head.partition("(")[0])
    if found:
        return [found[1].rpartition(".")[2]]
    head = head.partition("(")[0]
    for _ in range(_MAX_TYPE_DEPTH):
        head = _TYPES.sub("", head)
    for end in (" = ", " ::", "[", "{", ": "):
        head = head.partition(end)[0]
    names = [name for name in _NAME.findall(head) if name not in _KEYWORDS]
    return names[-1:]


def definition_form(name: str) -> str:
    """The indexed form of a definition of this name."""
    return _PREFIX + name


def definition_forms(headings: tuple[str, ...]) -> list[str]:
    """Forms of what a passage of source code defines: by its own heading, the last."""
    return [definition_form(name) for name in defined_names(headings[-1])] if headings else []
