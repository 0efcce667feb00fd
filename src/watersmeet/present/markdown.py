"""Answers as Markdown, to paste into an issue, a note or a chat."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.core.model import Answer, Result
from watersmeet.core.place import located
from watersmeet.present.answer import breadcrumb, breakdown, explain_line
from watersmeet.present.snippet import fenced, snippet

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
    found = snippet(result.text, query, kind=result.kind)
    return "\n".join([*lines, *(["", *fenced(found, "text")] if found else [])])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _plain(text: str) -> str:
    return " ".join(text.split()).translate(_ESCAPES)


def _code(text: str) -> str:
    return f"`{text}`" if "`" not in text else f"`` {text} ``"
