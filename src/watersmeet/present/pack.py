"""Context packs: the best passages with citations, within a token budget.

A passage is a heading, `### [n] title (document:first-last)`, or with another place, `(document p. 3)`, and below it
the document's text, every line quoted with `>`. So a document's line is never mistaken for a heading, whatever it
contains: its first character is `>`. `unpack` relies on that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from watersmeet.core.bidi import one_line
from watersmeet.core.model import ChunkId, Passage, Result
from watersmeet.core.place import Place, located
from watersmeet.core.token_count import estimate
from watersmeet.core.token_count import hundredths as cost_of
from watersmeet.present.answer import breadcrumb

MIN_CUT_TOKENS = 40
"""A passage that does not fit is cut only if at least so many tokens remain."""

_BOUNDARY = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SPACE = re.compile(r"\s+")
_MARKER = re.compile(r"(?:[-*+•]|\(?(?:\d{1,4}|[A-Za-z])[.)]|#{1,6})?(?:[ \t]*\[[ xX]\])?")
"""A list number or bullet alone on a line, whose item was cut off; without its margins."""
_MAX_TITLE_LENGTH = 160
_AMBIGUOUS = re.compile(r'[()\[\]"\\]|:\d+-\d+| (?:p\. \d|slide \d|sheet )|#|^\s|\s$')
"""Characters of a document name that would make a citation ambiguous."""
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\()[]"})
_HEAD = re.compile(
    r"### \[(?P<number>\d+)\](?: (?P<title>(?:[^\\()\[\]]|\\.)+))? "
    r'\((?:(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<plain>[^()\[\]"\\]*?))'
    r"(?: (?P<spot>(?:p\.|slide|sheet) (?:[^\\()\[\]]|\\.)+)|(?P<place>:\d+-\d+|#(?:[^\\()\[\]]|\\.)+))?\)"
)


Citable = Passage | Result
"""A passage that a pack can quote."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Citation of a passage in a pack; `cut` if only its beginning fitted."""

    id: ChunkId
    document: str
    place: Place
    cut: bool
    title: str = ""
    headings: tuple[str, ...] = ()
    path: str = ""
    tokens: int = 0

    @property
    def lines(self) -> tuple[int, int] | None:
        return self.place.lines

    def to_json(self, brief: bool = False) -> dict[str, Any]:
        brief_fields = {"id": self.id, "document": self.document, **self.place.to_json(), "cut": self.cut}
        if brief:
            return brief_fields
        rest = {"title": self.title, "headings": list(self.headings), "path": self.path, "tokens": self.tokens}
        return {**brief_fields, **rest}


@dataclass(frozen=True, slots=True)
class Pack:
    """A context pack: its text, the token count of the text, the budget, the citations, and about how many tokens the
    whole documents have that the passages are from."""

    text: str
    tokens: int
    budget: int
    citations: tuple[Citation, ...]
    document_tokens: int = 0

    @property
    def saved_tokens(self) -> int:
        """About how many tokens fewer the pack has than the documents that it is from."""
        return max(0, self.document_tokens - self.tokens)

    def to_json(self, brief: bool = False) -> dict[str, Any]:
        return {
            "text": self.text,
            "tokens": self.tokens,
            "budget": self.budget,
            "document_tokens": self.document_tokens,
            "saved_tokens": self.saved_tokens,
            "citations": [citation.to_json(brief) for citation in self.citations],
        }

    def beside(self, document_bytes: int) -> Pack:
        """This pack beside whole documents of so many bytes, taken to have as many tokens a byte as the pack has."""
        size = len(self.text.encode("utf8", "surrogatepass"))
        return replace(self, document_tokens=round(document_bytes * self.tokens / size)) if size else self

    def saving(self) -> str:
        """What the pack saves, in a sentence."""
        return f"{self.tokens:,} tokens of passages; the whole documents have about {self.document_tokens:,}"


@dataclass(frozen=True, slots=True)
class Part:
    """One passage of a pack: its heading, the quoted text, and its citation."""

    head: str
    quoted: str
    citation: Citation

    @property
    def text(self) -> str:
        return f"{self.head}\n\n{self.quoted}"


@dataclass(frozen=True, slots=True)
class Quoted:
    """One passage as read by `unpack`; `title` is for display and may be shortened."""

    number: int
    title: str
    document: str
    place: Place
    text: str

    @property
    def lines(self) -> tuple[int, int] | None:
        return self.place.lines


Cost = Callable[[int, Part], int]
"""Cost function of a passage in hundredths of a token, given its position among the results, from 0."""


def as_text(_: int, part: Part) -> int:
    return cost_of(part.head + "\n") + cost_of(f"\n{part.quoted}\n\n")


