"""Embedding of all tiers that are due, after a sync and by `deepen`: what fails or costs too much is a warning."""

from __future__ import annotations

import math
from collections.abc import Sequence

from watersmeet.core.errors import CostRefused, IndexBusy, ModelProblem, WatersmeetError
from watersmeet.core.index import Index
from watersmeet.core.indexing import Skipped
from watersmeet.engine.index.tiers import TIERS, due
from watersmeet.engine.index.vocabulary import refresh
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.cost import Approved, affordable
from watersmeet.engine.sync.deepen import DeepenResult, deepen, facts_of
from watersmeet.engine.sync.report import COST, ProgressCallback, SyncReport


def embed_tiers(
    index: Index,
    settings: Settings,
    approved: Approved,
    tiers: Sequence[str],
    report: SyncReport,
    *,
    progress: ProgressCallback | None = None,
    seconds: float = math.inf,
    after: int = 0,
    measure: bool = False,
    deep: bool = True,
    confirm: bool = False,
    wait: bool = True,
) -> list[WatersmeetError]:
    """Embed these tiers, or those that are due. A missing model is a warning: text search works without it.

    `wait`: as for `deepen`. `measure`: compute the statistics of the whole index again even if little has changed."""
    problems: list[WatersmeetError] = []
    if not settings.section("index").vectors:
        return problems
    progress = progress or (lambda _: None)
    done = DeepenResult()
    tiers = tiers or due(settings, facts_of(index), deep)
    if seconds > 0:
        tiers, refused = affordable(index, settings, tiers, after, approved, confirm, report, progress)
        problems += refused
        report.warnings += [Skipped(COST, f"no vectors: {one}. {one.hint}") for one in refused]
    for tier in tiers:
        try:
            deepen(index, settings, tier, progress, done, seconds, after, measure, wait)
            if tier == TIERS[0]:
                report.warnings += refresh(index, settings, measure)
        except (ModelProblem, IndexBusy) as problem:
            problems.append(problem)
            without = f"no {tier} vectors: " if isinstance(problem, ModelProblem) else ""
            report.warnings.append(Skipped(tier, f"{without}{problem}. {problem.hint}".strip()))
    report.embedded, report.cached = len(done.embedded) + done.elsewhere, done.cached
    return problems


def raise_refused(problems: Sequence[WatersmeetError], report: SyncReport) -> None:
    """Raise the first refusal because of the cost, with the report of what was done."""
    for problem in problems:
        if isinstance(problem, CostRefused):
            problem.report = report
            raise problem
