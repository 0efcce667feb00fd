"""Questions made from doc comments: the first sentence is the question, and the function, without it, the answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from watersmeet.parse._definitions import Definition, outline
from watersmeet.parse._languages import Language, language_of

MIN_WORDS, MAX_WORDS = 4, 40
_COMMENT = ("//", "/*", "*", "#")
_ATTRIBUTE = ("@", "#[", "[")
_MARKS = re.compile(r"^(?:/\*+!?|\*+/|\*+|//[/!]?|#+)|\*/$")
_TAG = re.compile(r"<[^<>\n]{1,60}>|\{@\w+ |[{}`*]")
_NO_TEXT = re.compile(r"@\w|:param|Args:|Parameters|- Parameter|>>>|#")
_SENTENCE = re.compile(r"[.!?:](?:\s|$)")
_NOT_ASKED = re.compile(r"(?i)test|spec|example|bench|sample|vendor")


class Question(NamedTuple):
    """A question; the answer is the passage with this line (from 1) of this file."""

    text: str
    file: str
    line: int


class _Documented(NamedTuple):
    name: str
    doc: range  # rows from 0
    row: int  # of the signature
    text: str


def make(source: Path, target: Path, most: int, seed: int = 0) -> list[Question]:
    """Copy the code of a repository without the doc comments of its functions; a sample of the questions."""
    questions: list[Question] = []
    for path in sorted(source.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        text = path.read_bytes().decode("utf8", "replace").replace("\r\n", "\n")
        language = language_of(path.name, text)
        if language is None or language.grammar is None or len(text) > 1_000_000:
            continue
        file = path.relative_to(source).as_posix()
        lines = text.split("\n")
        found = sorted(_documented(language, text, lines), key=lambda one: one.row)
        dropped = {row for one in found for row in one.doc}
        kept = [line for row, line in enumerate(lines) if row not in dropped]
        copy = target / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("\n".join(kept), "utf8")
        if not _NOT_ASKED.search(file):
            for one in found:
                sentence = _sentence(one)
                if sentence:
                    row = one.row - sum(1 for row in dropped if row < one.row)
                    questions.append(Question(sentence, file, row + 1))
    single = {one.text: one for one in questions if sum(other.text == one.text for other in questions) == 1}
    chosen = list(single.values())
    Random(seed).shuffle(chosen)  # noqa: S311 - to be repeatable
    return chosen[:most]


def _documented(language: Language, text: str, lines: list[str]) -> Iterator[_Documented]:
    if language.name == "python":
        yield from _python(text)
        return
    read = outline(language, text, lines)
    pending = list(read.definitions) if read else []
    while pending:
        one = pending.pop()
        pending += one.children
        if not one.container and "(" in one.signature:
            row = _end_of_comment(lines, one)
            if row > one.first:
                start = row
                while start <= one.last and lines[start].strip().startswith(_ATTRIBUTE):
                    start += 1
                yield _Documented(one.name, range(one.first, row), start, "\n".join(lines[one.first : row]))


def _end_of_comment(lines: list[str], one: Definition) -> int:
    row, inside = one.first, False
    while row < one.last:
        line = lines[row].strip()
        if not inside and (not line.startswith(_COMMENT) or line.startswith("#[")):
            break
        inside = (inside or line.startswith("/*")) and "*/" not in line
        row += 1
    return row


def _python(text: str) -> Iterator[_Documented]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or len(node.body) < 2:
            continue
        doc = ast.get_docstring(node)
        if doc:
            first = node.body[0]
            rows = range(first.lineno - 1, first.end_lineno or first.lineno)
            yield _Documented(node.name, rows, node.lineno - 1, doc)


def _sentence(one: _Documented) -> str:
    """The first sentence, without marks; empty if it is no question of ours."""
    words: list[str] = []
    for line in one.text.split("\n"):
        plain = _TAG.sub("", _MARKS.sub("", line.strip()).strip()).strip()
        if _NO_TEXT.match(plain) or (not plain and words):
            break
        words += plain.split()
    name = one.name.rpartition(".")[2].rpartition("::")[2]
    if words and words[0] == name:
        del words[0]
    sentence = _SENTENCE.split(" ".join(words), maxsplit=1)[0].strip()
    if not MIN_WORDS <= len(sentence.split()) <= MAX_WORDS or re.search(rf"\b{re.escape(name)}\b", sentence):
        return ""
    return sentence
