"""Confidence: does it flag queries without an answer? A set's own queries, and those of other sets.

    python benchmarks/confidence.py [--limit 300] [--others 15] [--sets cranfield,k8s_anchor]

Everything is chosen without the family of the set that it is measured on: the weights of the model and the threshold.
The weights over all sets, which the package ships, are below each table. A false alarm is a query with a right answer
among the first three results that is flagged.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, SHARED, keep, machine
from numpy.typing import NDArray
from quality import settings
from relevance import FAMILIES

from watersmeet.core.model import Request
from watersmeet.engine.engine import Engine
from watersmeet.engine.query.confidence import MODELS, features
from watersmeet.engine.query.runner import confidence_input
from watersmeet.evaluate.data import Dataset, load
from watersmeet.evaluate.index import indexed

DATA = SHARED / "data" / "eval"
Floats = NDArray[np.float64]
FLAGGED = 0.87
"""The share of queries of other families that the threshold flags, on the mean of the sets it is chosen on."""
FAMILY = {name: family for family, names in FAMILIES.items() for name in names}
UNANSWERABLE = 0.2
"""The share of unanswerable queries that confidence is calibrated for."""
RIDGE = 1e-3


MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("hybrid", {}),
    "static": ("hybrid", {"pipeline": {"signals": ["lexical", "exact", "static"]}}),
    "words": ("lexical", {}),
}
"""The mode and settings of each confidence model."""


def features_of(engine: Engine, name: str, text: str, relevant: set[str]) -> dict[str, Any]:
    """The features of a query, and whether one of the first results is relevant."""
    with engine.open_search(Request(text, MODES[name][0])) as search_run:
        judged = confidence_input(search_run.visible_index, search_run.snapshot, search_run.outcome)
        right = any(passage.document in relevant for passage in judged.read)
        return {"features": features(name, judged), "hit": right}


def collect(dataset: Dataset, others: list[Dataset], limit: int, each: int) -> dict[str, Any]:
    ready = indexed(dataset, settings("default"), "", lambda step: None)
    draw = random.Random(dataset.name)  # noqa: S311 - a sample
    own = dataset.limited(limit, 0).questions
    foreign = [
        (other.name, question.text)
        for other in others
        for question in draw.sample(list(other.questions), min(each, len(other.questions)))
    ]
    found = {}
    for name, (_, changed) in MODES.items():
        with Engine(ready.folder, settings("default", changed)) as engine:
            found[name] = {
                "own": [features_of(engine, name, q.text, set(q.relevant)) for q in own],
                "foreign": [{**features_of(engine, name, text, set()), "of": of} for of, text in foreign],
            }
    return found


def matrix(rows: list[dict[str, Any]], name: str) -> Floats:
    names = list(MODELS[name].weights)
    return np.array([[1.0, *(row["features"].get(feature, 0.0) for feature in names)] for row in rows])


def fit(sets: list[dict[str, Any]], name: str) -> Floats:
    """Logistic regression by Newton's method; every set counts alike, and a fifth of it is unanswerable."""
    parts, wanted, counts = [], [], []
    for one in sets:
        for rows, share in ((one[name]["own"], 1 - UNANSWERABLE), (one[name]["foreign"], UNANSWERABLE)):
            parts.append(matrix(rows, name))
            wanted += [float(row["hit"]) for row in rows]
            counts += [share / len(rows) / len(sets)] * len(rows)
    x, y, weight = np.vstack(parts), np.array(wanted), np.array(counts)
    scale = x.std(axis=0)
    scale[0] = 1.0
    x = x / scale
    ridge = np.diag([0.0, *[RIDGE] * (x.shape[1] - 1)])
    found = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ found))
        gradient = x.T @ (weight * (p - y)) + ridge @ found
        step = np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + ridge, gradient)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(found / scale)


def probabilities(rows: list[dict[str, Any]], name: str, weights: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-matrix(rows, name) @ weights)))


def threshold(sets: list[dict[str, Any]], name: str, weights: Floats) -> float:
    """The mean, over the sets, of the probability below which most queries of other families lie."""
    cuts = [np.quantile(probabilities(from_other_families(one, name), name, weights), FLAGGED) for one in sets]
    return float(np.mean(cuts))


