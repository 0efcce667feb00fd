"""Fusion weights: is the default well chosen, and do judgements improve it? One table over all dev sets.

    python benchmarks/default.py [--sets cosqa,cranfield] [--limit 200]

Columns: `default` as it is shipped; what the same family of constants gives when they are chosen on all other sets
(the column that counts); RRF with k = 60 over lexical and dense; the best single signal of each set; and the best
fixed weights, chosen with the set's own judgements. Then what 50 judgements recover of the way from the prior to these,
and what 500 random ones cost.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import RESULTS, SHARED, keep, machine
from numpy.typing import NDArray
from quality import settings
from recipes import default_beside, figures

from watersmeet.core.model import Request
from watersmeet.engine.calibration.posterior import SIGNALS, Posterior, grid
from watersmeet.engine.calibration.score_matrix import ScoreMatrix, gains, score_matrix
from watersmeet.engine.components import build
from watersmeet.engine.engine import Engine
from watersmeet.evaluate.data import Dataset, Question, load
from watersmeet.evaluate.index import indexed
from watersmeet.evaluate.metrics import MAIN

DATA = SHARED / "data" / "eval"
Floats = NDArray[np.float64]
WEIGHTS = [(a / 10, b / 10, (10 - a - b) / 10) for a in (2, 3, 4, 5) for b in (0, 1, 2, 3) if 4 <= 10 - a - b <= 8]
SUPPORT_WEIGHTS = (0.0, 0.25, 0.5)
FUSION: dict[str, Any] = settings("default").of("fusion", "convex")
FUSIONS = {
    f"{scale}, peak {peak:g}": build("fusion", "convex", {**FUSION, "scale": scale, "peak": peak})
    for scale in ("min_max", "spread")
    for peak in (0.0, 0.3)
}
STEPS: list[str] = settings("default").tables["pipeline"]["understand"]
READINGS = {"parts": STEPS, "whole": [step for step in STEPS if step != "sentences"]}
VARIANTS = [f"{fusion}, {reading}" for fusion in FUSIONS for reading in READINGS]
SHIPPED = "spread, peak 0.3, parts"
JUDGED, RANDOM, DRAWS = 50, 500, 10


class Judged(NamedTuple):
    """One question: its ballot under each variant, and its judgements."""

    ballots: dict[str, ScoreMatrix]
    relevant: dict[str, float]


def collect(folder: str, questions: list[Question]) -> list[Judged]:
    """Each question is asked once, and once more whole if it has parts; the fusions differ in arithmetic only."""
    engines = {
        name: Engine(folder, settings("default", {"pipeline": {"understand": steps}}))
        for name, steps in READINGS.items()
    }
    found = []
    for question in questions:
        made: dict[str, ScoreMatrix] = {}
        for reading, engine in engines.items():
            with engine.open_search(Request(question.text, "hybrid"), explain=False) as search_run:
                chunks = {hit.chunk for ranking in search_run.outcome.rankings for hit in ranking.hits}
                owners = search_run.snapshot.documents_of(chunks)
            ballots = {name: score_matrix(search_run.outcome, fusion, owners) for name, fusion in FUSIONS.items()}
            made |= {f"{name}, {reading}": one for name, one in ballots.items() if one is not None}
            if reading == "parts" and not search_run.outcome.plan.sentences:
                made |= {name.replace("parts", "whole"): one for name, one in made.items()}
                break
        if len(made) == len(VARIANTS):
            found.append(Judged(made, {d: float(g) for d, g in question.relevant.items()}))
    for engine in engines.values():
        engine.close()
    return found


def with_support(made: ScoreMatrix, points: Floats, weight: float) -> ScoreMatrix:
    """The score matrix with the effect of the stage `document_support`, for one point."""
    fused = (points @ made.votes + made.fixed)[0]
    ends = [*made.starts[1:], len(fused)]
    usual = float(np.median(fused))
    gained = made.fixed.copy()
    for start, end in zip(made.starts, ends, strict=True):
        if end - start > 2:
            order = start + np.argsort(-fused[start:end], kind="stable")
            gained[order[0]] += weight * np.clip(fused[order[2:6]] - usual, 0, None).sum() / 4
    return made._replace(fixed=gained)


def quality(questions: list[Judged], variant: str, point: tuple[float, ...], support: float) -> Floats:
    points = np.array([point])
    scores = []
    for one in questions:
        made = one.ballots[variant]
        made = with_support(made, points, support) if support and len(made.starts) < len(made.fixed) else made
        scores.append(gains(made, one.relevant, [point])[0])
    return np.array(scores)


def _over_weights(questions: list[Judged], variant: str, support: float) -> Floats:
    """The mean quality at each of the weights."""
    total = np.zeros(len(WEIGHTS))
    for one in questions:
        made = one.ballots[variant]
        if not support or len(made.starts) == len(made.fixed):
            total += gains(made, one.relevant, WEIGHTS)
        else:
            total += [gains(with_support(made, np.array([p]), support), one.relevant, [p])[0] for p in WEIGHTS]
    return total / len(questions)


def evidence(questions: list[Judged], prior: dict[str, float], best: tuple[float, ...]) -> dict[str, float]:
    """The gain of 50 judgements relative to the best fixed weights, and the loss of 500 random ones."""
    start = tuple(prior[name] for name in SIGNALS)
    table = [gains(one.ballots[SHIPPED], one.relevant) for one in questions]
    support = SUPPORT_WEIGHTS[-1]
    before = quality(questions, SHIPPED, start, support).mean()
    best_quality = quality(questions, SHIPPED, best, support).mean()
    draw = random.Random(0)  # noqa: S311 - a sample
    after, harmed = [], []
    for _ in range(DRAWS):
        belief = Posterior()
        for i in draw.sample(range(len(questions)), min(JUDGED, len(questions))):
            belief = belief.learn(table[i])
        after.append(quality(questions, SHIPPED, tuple(belief.weights(prior).values()), support).mean())
    for _ in range(2):
        belief = Posterior()
        for _ in range(RANDOM):
            one = draw.choice(questions)
            belief = belief.learn(gains(one.ballots[SHIPPED], {draw.choice(one.ballots[SHIPPED].documents): 1.0}))
        harmed.append(quality(questions, SHIPPED, tuple(belief.weights(prior).values()), support).mean())
    return {
        "prior": float(before),
        "judged": float(np.mean(after)),
        "best": float(best_quality),
        "random": float(np.mean(harmed)),
    }


def measure(dataset: Dataset) -> tuple[dict[str, Any], list[Judged]]:
    entry, _ = default_beside(dataset)
    folder = indexed(dataset, settings("default"), "", lambda step: None).folder
    return entry, collect(folder, [q for q in dataset.questions if q.relevant])


def chosen(by_set: dict[str, list[Judged]]) -> dict[str, Any]:
    """The family's best member on all sets but one, measured on that one.

    The best has the highest mean, less what it falls short of each set's best single signal: what is promised is both.
    """
    family = [(v, point, c) for v in VARIANTS for c in SUPPORT_WEIGHTS for point in WEIGHTS]
    means = {
        name: np.concatenate([_over_weights(found, v, c) for v in VARIANTS for c in SUPPORT_WEIGHTS])
        for name, found in by_set.items()
    }
    worth = {name: found - np.clip(_single(by_set[name]) - found, 0, None) for name, found in means.items()}
    table: dict[str, Any] = {}
    for name in by_set:
        others = (
            np.mean([worth[other] for other in by_set if other != name], axis=0) if len(by_set) > 1 else worth[name]
        )
        variant, point, support = family[int(others.argmax())]
        scores = quality(by_set[name], variant, point, support).tolist()
        table[name] = figures(scores) | {"constants": f"{variant}, {point}, document_support {support:g}"}
    return table


def _single(questions: list[Judged]) -> float:
    """The quality of the best single signal."""
    points = [tuple(float(name == one) for one in SIGNALS) for name in SIGNALS]
    return max(float(quality(questions, SHIPPED, point, 0.0).mean()) for point in points)


def evidence_only(names: list[str], limit: int, prior: dict[str, float], out: Path) -> None:
    """The second table alone: it takes a quarter of the time."""
    sets: dict[str, Any] = {}
    for name in names:
        dataset = load(DATA / name).limited(limit, 0)
        folder = indexed(dataset, settings("default"), "", lambda step: None).folder
        questions = collect(folder, [q for q in dataset.questions if q.relevant])
        swept = np.mean([gains(one.ballots[SHIPPED], one.relevant) for one in questions], axis=0)
        sets[name] = {"evidence": evidence(questions, prior, grid()[int(swept.argmax())])}
        print(name, sets[name], file=sys.stderr, flush=True)
    result = keep("evidence", {"machine": machine(), "limit": limit, "sets": sets, "recovered": recovered(sets)}, out)
    text = "\n".join([f"# Evidence at {result['commit']}", "", *evidence_table(result), ""])
    (out / f"evidence-{result['commit']}.md").write_text(text, "utf8")
    print(text)


def recovered(sets: dict[str, Any]) -> float:
    """The share of the way from the prior to the best fixed weights, on the mean of the sets."""
    before, after, best = (
        float(np.mean([entry["evidence"][key] for entry in sets.values()])) for key in ("prior", "judged", "best")
    )
    return (after - before) / (best - before)


def evidence_table(result: dict[str, Any]) -> list[str]:
    lines = [
        f"## Evidence: {JUDGED} judged queries ({DRAWS} draws), {RANDOM} random judgements",
        "",
        "| set | prior | after judgements | best fixed weights | after random ones |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, entry in result["sets"].items():
        e = entry["evidence"]
        lines.append(f"| {name} | {e['prior']:.4f} | {e['judged']:.4f} | {e['best']:.4f} | {e['random']:.4f} |")
    return [*lines, "", f"Recovered of the distance, on the mean: {result['recovered']:.2f}."]


def markdown(result: dict[str, Any]) -> str:
    sets = result["sets"]
    lines = [
        f"# The default at {result['commit']}",
        "",
        f"{result['date']}. nDCG@10 with 95 % intervals; in brackets by how much `default` is better, with the paired"
        " interval. Bold: it does not hold 0.",
        "",
        "| set | queries | default | chosen without the set | RRF k=60 | best single signal | best fixed weights |",
        "|---|--:|---|---|---|---|---|",
    ]
    for name, entry in sets.items():
        loo, fixed = entry["left out"], entry["evidence"]["best"]
        own = f"{entry['default'][MAIN]:.3f} ({entry['default']['low']:.3f} to {entry['default']['high']:.3f})"
        lines.append(
            f"| {name} | {entry['queries']} | {own} | {loo[MAIN]:.3f} | {_against(entry['rrf60'])} | "
            f"{entry['best signal']['signal']} {_against(entry['best signal'])} | {fixed:.3f} |"
        )
    mean = result["means"]
    lines.append(
        f"| **mean** | | {mean['default']:.4f} | {mean['left out']:.4f} | {mean['rrf60']:.4f} |"
        f" {mean['best signal']:.4f} | {mean['best']:.4f} |"
    )
    lines += ["", "Constants chosen without each set:", ""]
    lines += [f"- {name}: {entry['left out']['constants']}" for name, entry in sets.items()]
    return "\n".join([*lines, "", *evidence_table(result), ""])


def _against(entry: dict[str, Any]) -> str:
    significant = entry["delta_low"] * entry["delta_high"] > 0
    delta = f"{entry['delta']:+.3f}, {entry['delta_low']:+.3f} to {entry['delta_high']:+.3f}"
    return f"{entry[MAIN]:.3f} ({'**' + delta + '**' if significant else delta})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sets", default="", help="names, separated by commas; all that have judgements by default")
    parser.add_argument("--limit", type=int, default=0, help="only so many queries of each set")
    parser.add_argument("--evidence", action="store_true", help="only what evidence recovers")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    names = [n for n in args.sets.split(",") if n] or sorted(p.parent.name for p in DATA.glob("*/qrels.tsv"))
    sets: dict[str, Any] = {}
    found: dict[str, list[Judged]] = {}
    weights = settings("default").of("fusion", "convex")["weights"]
    prior = {name: float(weights[name]) for name in SIGNALS}
    if args.evidence:
        evidence_only(names, args.limit, prior, args.out)
        return
    for name in names:
        start = time.perf_counter()
        sets[name], found[name] = measure(load(DATA / name).limited(args.limit, 0))
        swept = np.mean([gains(one.ballots[SHIPPED], one.relevant) for one in found[name]], axis=0)
        sets[name]["evidence"] = evidence(found[name], prior, grid()[int(swept.argmax())])
        took = time.perf_counter() - start
        print(f"{name}: {sets[name]['default'][MAIN]:.3f} ({took:.0f} s)", file=sys.stderr, flush=True)
    for name, entry in chosen(found).items():
        sets[name]["left out"] = entry
    means = {
        column: float(np.mean([entry[column][MAIN] for entry in sets.values()]))
        for column in ("default", "left out", "rrf60", "best signal")
    }
    best = float(np.mean([entry["evidence"]["best"] for entry in sets.values()]))
    facts = {"sets": sets, "means": means | {"best": best}, "recovered": recovered(sets)}
    result = keep("default", {"machine": machine(), "limit": args.limit, **facts}, args.out)
    text = markdown(result)
    (args.out / f"default-{result['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
