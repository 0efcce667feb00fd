"""One hit for each registry entity; a tool passes its score on to its server."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.entities import TOOL
from watersmeet.core.model import DocId, Evidence, Hit, Plan, Ranking
from watersmeet.core.ports import Entities


@dataclass(frozen=True, slots=True)
class Entity:
    """A stage that gives a server the better of its own score and that of its best tool, and adds missing servers."""

    entities: Entities

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        leads = self.entities.heads([hit.chunk for hit in ranking.hits])
        best: dict[DocId, Hit] = {}
        tools: dict[DocId, Hit] = {}
        for hit in ranking.hits:
            lead = leads[hit.chunk]
            if lead.document not in best:
                best[lead.document] = hit if hit.chunk == lead.chunk else hit._replace(chunk=lead.chunk)
            if lead.kind == TOOL and lead.server:
                tools.setdefault(lead.server, hit)
        absent = self.entities.first_chunks([server for server in tools if server not in best], plan.condition)
        best |= {server: Hit(chunk, float("-inf")) for server, chunk in absent.items()}
        better = {server: tool for server, tool in tools.items() if server in best and best[server].score < tool.score}
        lifted = {best[server].chunk: tool for server, tool in better.items()}
        scored = [hit._replace(score=lifted[hit.chunk].score) if hit.chunk in lifted else hit for hit in best.values()]
        scored.sort(key=lambda hit: -hit.score)
        for place, hit in enumerate(scored):
            if hit.chunk in lifted:
                detail = {"tool": leads[lifted[hit.chunk].chunk].document}
                handed = Evidence("entity", place + 1, hit.score, detail)
                scored[place] = hit._replace(evidence=(*hit.evidence, handed))
        return Ranking("entity", tuple(scored))