def from_other_families(one: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Queries of other families: those of the same family may well be answerable."""
    return [row for row in one[name]["foreign"] if FAMILY[row["of"]] != FAMILY[one["name"]]]


def calibration_error(p: Floats, y: Floats, weight: Floats) -> float:
    """The expected calibration error, in ten bins."""
    bins = np.clip((p * 10).astype(int), 0, 9)
    return float(sum(abs((weight * (y - p))[bins == i].sum()) for i in range(10)) / weight.sum())


def measured(one: dict[str, Any], rest: list[dict[str, Any]], name: str) -> dict[str, float]:
    weights = fit(rest, name)
    limit = threshold(rest, name, weights)
    own, foreign = (probabilities(one[name][kind], name, weights) for kind in ("own", "foreign"))
    other = probabilities(from_other_families(one, name), name, weights)
    right = own[[bool(row["hit"]) for row in one[name]["own"]]]
    y = np.array([float(row["hit"]) for row in (*one[name]["own"], *one[name]["foreign"])])
    share = np.array([(1 - UNANSWERABLE) / len(own)] * len(own) + [UNANSWERABLE / len(foreign)] * len(foreign))
    above = (own[:, None] > foreign[None, :]).mean() + 0.5 * (own[:, None] == foreign[None, :]).mean()
    return {
        "flagged": float((other < limit).mean()),
        "flagged_all": float((foreign < limit).mean()),
        "false_alarms": float((right < limit).mean()),
        "alarms_at_85": float((right < np.quantile(other, 0.85)).mean()),
        "auc": float(above),
        "calibration_error": calibration_error(np.concatenate([own, foreign]), y, share),
    }


COLUMNS = {
    "flagged": "queries of other families flagged",
    "flagged_all": "queries of all other sets flagged",
    "false_alarms": "false alarms",
    "alarms_at_85": "false alarms where 85 % are flagged",
    "auc": "AUC",
    "calibration_error": "calibration error",
}


def markdown(result: dict[str, Any]) -> str:
    lines = [f"# Confidence at {result['commit']}", "", f"{result['date']}. {result['note']}", ""]
    for name, sets in result["models"].items():
        lines += [f"## {name}", "", f"| set | {' | '.join(COLUMNS.values())} |", "|---|" + "--:|" * len(COLUMNS)]
        for which, row in sets.items():
            lines.append(f"| {which} | " + " | ".join(f"{row[column]:.3f}" for column in COLUMNS) + " |")
        lines += ["", f"Shipped: {result['shipped'][name]}", ""]
    return "\n".join(lines)


def _other_families(found: dict[str, Any], names: list[str], name: str) -> list[dict[str, Any]]:
    return [found[other] for other in names if FAMILY[other] != FAMILY[name]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default="")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--others", type=int, default=15)
    parser.add_argument("--features", type=Path, help="keep what was collected here, or use what is kept there")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    names = sorted(path.parent.name for path in DATA.glob("*/qrels.tsv"))
    chosen = [name for name in arguments.sets.split(",") if name] or names
    data = {name: load(DATA / name) for name in names}
    kept: Path | None = arguments.features
    found: dict[str, Any] = json.loads(kept.read_text("utf8")) if kept and kept.exists() else {}
    for name in chosen:
        if name in found:
            continue
        others = [data[other] for other in names if other != name]
        found[name] = {"name": name, **collect(data[name], others, arguments.limit, arguments.others)}
        own, foreign = (len(found[name]["words"][kind]) for kind in ("own", "foreign"))
        print(f"{name}: {own} and {foreign} queries", file=sys.stderr)
        if kept:
            kept.write_text(json.dumps(found), "utf8")
    models = {
        model: {n: measured(found[n], _other_families(found, chosen, n), model) for n in chosen} for model in MODES
    }
    shipped = {}
    for model in MODES:
        weights = fit(list(found.values()), model)
        named = dict(zip(["constant", *MODELS[model].weights], weights.round(3).tolist(), strict=True))
        shipped[model] = named | {"threshold": round(threshold(list(found.values()), model, weights), 3)}
    note = (
        f"At most {arguments.limit} answerable queries a set, and {arguments.others} of each other set. Weights and"
        " threshold of each row were chosen on the other families."
    )
    result = keep(
        "confidence", {"machine": machine(), "note": note, "models": models, "shipped": shipped}, arguments.out
    )
    text = markdown(result)
    (arguments.out / f"confidence-{result['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
