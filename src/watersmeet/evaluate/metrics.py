"""Metrics of a ranking, query by query, computed by ir-measures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.evaluate.data import Question
from watersmeet.evaluate.run import BUDGETS

RANKED = ("ndcg@10", "recall@100", "mrr@10", "hit@1")
DEPTHS = ("recall@10", "hit@5", "precision@1", "precision@3", "precision@5", "precision@10")
"""The same measures at other depths, and precision: the share of relevant documents among the first ones."""
PACKED = tuple(f"pack@{budget}" for budget in BUDGETS)
NAMES = (*RANKED, *DEPTHS, *PACKED)
SHOWN = (*RANKED, *PACKED, "hit@5", "recall@10", "precision@5")
"""Columns of the tables; JSON and CSV have all."""
MAIN = "ndcg@10"

_LIBRARY_KINDS = {"ndcg": "nDCG", "recall": "R", "mrr": "RR", "hit": "Success", "precision": "P"}

Scores = dict[str, list[float]]
"""For each metric, its value for each question that has a relevant document, in order."""


def measures() -> tuple[Any, dict[Any, str]]:
    """The library ir-measures, and our name for each of its measures. It comes with the extra `eval`."""
    try:
        import ir_measures
    except ImportError:
        python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
        raise ConfigError(
            "`eval` and `tune` need the package ir-measures, which is not installed",
            f'install it with: {python} -m pip install "watersmeet[eval]"',
        ) from None
    return ir_measures, {ir_measures.parse_measure(_library_name(name)): name for name in (*RANKED, *DEPTHS)}


def _library_name(name: str) -> str:
    """Name of a measure in ir-measures."""
    kind, _, depth = name.partition("@")
    return f"{_LIBRARY_KINDS[kind]}@{depth}"


def judge(
    questions: Sequence[Question],
    rankings: Sequence[Sequence[str]],
    packs: Sequence[Sequence[bool]] | None = None,
) -> Scores:
    """All metrics of all questions, each of which must have a relevant document."""
    library, named = measures()
    # The scores only encode our order, which is what is judged.
    run = {str(i): {d: -float(rank) for rank, d in enumerate(found)} for i, found in enumerate(rankings)}
    qrels = {str(i): dict(question.relevant) for i, question in enumerate(questions)}
    scores: Scores = {name: [0.0] * len(questions) for name in (*RANKED, *DEPTHS)}
    if any(run.values()):
        for found in library.iter_calc(list(named), qrels, run):
            scores[named[found.measure]][int(found.query_id)] = float(found.value)
    if packs is not None:
        for column, name in enumerate(PACKED):
            scores[name] = [float(row[column]) for row in packs]
    return scores


def means(scores: Mapping[str, Sequence[float]], chosen: Sequence[int] | None = None) -> dict[str, float]:
    """The mean of each metric, over all questions or those chosen."""
    result = {}
    for name, values in scores.items():
        picked = values if chosen is None else [values[i] for i in chosen]
        result[name] = round(sum(picked) / len(picked), 4) if picked else 0.0
    return result


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))] if ordered else 0.0
