"""Every regular expression in the package takes time in proportion to its text, whatever the text.

All calls of `re` in the source are found and tried with long runs of what such patterns trip over. A pattern that is
made at run time must be given an example here.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import watersmeet
from watersmeet.core import languages, tokens
from watersmeet.present import plain_text

SOURCE = Path(watersmeet.__file__).parent
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split")

MADE = {
    "core/model.py": [r"\ba[\s\-]+a\b", r"\ba1\b"],
    "core/languages.py": [*languages._SCRIPTS.values()],
    "core/tokens.py": [tokens._UNICODE, tokens._JOINT_UNICODE, tokens._CAMEL, tokens._ACCENTS, tokens._UNSPACED],
    "face/cli/pretty.py": [r"(?i)(?<!\w)(?:a\-a|aa|a)(?:'?\w{0,3})(?!\w)"],
    "face/clients/toml_entry.py": [r"^\s*\[\s*mcp_servers\s*\.\s*(?:a|\"a\"|'a')\s*(?:\..*)?\]\s*(?:#.*)?$"],
    "present/plain_text.py": [f"(?s){plain_text._TAG}", plain_text._CALLOUT, plain_text._OBSIDIAN],
    "query/spelling.py": [r"(?<![^\W_])(aa|Aa|AA)(?![^\W_])"],
    "stage/anchor.py": [r"(?<!\w)a\s+a(?!\w)", r"(?<!\w)d40(?!\w)"],
}
"""Patterns with a part that is not known before, as they may come to be."""

RUNS = (
    *" aA1[]{}`#\n\r\t-+.,:/&*_()\"'=|<\\@é漢。\u0301",
    *("aA", "1.", "v1", "a ", "a.", "a-", "a: ", "a1", "a_", "[[", "[a", "{{", "{#", "#a ", '{{<a "', "0x", "https:"),
    *("\n ", " \n", "\n- ", "\n\n", "--", "---\n", "+\n", ". ", ".)", " ,", ", ", "::", "; ", "; a", "//", "<!", "/*"),
    *("# c\n", " # c\n"),
)
BEFORE = ("", "a", "1", "a{", "{{<a ", "[[", "---\n", "+++\n", "v1", ".", "\n", "[mcp_servers.a", ",")
AFTER = ("", "x", "+\nx", "}")
AROUND = [*((before, "x") for before in BEFORE), *(("", after) for after in AFTER), ("v1", "+\nx"), ("a{", "}")]
LONG = 6_000
QUICK = 0.008
"""Seconds of CPU; a pattern that goes back at every place takes several times that for the longest text."""


def package() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name == "__main__.py":  # importing it runs it
            continue
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text("utf8"))


def used(tree: ast.Module, name: str) -> set[str]:
    """The methods that are called of a pattern with this name."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    } & set(METHODS)


def patterns() -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Where it stands, the pattern, and how it is used."""
    for name, tree in package():
        module = importlib.import_module(
            "watersmeet." + name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        )
        for label, value in vars(module).items():
            for found in value if isinstance(value, list | tuple) else [value]:
                for one in found if isinstance(found, list | tuple) else [found]:
                    if isinstance(one, re.Pattern):
                        for method in sorted(used(tree, label) or {"search"}):
                            yield f"{name} {label}", one, method
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            function = call.func
            if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
                continue
            if function.value.id != "re" or function.attr not in (*METHODS, "compile"):
                continue
            text = call.args[0]
            if isinstance(text, ast.Constant):
                if function.attr != "compile":
                    yield f"{name}:{call.lineno}", re.compile(text.value), function.attr
            elif function.attr != "compile" or not _named(call, tree):
                assert name in MADE, f"{name}:{call.lineno}: give an example of this pattern in MADE"
        for made in MADE.get(name, ()):
            yield f"{name} {made[:20]}", re.compile(made), "search"


def _named(call: ast.Call, tree: ast.Module) -> bool:
    """Whether it is the value of a name of the module, and so was found there."""
    return any(isinstance(node, ast.Assign) and call in ast.walk(node) for node in tree.body)


def tried(pattern: re.Pattern[Any], method: str, text: str) -> float:
    subject: Any = text if isinstance(pattern.pattern, str) else text.encode()
    call: Callable[..., Any] = getattr(pattern, method)
    began = time.process_time()
    if method in ("sub", "subn"):
        call(subject[:0], subject)
    elif method == "finditer":
        sum(1 for _ in call(subject))
    else:
        call(subject)
    return time.process_time() - began


def is_linear(pattern: re.Pattern[Any], method: str, text: Callable[[int], str]) -> bool:
    """Quick, or else four times the text takes far less than sixteen times as long: the best of several tries."""
    if tried(pattern, method, text(LONG)) < QUICK:
        return True
    short, long = (min(tried(pattern, method, text(n)) for _ in range(2)) for n in (LONG // 4, LONG))
    return long < QUICK or long < 8 * short


def quadratic(pattern: re.Pattern[Any], method: str) -> str:
    """A text that it takes too long for; empty if there is none among those that are tried."""
    for run in RUNS:
        for before, after in AROUND:
            if not is_linear(pattern, method, lambda n, b=before, r=run, a=after: b + r * (n // len(r)) + a):
                return f"{before!r} + {run!r} * n + {after!r}"
    return ""


FOUND = list(patterns())


def test_the_patterns_are_found() -> None:
    assert len(FOUND) > 60
    assert {"core/tokens.py _ASCII", "parse/_outline.py _SHORTCODE", "core/tags.py _TAG"} <= {at for at, _, _ in FOUND}


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "method"), [one[1:] for one in FOUND], ids=[f"{at} {m}" for at, _, m in FOUND])
def test_a_pattern_is_linear(pattern: re.Pattern[Any], method: str) -> None:
    worst = quadratic(pattern, method)
    assert not worst, f"{pattern.pattern!r} with {worst}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*\{\s*[#.][^{}]*\}\s*$", "sub"),
        (r"\s*,\s*", "split"),
        (r"v?(\d+(?:\.\d+)*)(?:[-.]?([^+]*))?(?:\+.*)?", "fullmatch"),
        (r"(\s*#.*\n|\s)*+(\[\[\s*query\s*\]\]|query\s*=\s*\[)", "match"),
        (r"\n{2,}|\n(?=\s*[-*#>|`\d])", "split"),
        (r"[A-Za-z][A-Za-z0-9+.\-]+:|//", "search"),
    ],
)
def test_this_test_knows_one_that_is_not(pattern: str, method: str) -> None:
    assert quadratic(re.compile(pattern), method)
