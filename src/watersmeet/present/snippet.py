"""Snippets: the part of a passage that matches the query best, from the beginning of a sentence, list item or line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from watersmeet.common.stems import stems as stems_of
from watersmeet.core.tokens import QUESTION_WORDS, words
from watersmeet.present.plain_text import CODE, HEAD, HEADING, ITEM, ROW, TEXT, Unit, escaped, own_line, units

LINES = 3
WIDTH = 160
MAX_UNITS = 8
"""Sentences, items and lines of code in a snippet, at most."""


def snippet(text: str, query: str, width: int = WIDTH, lines: int = LINES, kind: str = "") -> list[str]:
    """The plain text of the excerpt for a query: up to `lines` lines of at most `width` characters.

    `kind`: that of the document; source code is shown as it is."""
    stems = _query_stems(query)
    shown: list[str] = []
    for _, same in groupby(_window(text, stems, lines * width, lines, kind), key=own_line):
        part = list(same)
        room = lines - len(shown)
        if room <= 0:
            break
        if part[0].kind == CODE:
            shown.append(cut(part[0].plain, stems, width))
        else:
            margin = 0 if part[0].kind != ITEM else part[0].plain.index(" ") + 1
            shown += _wrapped(" ".join(unit.plain for unit in part), stems, width, room, " " * margin)
    return shown


def excerpt(text: str, query: str, room: int = LINES * WIDTH, kind: str = "") -> str:
    """The part of a passage that matches the query best, as Markdown that can be rendered by itself: about `room`
    characters in whole sentences, items, rows and lines of code. The text is as untrusted as the passage."""
    stems = _query_stems(query)
    made, before = "", ""
    for (_, form), same in groupby(_window(text, stems, room, LINES, kind), key=lambda unit: (unit.block, _form(unit))):
        group = list(same)
        if form == CODE:
            part = "\n".join(fenced([unit.source for unit in group], group[0].before))
        elif form == ROW:
            part = "\n".join([group[0].before, *(unit.source for unit in group if unit.kind == ROW)]).strip()
        else:
            part = " ".join(_short_source(unit, stems, room) for unit in group)
        between = "\n" if before == group[0].kind == ITEM else "\n\n"
        made, before = made + between + part, group[0].kind
    return made.strip("\n")


def fenced(lines: Sequence[str], language: str = "") -> list[str]:
    """Lines in a code fence that is longer than any in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language.replace('`', '')}", *lines, fence]


def _window(text: str, stems: set[str], room: int, blocks: int, kind: str) -> list[Unit]:
    """The consecutive units that share most with the query.

    Of equally good ones it is the one whose first unit shares most, then one that begins a block, then the first. A
    heading without a match is left out: what stands below it is shown instead.
    """
    found = units(text, kind)
    shared = [stems & _stems(words(unit.plain)) for unit in found]
    kept = [at for at, unit in enumerate(found) if unit.kind not in (HEADING, HEAD) or shared[at]]
    kept = kept or list(range(len(found)))
    found, shared = [found[at] for at in kept], [shared[at] for at in kept]
    best: tuple[int, ...] = ()
    start = end = 0
    for at in range(len(found) if any(shared) else min(1, len(found))):
        after = _reach(found, at, room, blocks)
        begins = at == 0 or found[at].block != found[at - 1].block or found[at].kind == CODE
        rank = (len(set().union(*shared[at:after])), len(shared[at]), begins)
        if rank > best:
            best, start, end = rank, at, after
    while 0 < start < len(found) == end and found[start].kind == found[start - 1].kind != TEXT:
        if _reach(found, start - 1, room, blocks) < end:
            break
        start -= 1  # code and lists are read with the lines before, if there is room
    window = found[start:end]
    while len(window) > 1 and window[-1].kind in (HEADING, HEAD):
        window.pop()
    return window


def _reach(found: Sequence[Unit], start: int, room: int, blocks: int) -> int:
    """End of the units that fit from here on: one at least, and no more than `blocks` lines of their own."""
    used, lines, at = 0, 0, start
    while at < min(len(found), start + MAX_UNITS):
        lines += at == start or own_line(found[at]) != own_line(found[at - 1])
        if at > start and (lines > blocks or used >= room * 2 // 3):
            break
        used += len(found[at].plain) + 1
        at += 1
    return at


def _form(unit: Unit) -> str:
    return ROW if unit.kind == HEAD else TEXT if unit.kind == ITEM else unit.kind


def _short_source(unit: Unit, stems: set[str], room: int) -> str:
    """The source of a unit; of one that is much too long, the plain text around the match."""
    return unit.source if len(unit.plain) <= 2 * room else escaped(cut(unit.plain, stems, room))


def _wrapped(text: str, stems: set[str], width: int, most: int, margin: str) -> list[str]:
    """A text in lines of `width`, cut to `most` of them around the first match; `margin`: of the lines after the
    first."""
    whole = cut(text, stems, width * most)
    lines = _lines(whole, width, margin)
    if len(lines) <= most:
        return lines
    rest = " ".join(line.strip() for line in lines[most - 1 :])
    return [*lines[: most - 1], cut((margin if most > 1 else "") + rest, set(), width)]


def _lines(text: str, width: int, margin: str) -> list[str]:
    """A text in lines, broken between words; a word that is too long is broken too. `textwrap` is slow to import."""
    lines = [""]
    for word in text.split():
        while word:
            room = width - len(lines[-1]) - (not lines[-1].isspace() and bool(lines[-1]))
            if len(word) <= room:
                lines[-1] += f" {word}" if lines[-1].strip() else word
                word = ""
            elif lines[-1].strip():
                lines.append(margin)
            else:
                lines[-1] += word[:room]
                word = word[room:]
                lines += [margin] if word else []
    return lines


def _query_stems(query: str) -> set[str]:
    return _stems(word for word in words(query) if word not in QUESTION_WORDS)


def _stems(found: Iterable[str]) -> set[str]:
    """Stems of words."""
    return set(stems_of(list(found)))


def cut(line: str, stems: set[str], width: int) -> str:
    """A long line cut to `width` around the first matching word, between words if possible."""
    line = line.rstrip().expandtabs(4)
    if len(line) <= width:
        return line
    low = line.casefold()
    starts = (low.find(stem.removesuffix("i")) for stem in stems)  # easi is the stem of easy
    first = min((at for at in starts if at >= 0), default=0)
    start = 0
    if first > width * 2 // 3:
        start = min(first - width // 3, len(line) - width + 2)
        start = line.find(" ", start, first) + 1 or start
    room = width - 2 * (start > 0)
    if len(line) - start <= room:
        return f"… {line[start:]}"
    end = start + room - 2
    end = max(line.rfind(" ", start + room // 2, end + 1), 0) or end
    return ("… " if start else "") + line[start:end].rstrip() + " …"
