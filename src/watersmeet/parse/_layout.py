"""Definitions of a source file by its layout: for languages without a grammar, and where none is installed.

A definition begins with a line such as `class Name` or `int name(...) {`, and ends before the next line that is
indented as little, except for what closes it.
"""

from __future__ import annotations

import re

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.parse._definitions import MAX_DEFINITIONS, MAX_NAME_LENGTH, MAX_SIGNATURE_LENGTH, Definition, Outline

_WORDS = (
    "export|default|public|private|protected|internal|static|async|abstract|final|virtual|override|pub|inline|local"
    "|unsafe|extern|const|open|data|sealed|partial|suspend|declare|case|typedef"
)
_CONTAINERS = "class|interface|trait|object|module|namespace|impl|protocol|extension|defmodule|contract|library"
_FUNCTIONS = (
    "def|defp|defmacro|defn|defun|function|func|fun|fn|sub|procedure|proc|macro|struct|enum|union|record|type|message"
    "|service|rpc|resource|variable|let|task|test|program|subroutine"
)
_KEYWORD = re.compile(
    rf"\(?(?:(?:{_WORDS})\b[ \t]*){{0,6}}(?P<word>{_CONTAINERS}|{_FUNCTIONS})\b[ \t*]*"
    r"(?:\([^()]{1,80}\)[ \t]*)?(?P<name>[\w$.:\"'!?-]{1,80})"
)
_ASSIGNED = re.compile(
    r"(?:(?:export|const|let|var|local)[ \t]+){0,3}(?P<name>[\w.$]{1,80})[ \t]*(?:<-|=|:=)[ \t]*(?:async[ \t]+)?"
    r"(?:function\b|\([^()]{0,200}\)[ \t]*=>)"
)
_SHELL = re.compile(r"(?P<name>[\w.:-]{1,80})[ \t]*\(\)[ \t]*\{")
_TYPED = re.compile(r"(?:[\w<>\[\]*&:,.?@~]{1,80}[ \t]+){1,6}[*&]{0,3}(?P<name>[\w~:]{1,80})[ \t]*\([^;]*[{),]$")
_TARGET = re.compile(r"(?P<name>[\w./%-]{1,80})[ \t]*:(?![:=])")
_CONTROL = frozenset("if for while switch return else catch new throw case do until elif unless with try using".split())
_LEAD = ("#", "//", "/*", "*", "--", "@", "[", ";;", "%", '"""')
_CLOSERS = ("}", "end", ")", "]", "{", "else", "elif", "except", "catch", "finally", "rescue")


@dataclass(slots=True)
class _Open:
    indent: int
    definition: Definition


def layout(lines: list[str], targets: bool = False) -> Outline:
    """Definitions by lines and indentation. `targets`: `name:` begins one, as in a makefile."""
    roots: list[Definition] = []
    open_: list[_Open] = []
    made = last = 0
    for row, line in enumerate(lines):
        stripped = line.strip()
        if not stripped:
            continue
        indent = len(line) - len(line.lstrip())
        closing = stripped.startswith(_CLOSERS)
        while open_ and (open_[-1].indent > indent or (open_[-1].indent == indent and not closing)):
            open_.pop().definition.last = last
        if open_ and open_[-1].indent == indent and stripped.startswith(("}", "end")):
            open_.pop().definition.last = row
        last = row
        found = None if closing else _definition(stripped, row, targets and not indent)
        if found is None or made >= MAX_DEFINITIONS:
            continue
        made += 1
        before = open_[-1].definition.children if open_ else roots
        found.first = _with_lead(lines, row, before[-1].last + 1 if before else 0)
        before.append(found)
        open_.append(_Open(indent, found))
    for one in open_:
        one.definition.last = last
    return Outline(roots, [], made >= MAX_DEFINITIONS)


def _definition(line: str, row: int, target: bool) -> Definition | None:
    if len(line) > 500:
        return None
    match = _KEYWORD.match(line) or _ASSIGNED.match(line) or _SHELL.match(line)
    if match is None:
        match = _TARGET.match(line) if target else _TYPED.match(line)
        if match is None or line.partition(" ")[0].partition("(")[0] in _CONTROL:
            return None
    words = match.groupdict()
    signature = line.rstrip("{:=( \t")[:MAX_SIGNATURE_LENGTH] or line[:MAX_SIGNATURE_LENGTH]
    container = (words.get("word") or "") in _CONTAINERS.split("|")
    return Definition(row, row, words["name"][:MAX_NAME_LENGTH], signature, container)


def _with_lead(lines: list[str], row: int, least: int) -> int:
    """The first of the comment and attribute lines directly above a row."""
    while row > least and lines[row - 1].lstrip().startswith(_LEAD):
        row -= 1
    return row
