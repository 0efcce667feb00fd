"""Messages that the page on troubleshooting quotes are messages of the program."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "how-to" / "troubleshooting.md"
FEWEST = 20
"""How many messages the page quotes, at least."""


def quoted() -> list[str]:
    """The messages: a line of their own each, as a quotation with code in it."""
    return re.findall(r"^> `(.+)`$", PAGE.read_text("utf8"), re.MULTILINE)


@cache
def texts() -> str:
    """What the program can print: its strings and the fixed parts of its f-strings, without docstrings."""
    found: list[str] = []
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text("utf8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        ]
    return "\0".join(found)


def missing(message: str) -> list[str]:
    """Parts of a message, between the names that differ, that the program never prints."""
    return [part for part in message.split("…") if part.strip() and part not in texts()]


def test_the_page_quotes_messages() -> None:
    assert len(quoted()) >= FEWEST


@pytest.mark.parametrize("message", quoted())
def test_a_quoted_message_exists(message: str) -> None:
    assert missing(message) == []


def test_a_message_of_nobody_is_missed() -> None:
    assert missing("there is no index in … or beneath") == [" or beneath"]
