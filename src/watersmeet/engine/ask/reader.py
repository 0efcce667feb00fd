"""The reader of a model's reply: one statement at a time, with checked citations and without foreign links.

A statement is held back until it is complete, because a citation is checked before it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from watersmeet.core.tokens import QUESTION_WORDS, words
from watersmeet.engine.ask.checker import Checker, Evidence, Verdict
from watersmeet.engine.ask.model import Statement

MAX_STATEMENT = 4000
"""Characters after which a statement is passed on, whatever comes."""
LINK_REMOVED = "(link removed)"

MARK = re.compile(r"(?<!\\)\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?!\()")
"""A citation: [1], or [1, 2]."""
_FORGED = re.compile(r"\[(?=\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\??\s*\])")
_END = re.compile(
    r"(?:(?<![.!?])[.!?]++[\"'”’)*_`]*+(?=\s)|[。！？]|(?<=\])[.!?]*+(?=\s))"
    r"(?:\s*+\[\d{1,3}(?:\s{0,3}[,;]\s{0,3}\d{1,3}){0,20}\][.!?]?)*+\s*+(?=[^\s\[])"
    r"|(?<=\S)[ \t]{0,80}+\n\s*+(?=[^\s\[])"
)
"""The end of a statement, with the citations behind it, if something else follows. Possessive, to be quick."""
_NO_END = re.compile(
    r"(?:(?:^|\n)[ \t]{0,40}\(?\d{1,3}|\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nr|fig|dr|st)|\b[A-Z])\.$", re.I
)
_IMAGE = re.compile(r"!\[[^\[\]]{0,500}\]\([^()]{0,4000}\)?")
_LINK = re.compile(r"\[([^\[\]]{0,500})\]\(\s*<?([^()\s<>]{0,4000})>?[^()]{0,500}\)")
_TAG = re.compile(
    r"</?(?:a|img|iframe|script|form|link|area|object|embed|video|audio|source|svg)\b[^<>]{0,4000}>?", re.I
)
URL = re.compile(
    r"<?\b(?:[a-z][a-z0-9+.\-]{1,20}://|(?:mailto|javascript|data|tel|vbscript):(?=\S)|www\.)[^\s<>\"'`\])]{1,4000}>?",
    re.I,
)


def neutral(text: str) -> str:
    """Text of a document in which nothing can be taken for a citation: `[1]` becomes `\\[1]`."""
    return _FORGED.sub(r"\\[", text)


def links_of(text: str) -> frozenset[str]:
    """Addresses that a text contains: of its links, and as written."""
    found = {match[2] for match in _LINK.finditer(text)}
    return frozenset(found | {_address(match[0]) for match in URL.finditer(text)})


def without_links(text: str, allowed: frozenset[str]) -> str:
    """Text without images, and without links whose address is not allowed; what a link says stays."""
    text = _TAG.sub("", _IMAGE.sub("", text))
    text = _LINK.sub(lambda link: link[0] if link[2] in allowed else link[1], text)
    return URL.sub(lambda url: url[0] if _address(url[0]) in allowed else LINK_REMOVED, text)


def _address(written: str) -> str:
    return written.strip("<>").rstrip(".,;:!?*_")


def has_content(text: str) -> bool:
    """Whether a text says something: lead-ins such as `Yes.` do not."""
    return any(word not in QUESTION_WORDS and word not in ("yes", "sure", "ok") for word in words(text))


@dataclass(slots=True)
class AnswerReader:
    """Reads a reply in pieces; `statements` and `verdicts` are what was found so far.

    A statement without a citation gets the first passage that supports it."""

    passages: Sequence[Evidence]
    checker: Checker
    links: frozenset[str] = frozenset()
    statements: list[Statement] = field(default_factory=list)
    verdicts: dict[int, list[Verdict]] = field(default_factory=dict)
    _pending: str = ""

    def feed(self, piece: str) -> str:
        """Take a piece of the reply; returns the text that is now complete."""
        shown = []
        for start in range(0, len(piece), MAX_STATEMENT):
            self._pending += piece[start : start + MAX_STATEMENT].replace("\x00", "")
            while (end := self._end()) is not None:
                statement, self._pending = self._pending[:end], self._pending[end:]
                shown.append(self._statement(statement))
        return "".join(shown)

    def finish(self) -> str:
        """The rest, at the end of the reply."""
        rest, self._pending = self._pending, ""
        return self._statement(rest) if rest else ""

    def _end(self) -> int | None:
        """The end of the first statement, if it is complete."""
        for match in _END.finditer(self._pending):
            before = self._pending[: match.end()]
            if before.count("```") % 2 == 0 and not _NO_END.search(before.rstrip()):
                return match.end()
        if len(self._pending) > MAX_STATEMENT:
            return self._pending.rfind(" ", 0, MAX_STATEMENT) + 1 or MAX_STATEMENT
        return None

    def _statement(self, written: str) -> str:
        text = without_links(written, self.links)
        claim = " ".join(MARK.sub(" ", text).split())
        if not has_content(claim):
            return MARK.sub("", text)
        numbers = tuple(dict.fromkeys(int(n) for mark in MARK.findall(text) for n in re.findall(r"\d+", mark)))
        if not numbers:
            return self._without_citation(claim, text)
        verdicts = {n: self._check(n, claim) for n in numbers}
        reason = "" if any(one.supported for one in verdicts.values()) else verdicts[numbers[0]].reason
        self.statements.append(Statement(claim, numbers, not reason, reason))
        return MARK.sub(lambda mark: _marks(mark[1], verdicts), text)

    def _check(self, n: int, claim: str) -> Verdict:
        if 1 <= n <= len(self.passages):
            verdict = self.checker.check(claim, self.passages[n - 1])
        else:
            verdict = Verdict(False, 0.0, "", "it is not among the passages")
        self.verdicts.setdefault(n, []).append(verdict)
        return verdict

    def _without_citation(self, claim: str, text: str) -> str:
        for n, passage in enumerate(self.passages, 1):
            verdict = self.checker.check(claim, passage)
            if verdict.supported:
                self.verdicts.setdefault(n, []).append(verdict)
                self.statements.append(Statement(claim, (n,), True))
                body = text.rstrip()
                return f"{body} [{n}]{text[len(body) :]}"
        self.statements.append(Statement(claim, (), False, "it cites nothing"))
        return text


def _marks(written: str, verdicts: Mapping[int, Verdict]) -> str:
    """Citations as they are shown: [1] if the passage supports the statement, else [1?]."""
    numbers = [int(n) for n in re.findall(r"\d+", written)]
    return "".join(f"[{n}]" if verdicts[n].supported else f"[{n}?]" for n in numbers)
