"""Servers that a rare word of the query names come before what is about something else."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from watersmeet.core import tokens
from watersmeet.core.boosts import place_names, singular, text_words
from watersmeet.core.entities import SERVER
from watersmeet.core.model import DocId, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import DocumentHead, Entities, Mention
from watersmeet.core.rare_words import rare_mentions

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class NamedFirst:
    """A stage that raises servers that the query names, and what is about them, above the rest.

    In "create a jira ticket" the word `jira` is rare and names a server that lists no tools, so a tool that is about
    something else is not the answer, even if an example in its description mentions the word. Tools and servers are
    about the words in the first sentence of their descriptions. If a named server lists tools, nothing changes: these
    contain its name, and are ranked by it.

    A word names a server whose path or name has it. If there is none, it names servers with that tag whose descriptions
    write it with a capital, as names are written: many tags are plain words, such as `sales`.
    """

    entities: Entities
    share: float = option(0.5, "highest score of a hit without the name, as a share of the best named server's")
    rare_share: float = option(0.02, "a word is rare if at most this share of the servers mention it")
    rare_always: int = option(5, "... or at most this many")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        names = self._names(plan) if ranking.hits else {}
        if not names:
            return ranking
        leads = self.entities.heads([hit.chunk for hit in ranking.hits])
        shown = [leads[hit.chunk] for hit in ranking.hits]
        names = {word: servers for word, servers in names.items() if not _names_a_tool(word, shown)}
        named = frozenset[DocId]().union(*names.values())
        best = next((hit.score for hit in ranking.hits if leads[hit.chunk].document in named), None)
        if best is None:
            return ranking
        about = named | self._about(shown, names)
        other = next((hit.score for hit in ranking.hits if leads[hit.chunk].document not in about), 0.0)
        gain = max(0.0, other / self.share - best)
        return ranking.raised("named_first", {h.chunk: gain for h in ranking.hits if leads[h.chunk].document in about})

    def _names(self, plan: Plan) -> dict[str, frozenset[DocId]]:
        """Rare words of the query that name servers, each with the servers that it names."""
        rare = rare_mentions(self.entities, plan, (SERVER,), self.rare_share, self.rare_always)
        names = {word: self._named(word, mentions) for word, mentions in rare.items()}
        return {word: servers for word, servers in names.items() if servers}

    def _named(self, word: str, mentions: Sequence[Mention]) -> frozenset[DocId]:
        leads = self.entities.heads([mention.chunk for mention in mentions])
        places = {leads[mention.chunk].document: place_names(mention.places) for mention in mentions}
        named = [name for name, found in places.items() if "path" in found or "name" in found]
        tagged = [name for name, found in places.items() if "tags" in found] if not named else []
        entities = self.entities.entities([*named, *tagged])
        if tagged:
            entities = {name: one for name, one in entities.items() if _is_capitalised(word, one.description)}
        return frozenset(entities) if not any(entity.tools for entity in entities.values()) else frozenset()

    def _about(self, leads: Sequence[DocumentHead], words: Collection[str]) -> set[DocId]:
        """Tools and servers whose description mentions one of the words in its first sentence."""
        entities = self.entities.entities({lead.server or lead.document for lead in leads})
        descriptions = {name: entity.description for name, entity in entities.items()}
        for name, entity in entities.items():
            descriptions |= {DocId(f"{name}#{tool.name}"): tool.description for tool in entity.tools}
        return {
            lead.document
            for lead in leads
            if not text_words(_first_sentence(descriptions.get(lead.document, ""))).isdisjoint(words)
        }


def _names_a_tool(word: str, leads: Sequence[DocumentHead]) -> bool:
    tools = (lead.document.removeprefix(lead.server) for lead in leads if lead.server)
    return any(word in text_words(tool) for tool in tools)


def _is_capitalised(word: str, text: str) -> bool:
    """Whether the text writes the word with a capital, other than at the beginning of a sentence."""
    for sentence in _SENTENCE_END.split(text):
        for surface in tokens.surfaces(sentence)[1:]:
            if surface[0].isupper() and singular(surface.lower()) == word:
                return True
    return False


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
