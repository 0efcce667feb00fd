"""Tools of the servers found, if they match the query themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from watersmeet.core.boosts import grade_tools, place_score, query_words
from watersmeet.core.entities import SERVER, TOOL, Tool
from watersmeet.core.model import DocId, Evidence, Hit, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Entities


@dataclass(frozen=True, slots=True)
class Tools:
    """A stage that scores tools by the words in their own name and description, not by their server.

    Tools of a server that is not among the first hits are left out, and so are tools that match no word. If the request
    excludes tools, nothing changes.

    With `shared_scale` a score means the same for a tool as for an entity: it is that of the signals, if they rank
    tools. If they do not, name and description count as in the boost of an entity, as a share of a full match.
    """

    entities: Entities
    share: float = option(0.6, "most tools, as a share of the requested results")
    min_tools: int = option(3, "... or this many, if that is more")
    shared_scale: bool = option(False, "scores of tools on the scale of the other entities")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if plan.kinds and TOOL not in plan.kinds:
            return ranking
        leads = self.entities.heads([hit.chunk for hit in ranking.hits])
        rest = [hit for hit in ranking.hits if leads[hit.chunk].kind != TOOL]
        tool_hits = {leads[hit.chunk].document: hit for hit in ranking.hits if leads[hit.chunk].kind == TOOL}
        first = [leads[hit.chunk] for hit in rest[: plan.top_n]]
        servers = [lead.document for lead in first if lead.kind == SERVER]
        words, most = query_words(plan.text), max(self.min_tools, math.ceil(plan.top_n * self.share))
        found: dict[DocId, tuple[float, float, DocId]] = {}
        for server, tools in self._tools_of(servers, tool_hits).items() if words else ():
            for tool, grade in grade_tools(tools, words, len(tools) if self.shared_scale else most):
                name = DocId(f"{server}#{tool.name}")
                score = self._shared(tool, words, tool_hits.get(name), bool(tool_hits)) if self.shared_scale else grade
                if score is not None:
                    found[name] = (score, grade, server)
        order = {server: place for place, server in enumerate(servers)}
        best = sorted(found, key=lambda n: (-found[n][0], -found[n][1], order[found[n][2]], n))[:most]
        chunks = self.entities.first_chunks(best, plan.condition)
        hits = [
            tool_hits.get(name, Hit(chunks[name], 0.0))._replace(score=found[name][0])
            for name in best
            if name in chunks
        ]
        servers_of = {chunks[name]: found[name][2] for name in chunks}
        ordered = sorted([*rest, *hits], key=lambda hit: -hit.score)
        for place, hit in enumerate(ordered):
            if hit.chunk in servers_of:
                evidence = Evidence("tools", place + 1, hit.score, {"server": servers_of[hit.chunk]})
                ordered[place] = hit._replace(evidence=(*hit.evidence, evidence))
        return Ranking("tools", tuple(ordered))

    def _tools_of(self, servers: Sequence[DocId], ranked: Iterable[DocId]) -> dict[DocId, Sequence[Tool]]:
        """The tools that each server lists, and ranked ones that it does not, since not all may see them."""
        tools: dict[DocId, list[Tool]] = {
            server: list(entity.tools) for server, entity in self.entities.entities(servers).items()
        }
        listed = {f"{server}#{tool.name}" for server, own in tools.items() for tool in own}
        unlisted = [name for name in ranked if name not in listed and name.partition("#")[0] in tools]
        for name, found in self.entities.records(unlisted).items() if unlisted else ():
            tools[DocId(name.partition("#")[0])].append(Tool(found["name"], found.get("description", "")))
        return {server: tuple(own) for server, own in tools.items()}

    @staticmethod
    def _shared(tool: Tool, words: Sequence[str], hit: Hit | None, ranked: bool) -> float | None:
        """Score of a tool on the scale of the other entities; None if the signals rank tools and not this one."""
        if ranked:
            return hit.score if hit else None
        return place_score(tool, words)
