"""Answers as Markdown, to paste into an issue, a note or a chat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from watersmeet.core.model import Answer, Result
from watersmeet.core.place import located
from watersmeet.present.answer import breadcrumb, breakdown, explain_line
from watersmeet.present.snippet import snippet

_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<"})


def markdown(answer: Answer, explain: bool = False) -> str:
    parts = [_result(number, result, answer.query, explain) for number, result in enumerate(answer.results, 1)]
    return "\n\n".join(parts)


def _result(number: int, result: Result, query: str, explain: bool) -> str:
    lines = [
        f"### {number}. {_plain(breadcrumb(result))}",
        "",
        f"{_code(located(result.path, result.place.extent))}, score {result.score:.3f}",
    ]
    if explain:
        ranks = explain_line(result).partition("]")[0].lstrip("[")
        lines += ["", *(f"- {_plain(text)}" for text in (ranks, *breakdown(result)) if text)]
    return "\n".join([*lines, "", *_fenced(snippet(result.text, query))]).rstrip()


def _fenced(found: list[str]) -> list[str]:
    """Code fence around source lines: they may be part of a table or of a program."""
    if not found:
        return []
    fence = "`" * max(3, 1 + max((len(run) for line in found for run in re.findall("`+", line)), default=0))
    return [f"{fence}text", *found, fence]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _plain(text: str) -> str:
    return " ".join(text.split()).translate(_ESCAPES)


def _code(text: str) -> str:
    return f"`{text}`" if "`" not in text else f"`` {text} ``"
