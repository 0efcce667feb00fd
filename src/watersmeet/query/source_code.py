"""Weight of words where the corpus is source code: there they count less, and vectors more.

People ask for code in words that it does not contain ("python check if iterable"), while keywords and common names are
in all of it. The rule needs no labels: it reads a sample of the chunks that the request may find.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Protocol

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Condition, Plan
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader
from watersmeet.core.vectors import VectorSearch

SAMPLE = 40
"""Chunks that are read, once for each commit and once for each query with filters."""
MIN_LINES = 3
"""A chunk of fewer lines is not taken for code: a record of a tool may have an example of a call in its only line."""
MIN_CODE_LINES = 0.4
"""Share of the lines of a chunk that must be code; the rest are comments and docstrings."""
_CODE_LINE = re.compile(
    r"[;{}()\[\]]$|[)\w]:$"  # ends as a statement or a block begins
    r"|^(?:def|class|return|import|from|use|pub|fn|impl|const|let|var|func|struct|public|private|static|raise|throw)\b"
    r"|[=!<>+]=|[-=]>|\w = |\w\.\w+\("
)


MAX_CACHED = 100
"""Answers that are kept: for a version of the index and a condition each."""


class Sampled(PassageReader, Protocol):
    """A snapshot: passages, and a random but repeatable sample of them."""

    @property
    def version(self) -> object: ...
    def sample(self, most: int, visible: Condition = ..., *, outside: bool = ...) -> list[ChunkId]: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SourceCode:
    """A query step that lowers the weight of `lexical` if most of the chunks are source code."""

    view: Sampled | None = None
    static: VectorSearch | None = None  # passed if vectors vote: without them the weight of words does not matter
    factor: float = option(0.667, "factor on the weight of `lexical` where the corpus is source code")
    min_share: float = option(0.5, "share of the chunks that must be source code")
    _cached: dict[object, bool] = field(default_factory=dict, init=False)

    def apply(self, plan: Plan) -> Plan:
        if self.view is None or self.static is None or not plan.words or not self._is_code(self.view, plan.condition):
            return plan
        return replace(plan, factors={**plan.factors, "lexical": self.factor})

    def _is_code(self, view: Sampled, condition: Condition) -> bool:
        key = (view.version, repr(condition))
        found = self._cached.get(key)
        if found is None:
            found = self._most_are_code(view, condition)
            if len(self._cached) >= MAX_CACHED:
                self._cached.clear()
            self._cached[key] = found
        return found

    def _most_are_code(self, view: Sampled, condition: Condition) -> bool:
        passages = view.passages(view.sample(SAMPLE, condition)).values()
        return sum(is_source_code(passage.text) for passage in passages) >= self.min_share * max(1, len(passages))


def is_source_code(text: str) -> bool:
    """Whether enough lines of a text are those of a program."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    code = sum(_CODE_LINE.search(line) is not None for line in lines)
    return len(lines) >= MIN_LINES and code >= MIN_CODE_LINES * len(lines)
