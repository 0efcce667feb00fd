"""Definitions of a source file from its syntax tree: functions, classes, and what belongs to each."""

from __future__ import annotations

import re
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.parse._languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEFINITIONS = 20_000
"""Definitions of one file; what comes after so many is read as plain lines."""
MAX_SIGNATURE_LENGTH = 160
MAX_NAME_LENGTH = 80
_MAX_SIGNATURE_READ = 2_000
_BODIES = ("body", "block", "declaration_list", "do_block", "enum_variant_list", "column_definitions")
_ATTRIBUTES = frozenset({"attribute_list", "annotation", "marker_annotation", "decorator", "attribute", "modifiers"})

_CALLBACK = re.compile(r",[ ]?(?:async )?(?:function\b[^,]*|\([^()]*\)(?: =>)?)$")


@dataclass(slots=True)
class Definition:
    """A function or a container, from its first row to its last (from 0), with what belongs to it."""

    first: int
    last: int
    name: str
    signature: str
    container: bool = False
    children: list[Definition] = field(default_factory=list)


class Outline(NamedTuple):
    """The definitions of a file, outermost first, the import statements as written, and whether some were left out."""

    definitions: list[Definition]
    imports: list[str]
    cut: bool = False


class _Grammar(NamedTuple):
    parser: Any
    query: Any


@cache
def _grammar(language: Language) -> _Grammar | None:
    """Parser and query of a language; None if its packages are not installed."""
    import importlib
    import warnings

    if language.grammar is None:
        return None
    package, function = language.grammar
    try:
        from tree_sitter import Language as Loaded
        from tree_sitter import Parser, Query

        module = importlib.import_module(package)
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # some grammars give their address as a number
        loaded = Loaded(getattr(module, function)())
    return _Grammar(Parser(loaded), Query(loaded, language.query()))


def has_grammar(language: Language) -> bool:
    """Whether the grammar of a language is installed."""
    return _grammar(language) is not None


def outline(language: Language, text: str, lines: list[str]) -> Outline | None:
    """Definitions and imports of a text; None without a grammar."""
    grammar = _grammar(language)
    if grammar is None:
        return None
    from tree_sitter import QueryCursor

    source = text.encode("utf8", "replace")
    tree = grammar.parser.parse(source)
    captures = QueryCursor(grammar.query).captures(tree.root_node)
    imports = sorted(captures.get("import", ()), key=_start)
    written = [_text(source, node.start_byte, node.end_byte) for node in imports]
    nodes = [(node.start_byte, -node.end_byte, group, node) for group in _GROUPS for node in captures.get(group, ())]
    nodes.sort(key=_order)
    builder = _Builder(source, lines, _leads(captures.get("lead", ()), lines))
    for start, end, group, node in nodes[:MAX_DEFINITIONS]:
        builder.add(start, -end, group, node)
    return Outline(builder.roots, written, len(nodes) > MAX_DEFINITIONS)


_GROUPS = ("wrapper", "container", "function", "tail")


def _order(captured: tuple[int, int, str, Any]) -> tuple[int, int, int]:
    start, end, group, _ = captured
    return start, end, _GROUPS.index(group)


def _start(node: Node) -> int:
    return node.start_byte


def _text(source: bytes, start: int, end: int) -> str:
    return source[start : min(end, start + _MAX_SIGNATURE_READ)].decode("utf8", "ignore")


