"""The tools of the servers that were found, as far as they answer to the query themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from watersmeet.core.boosts import grade_tools, query_words
from watersmeet.core.entities import SERVER, TOOL
from watersmeet.core.model import DocId, Evidence, Hit, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Entities


@dataclass(frozen=True, slots=True)
class Tools:
    """A tool's score is its own, by the words in its name and description: it inherits nothing from its server.

    Tools of a server that is not itself among the first hits are left out, and so is one that says none of the words.
    Where no tools are asked for, nothing changes.
    """

    entities: Entities
    share: float = option(0.6, "how many tools at most, as a share of the results asked for")
    min_tools: int = option(3, "... or so many, if that is more")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if plan.kinds and TOOL not in plan.kinds:
            return ranking
        leads = self.entities.heads([hit.chunk for hit in ranking.hits])
        rest = [hit for hit in ranking.hits if leads[hit.chunk].kind != TOOL]
        seen = {leads[hit.chunk].document: hit for hit in ranking.hits if leads[hit.chunk].kind == TOOL}
        first = [leads[hit.chunk] for hit in rest[: plan.top_n]]
        servers = [lead.document for lead in first if lead.kind == SERVER]
        words, most = query_words(plan.text), max(self.min_tools, math.ceil(plan.top_n * self.share))
        found: dict[DocId, tuple[float, DocId]] = {}
        for server, entity in self.entities.entities(servers).items() if words else ():
            for tool, grade in grade_tools(entity.tools, words, most):
                found[DocId(f"{server}#{tool.name}")] = (grade, server)
        order = {server: place for place, server in enumerate(servers)}
        best = sorted(found, key=lambda name: (-found[name][0], order[found[name][1]], name))[:most]
        chunks = self.entities.first_chunks(best, plan.condition)
        hits = [
            seen.get(name, Hit(chunks[name], 0.0))._replace(score=found[name][0]) for name in best if name in chunks
        ]
        servers_of = {chunks[name]: found[name][1] for name in chunks}
        ordered = sorted([*rest, *hits], key=lambda hit: -hit.score)
        for place, hit in enumerate(ordered):
            if hit.chunk in servers_of:
                evidence = Evidence("tools", place + 1, hit.score, {"server": servers_of[hit.chunk]})
                ordered[place] = hit._replace(evidence=(*hit.evidence, evidence))
        return Ranking("tools", tuple(ordered))
