"""Tuning of the encoder of queries for one index: trained on one half of the questions, measured on the other."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.embed._encoder import encoder, graph_file
from watersmeet.embed._locate import locate
from watersmeet.embed.onnx import Onnx
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.query_encoder import GRAPH, SETTING, keep
from watersmeet.engine.index.tiers import embedder_name
from watersmeet.engine.settings.settings import Layer, Settings, from_layers
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.evaluate.compare import Difference, compare
from watersmeet.evaluate.data import Dataset, check_indexed
from watersmeet.evaluate.encoder.examples import Split, dense_tier, examples, split
from watersmeet.evaluate.encoder.graph import Graph
from watersmeet.evaluate.encoder.train import Trained, train
from watersmeet.evaluate.index import indexed
from watersmeet.evaluate.metrics import MAIN, Scores, judge, means, measures
from watersmeet.evaluate.run import WHOLE, run
from watersmeet.evaluate.tune import uncalibrated

SHOWN = ("ndcg@10", "mrr@10", "hit@1")
LIBRARIES = ("torch", "onnx")
COMPONENT = "onnx"
_FILES = ("*.json", "1_Pooling/config.json")


@dataclass(frozen=True, slots=True)
class TunedEncoder:
    """A tuned encoder of queries, and its quality on questions that it was not trained on."""

    dataset: str
    questions: int  # trained on, those that chose the epoch included
    report_questions: int
    trained: Trained
    before: dict[str, float]
    after: dict[str, float]
    confidence: tuple[float, float]  # its mean before and after
    difference: Difference
    groups: dict[str, dict[str, float]]  # questions with a document that was trained on, and the others
    folder: str = ""  # where it was stored; empty: it was not

    @property
    def significant(self) -> bool:
        return self.difference.better

    @property
    def verdict(self) -> str:
        if self.significant:
            return f"the tuned encoder is better on the held-out half: {self.difference}"
        return f"no significant gain on the held-out half: {self.difference}"

    def to_json(self) -> dict[str, Any]:
        d = self.difference
        return {
            "dataset": self.dataset,
            "train": self.questions,
            "report": self.report_questions,
            "steps": self.trained.steps,
            "cpu_seconds": self.trained.cpu_seconds,
            "epochs": {"mrr": list(self.trained.checked), "chosen": self.trained.chosen},
            "before": self.before,
            "after": self.after,
            "confidence": {"before": self.confidence[0], "after": self.confidence[1]},
            "comparison": {
                "delta": round(d.delta, 4),
                "low": round(d.low, 4),
                "high": round(d.high, 4),
                "p": round(d.p, 5),
                "won": d.won,
                "lost": d.lost,
            },
            "by_documents": self.groups,
            "significant": self.significant,
            "verdict": self.verdict,
            "kept": self.folder,
        }


def check_libraries(names: Sequence[str] = LIBRARIES) -> None:
    """Raise if a library of the extra `train` is missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
        raise ConfigError(
            f"`tune --encoder` needs {' and '.join(missing)}, not installed here",
            f'install the extra with: {python} -m pip install "watersmeet[train,eval]"',
        )


def tune_encoder(
    dataset: Dataset,
    settings: Settings,
    index: str,
    scratch: Path,
    minutes: float,
    seed: int,
    progress: ProgressCallback,
) -> TunedEncoder:
    """Tune and measure; the model is written to `scratch`. Nothing is stored in the index, see `store`."""
    check_libraries()
    measures()
    parts = split(dataset.questions, seed)
    plain = uncalibrated(settings)
    folder = index or indexed(dataset, settings, "", progress).folder
    base = _base(plain)
    place = locate(base.model, base.file, base.download)
    with Engine(folder, _with_queries(plain, str(base.model))) as engine:
        if index:
            check_indexed(dataset, (entry["document"] for entry in engine.documents()))
        dense_tier(engine)
        before, sure_before = _measured(engine, parts.report, "measuring before", progress)
        found = examples(engine, parts, progress)
    graph = Graph(graph_file(place, base.file))
    for pattern in _FILES:
        for file in place.glob(pattern):
            target = scratch / file.relative_to(place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    model = encoder(place, base.file, base.max_tokens, base.pooling)
    trained = train(graph, model, found, scratch / GRAPH, minutes, seed, progress)
    with Engine(folder, _with_queries(plain, str(scratch))) as engine:
        after, sure_after = _measured(engine, parts.report, "measuring after", progress)
    return TunedEncoder(
        dataset.name,
        len(parts.train) + len(parts.check),
        len(parts.report),
        trained,
        _shown(before),
        _shown(after),
        (sure_before, sure_after),
        compare(after[MAIN], before[MAIN], seed),
        by_documents(parts, before[MAIN], after[MAIN]),
    )


def by_documents(parts: Split, before: Sequence[float], after: Sequence[float]) -> dict[str, dict[str, float]]:
    """The gain for questions with a document that was trained on, and for the others: numbers and mean differences."""
    trained = {document for question in (*parts.train, *parts.check) for document in question.relevant}
    gains: dict[str, list[float]] = {"trained_on": [], "others": []}
    for question, old, new in zip(parts.report, before, after, strict=True):
        gains["others" if trained.isdisjoint(question.relevant) else "trained_on"].append(new - old)
    return {
        name: {"questions": len(found), "delta": round(sum(found) / len(found), 4) if found else 0.0}
        for name, found in gains.items()
    }


def store(tuned: TunedEncoder, settings: Settings, index: str, scratch: Path) -> TunedEncoder:
    """Store the model if it is significantly better, and record it in the index."""
    if not tuned.significant:
        return tuned
    with Engine(index, settings) as engine:
        vectors = dense_tier(engine).fingerprint
        facts = {"dataset": tuned.dataset, "verdict": tuned.verdict}
        return replace(tuned, folder=keep(engine.index, str(scratch), vectors, facts))


def _base(settings: Settings) -> Onnx:
    """The model of the dense vectors, which must be one that can be tuned."""
    component = embedder_name(settings, "dense")
    if component != COMPONENT:
        raise ConfigError(
            f"index.dense is {component!r}, and only {COMPONENT!r} can be tuned", f'set index.dense = "{COMPONENT}"'
        )
    return Onnx(**settings.of("embed", component))


def _with_queries(settings: Settings, model: str) -> Settings:
    """Settings where this model embeds the queries, whatever the index has recorded."""
    return from_layers(settings.recipe, (*settings.layers, Layer("tune", {"embed": {COMPONENT: {SETTING: model}}})))


def _measured(engine: Engine, report: Sequence[Any], doing: str, progress: ProgressCallback) -> tuple[Scores, float]:
    """Metrics of each question, and the mean confidence."""
    made = run(engine, report, engine.settings.recipe, "", lambda step: progress(replace(step, doing=doing)))
    sure = [one for one in made.confidence if one is not None]
    return judge(report, made.rankings[WHOLE]), round(sum(sure) / len(sure), 4) if sure else 0.0


def _shown(scores: Scores) -> dict[str, float]:
    return {name: value for name, value in means(scores).items() if name in SHOWN}