def _last_row(node: Node) -> int:
    """Row of the last character; some nodes end with their line break."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def _leads(nodes: Any, lines: list[str]) -> dict[int, int]:
    """First row by last row of the comments and attributes that begin a line."""
    found: dict[int, int] = {}
    for node in nodes:
        row, column = node.start_point
        if row < len(lines) and not lines[row][:column].strip():
            found[_last_row(node)] = row
    return found


@dataclass(slots=True)
class _Open:
    """A node that is not closed yet: a definition, or a wrapper that waits for its definition."""

    start: int
    end: int
    first: int
    last: int
    definition: Definition | None = None
    waiting: bool = False


class _Builder:
    """Builds the tree of definitions from nodes in the order of their starts."""

    def __init__(self, source: bytes, lines: list[str], leads: dict[int, int]) -> None:
        self.source = source
        self.lines = lines
        self.leads = leads
        self.roots: list[Definition] = []
        self.open: list[_Open] = []
        self.latest: tuple[int, Definition] | None = None

    def add(self, start: int, end: int, group: str, node: Node) -> None:
        while self.open and self.open[-1].end <= start:
            self.open.pop()
        if group == "tail":
            self._extend(start, node)
            return
        first, last = node.start_point[0], _last_row(node)
        outer = self.open[-1] if self.open else None
        if outer and outer.waiting:
            outer.waiting = False
            if outer.last == last:  # the wrapper ends with it: else it is a part of something larger
                first = outer.first
        if group == "wrapper":
            self.open.append(_Open(start, end, first, last, waiting=True))
            return
        if outer and outer.definition and (outer.start, outer.end) == (start, end):
            return
        self._define(start, end, first, last, group == "container", node)

    def _define(self, start: int, end: int, first: int, last: int, container: bool, node: Node) -> None:
        while (lead := self.leads.get(first - 1)) is not None and lead < first:
            first = lead
        signature = _signature(self.source, node)
        name = (_name(self.source, node) or _without_keyword(signature))[:MAX_NAME_LENGTH]
        parent = next((one.definition for one in reversed(self.open) if one.definition), None)
        siblings = parent.children if parent else self.roots
        before = siblings[-1] if siblings else None
        if before and before.name == name and before.last >= first - 1 and not container and node.type == "function":
            before.last = max(before.last, last)  # a further equation of the same function (Haskell)
            return
        made = Definition(first, last, name, signature, container)
        siblings.append(made)
        self.open.append(_Open(start, end, first, last, made))
        self.latest = end, made

    def _extend(self, start: int, node: Node) -> None:
        """A body that follows its signature as a sibling."""
        if self.latest and 0 <= start - self.latest[0] <= 2:
            self.latest[1].last = max(self.latest[1].last, _last_row(node))


def _signature(source: bytes, node: Node) -> str:
    """The signature on one line: up to the body, without annotations."""
    start = node.start_byte
    for child in node.children:
        if child.type not in _ATTRIBUTES or (child.type == "modifiers" and b"@" not in _bytes(source, child)):
            break
        start = child.next_sibling.start_byte if child.next_sibling else start
    body = _body(node)
    end = body.start_byte if body else node.end_byte
    comments = (child.start_byte for child in node.children if "comment" in child.type and child.start_byte > start)
    text = _text(source, start, min((end, *comments)))
    if body is None:
        text = text.strip().partition("\n")[0]
    line = " ".join(text.split())
    for ending in ("{", ":", "=", " do", "=>", "("):
        line = line.removesuffix(ending).rstrip()
    if node.type in ("expression_statement", "variable_declarator"):  # describe("name", () => {
        line = _CALLBACK.sub(")", line)
    return line if len(line) <= MAX_SIGNATURE_LENGTH else line[: MAX_SIGNATURE_LENGTH - 1] + "…"


def _without_keyword(signature: str) -> str:
    """`defmodule Tides` (Elixir) is called `Tides`; `impl Display for Port` (Rust) is called that."""
    word, _, rest = signature.partition(" ")
    return rest if rest and word.startswith("def") else signature


def _bytes(source: bytes, node: Node) -> bytes:
    return source[node.start_byte : node.end_byte]


def _body(node: Node) -> Node | None:
    found = node.child_by_field_name("body")
    if found is not None:
        return found
    for name in ("value", "right"):
        value = node.child_by_field_name(name)
        if value is not None:
            return value.child_by_field_name("body")
    return next((child for child in node.children if child.type.endswith(_BODIES)), None)


def _name(source: bytes, node: Node) -> str:
    """The name of a definition; empty if its grammar does not mark it."""
    name = node.child_by_field_name("name")
    inner: Node | None = node
    for _ in range(8):  # C: the name is inside of pointers and parameter lists
        if name is not None or inner is None:
            break
        inner = inner.child_by_field_name("declarator")
        if inner is not None and inner.child_by_field_name("declarator") is None:
            name = inner
    if name is None:
        name = node.child_by_field_name("left") or node.child_by_field_name("key")
    if name is None and node.type == "type_declaration":  # Go
        first = node.named_child(0)
        name = first.child_by_field_name("name") if first else None
    return " ".join(_text(source, name.start_byte, name.end_byte).split()) if name is not None else ""
