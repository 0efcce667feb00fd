"""llms.txt, which names the pages of a site, and llms-full.txt, which holds their text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

FULL = "llms-full.txt"
LIST = "llms.txt"
MAX_PARTS = 20_000
MAX_NAME = 100
_LINK = re.compile(r"\]\(\s{0,9}<?(https?://[^\s()<>]{1,2000}|[^\s()<>:]{1,2000})>?(?:\s[^()\n]{0,300})?\)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SOURCE = re.compile(r"(?:source|url): {0,9}<?(https?://[^\s<>]{1,2000})", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[^\w]+")
_HEAD_LINES = 6


def links_of_list(text: str) -> list[str]:
    """Addresses that a llms.txt names, in its order."""
    return list(dict.fromkeys(match[1] for match in _LINK.finditer(text)))


@dataclass(frozen=True, slots=True)
class Part:
    """A page of a llms-full.txt: what is below one of its top headings."""

    anchor: str  # of its heading; empty for text before the first one
    text: str
    source: str = ""  # address of the page, if the part says so

    @property
    def stamp(self) -> str:
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def parts_of_full(text: str) -> list[Part]:
    """The parts of a llms-full.txt: split at headings of level 1, or of level 2 if there is only one of these."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts: dict[int, list[int]] = {1: [], 2: []}
    for number, level in _headings(lines):
        starts[level].append(number)
    top = starts[1] if len(starts[1]) > 1 or not starts[2] else sorted(starts[1] + starts[2])
    cuts = top[:MAX_PARTS]
    before = "\n".join(lines[: cuts[0] if cuts else len(lines)]).strip()
    parts = [Part("", before)] if before else []
    anchors: dict[str, int] = {}
    for begin, end in zip(cuts, [*cuts[1:], len(lines)], strict=False):
        head = lines[begin + 1 : min(begin + _HEAD_LINES, end)]
        source = next((match[1] for line in head if (match := _SOURCE.match(line))), "")
        parts.append(Part(_unique(_slug(lines[begin]), anchors), "\n".join(lines[begin:end]).strip() + "\n", source))
    return parts


def _unique(slug: str, anchors: dict[str, int]) -> str:
    """An anchor that no part before has; `anchors` counts those of each slug."""
    anchor = slug
    while anchor in anchors:
        anchors[slug] += 1
        anchor = f"{slug}-{anchors[slug]}"
    anchors[anchor] = 1
    return anchor


def _headings(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Line numbers of the headings of levels 1 and 2, outside code."""
    fence = ""
    for number, line in enumerate(lines):
        if match := _FENCE.match(line):
            if not fence:
                fence = match[1]
            elif match[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif not fence and line.startswith(("# ", "## ")):
            yield number, 1 if line[1] == " " else 2


def _slug(heading: str) -> str:
    return _NO_LETTERS.sub("-", heading.casefold()).strip("-")[:MAX_NAME] or "part"
