"""Literal matches first: the page or section that the query names letter for letter, and a single word as written.

A longer page on the same subject shares more words with a title, and is semantically closer, than the page that has the
title; an alias is a title, too. A single word has one literal meaning: what contains it answers before what is near.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, DocId, Passage, Plan, Ranking
from watersmeet.core.names import link_key
from watersmeet.core.options import option
from watersmeet.core.passages import has_word
from watersmeet.core.ports import Aliases, PassageReader, Term, Words
from watersmeet.core.tokens import QUESTION_WORDS, is_abbreviation, is_code, surfaces
from watersmeet.core.tokens import words as words_of


class _View(PassageReader, Aliases, Protocol): ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiteralFirst:
    """A stage: first what has the query as its title or alias, or else as its heading, if few do; then, for a single
    word, what contains it as written; then with another ending."""

    words: Words
    view: _View
    depth: int = option(20, "hits whose titles and headings are read")
    max_words: int = option(10, "a longer query is not compared with titles")
    max_documents: int = option(3, "a title, alias or heading of more documents than this is too common to decide")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if not ranking.hits or (plan.only and "lexical" not in plan.only):
            return ranking
        query = _letters(plan.text)
        gains, notes = self._word(ranking, plan.text)
        best = ranking.hits[0].score
        if 0 < len(query) <= self.max_words:
            found, name = self._named(ranking, plan, query, gains)
            for chunk in found:
                gains[chunk] = 3 * best
                notes[chunk] = {"matches": name}
        return ranking.raised("literal_first", gains, notes)

    def _named(
        self, ranking: Ranking, plan: Plan, query: list[str], matching: Collection[ChunkId]
    ) -> tuple[list[ChunkId], str]:
        """Chunks whose title, alias or heading is the query, of a page its first passage, and which of these it is."""
        first = sorted(ranking.hits, key=lambda hit: hit.chunk not in matching)[: self.depth]
        passages = self.view.passages([hit.chunk for hit in first])
        pages: dict[str, ChunkId] = {}
        sections: dict[str, ChunkId] = {}
        for hit in first:
            passage = passages.get(hit.chunk)
            if passage is None:
                continue
            if _letters(passage.title) == query:
                if passage.document not in pages or _start(passage) < _start(passages[pages[passage.document]]):
                    pages[passage.document] = hit.chunk
            elif _has_heading(passage, query):
                sections.setdefault(passage.document, hit.chunk)
        aliased = {} if pages else self._aliased(ranking, plan)
        found = pages or {document: sections.get(document, start) for document, start in aliased.items()} or sections
        name = "alias" if aliased else "title or heading"
        return (list(found.values()), name) if len(found) <= self.max_documents else ([], "")

    def _aliased(self, ranking: Ranking, plan: Plan) -> dict[DocId, ChunkId]:
        """Documents with the query as an alias, each with its first passage among the hits."""
        key = link_key(DocId(""), plan.text, "wiki")
        passages = self.view.passages(self.view.aliased(key, [hit.chunk for hit in ranking.hits]))
        return {one.document: one.id for one in sorted(passages.values(), key=_start, reverse=True)}

    def _word(self, ranking: Ranking, text: str) -> tuple[dict[ChunkId, float], dict[ChunkId, dict[str, str]]]:
        """Gains of the chunks that contain the only word of the query."""
        content = [surface for surface in surfaces(text) if surface.lower() not in QUESTION_WORDS]
        query = words_of(content[0]) if len(content) == 1 and not _is_identifier(content[0]) else []
        if len(query) != 1 or not self.words.frequency("body", query[0]):
            return {}, {}
        best = ranking.hits[0].score
        matching = self.words.score([Term("body", query[0])], [hit.chunk for hit in ranking.hits]).keys()
        passages = self.view.passages(matching)
        gains, notes = {}, {}
        for chunk in matching:
            written = chunk in passages and has_word(passages[chunk], query[0])
            gains[chunk] = 2 * best if written else best
            notes[chunk] = {"word": content[0]}
        return gains, notes


def _has_heading(passage: Passage, words: list[str]) -> bool:
    """Whether the last heading, or that of a short section joined to the passage, has exactly these words."""
    own = passage.headings[-1:]
    joined = [line for line in passage.text.split("\n") if line.startswith("#")] if "#" in passage.text else []
    return any(_letters(heading) == words for heading in (*own, *joined))


def _letters(text: str) -> list[str]:
    """Tokens of a text as written, in any case: `_open` is not `open`."""
    return [surface.casefold() for surface in surfaces(text)]


def _is_identifier(surface: str) -> bool:
    """Whether the exact signal decides about the token."""
    return is_code(surface) and not is_abbreviation(surface)


def _start(passage: Passage) -> tuple[int, int]:
    """Order of passages in a page: by depth of the heading, then by line."""
    return len(passage.headings), passage.lines[0] if passage.lines else 0