def pack(results: Sequence[Citable], budget: int, cost: Cost = as_text, fixed: int = 0) -> Pack:
    """Pack whole passages in rank order while they fit; the next one is cut at the end of a sentence or line.

    `fixed` is the cost of everything else that is sent, in hundredths of a token.
    """
    left = budget * 100 - fixed
    parts: list[Part] = []
    for position, result in enumerate(results):
        part = _part(position, result, _words(result))
        price = cost(position, part)
        if price > left:
            cut = _cut(position, result, left, cost, scrap=not parts)
            parts += [cut] if cut else []
            break
        parts.append(part)
        left -= price
    text = "\n\n".join(part.text for part in parts)
    return Pack(text, estimate(text), budget, tuple(part.citation for part in parts))


def least(results: Sequence[Citable], cost: Cost = as_text, fixed: int = 0) -> int:
    """Smallest budget that fits a part of the first passage."""
    low, high = 0, -(-(fixed + cost(0, _part(0, results[0], _words(results[0])))) // 100)
    while low + 1 < high:
        middle = (low + high) // 2
        if pack(results[:1], middle, cost, fixed).citations:
            high = middle
        else:
            low = middle
    return high


def nothing_packed(budget: int, needed: int) -> str:
    return f"no passage fits into {budget} tokens; the smallest budget is {needed}"


def unpack(text: str) -> list[Quoted]:
    """Passages of a pack's text: exactly those that were packed, whatever they contain."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(">") and found:
            found[-1][1].append(line[2:] if line.startswith("> ") else line[1:])
        elif head := _HEAD.fullmatch(line.removesuffix("\n")):
            found.append((head, []))
        elif line != "\n":
            raise ValueError(f"neither a heading nor quoted: {line!r}")
    return [_quoted(head, "".join(lines).removesuffix("\n")) for head, lines in found]


def _quoted(head: re.Match[str], text: str) -> Quoted:
    document = json.loads(head["quoted"]) if head["quoted"] else head["plain"]
    title = _unescaped(head["title"] or "")
    place = Place.read(_unescaped(head["spot"] or head["place"] or ""))
    return Quoted(int(head["number"]), title, document, place, text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _words(result: Citable) -> str:
    return result.text.strip("\n").rstrip()


def _part(position: int, result: Citable, body: str, cut: bool = False) -> Part:
    place = _place_of(body, result) if cut else result.place
    head = " ".join(filter(None, (f"### [{position + 1}]", _title(result), f"({_named(result.document, place)})")))
    quoted = _block_quote(body)
    tokens = -(-(cost_of(head + "\n") + cost_of(f"\n{quoted}\n\n")) // 100)
    cited = Citation(result.id, result.document, place, cut, result.title, result.headings, result.path, tokens)
    return Part(head, quoted, cited)


def _block_quote(body: str) -> str:
    """Text with every line quoted by `>`, whatever its line break."""
    return "".join(f"> {line}" if line.strip("\r\n") else f">{line}" for line in body.splitlines(True)) or ">"


def _title(result: Citable) -> str:
    crumb = one_line(breadcrumb(result))
    if len(crumb) > _MAX_TITLE_LENGTH:
        crumb = crumb[: _MAX_TITLE_LENGTH - 1].rstrip() + "…"
    return crumb.translate(_ESCAPES)


def _named(document: str, place: Place) -> str:
    """Citation name; an ambiguous document name is quoted with JSON escapes."""
    shown = document.isprintable()
    if not shown or _AMBIGUOUS.search(document):
        document = json.dumps(document, ensure_ascii=not shown)
    return located(document, place.extent.translate(_ESCAPES))


def _cut(position: int, result: Citable, left: int, cost: Cost, scrap: bool) -> Part | None:
    """The part of a passage that fits, up to a sentence or a line; with `scrap` (the first passage), up to a word."""
    body = _words(result)
    for boundary in (_BOUNDARY, _SPACE) if scrap else (_BOUNDARY,):
        ends = [match.start() for match in boundary.finditer(body) if match.start()]
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high + 1) // 2
            if cost(position, _part(position, result, body[: ends[middle - 1]].rstrip(), cut=True)) <= left:
                low = middle
            else:
                high = middle - 1
        beginning = _without_marker(body[: ends[low - 1]].rstrip()) if low else ""
        if beginning and (scrap or cost_of(beginning) >= MIN_CUT_TOKENS * 100):
            return _part(position, result, beginning, cut=True)
    return None


def _without_marker(text: str) -> str:
    """Text without a list number or bullet at the end, whose item was cut off."""
    while text:
        before, _, last = text.rpartition("\n")
        if not _MARKER.fullmatch(last.strip(" \t").lstrip(" \t>")):
            break
        text = before.rstrip()
    return text


def _place_of(body: str, result: Citable) -> Place:
    """Place of a cut passage: only the remaining lines, if the passage has the source's lines one for one."""
    if result.lines is None or result.text.count("\n") != result.lines[1] - result.lines[0]:
        return result.place
    first, last = result.lines
    return replace(result.place, lines=(first, min(last, first + body.count("\n"))))
