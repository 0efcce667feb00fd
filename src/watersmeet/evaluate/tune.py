"""Weight tuning: learned from one half of a dataset's questions, measured on the other."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import Layer, Settings, from_layers
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.evaluate.compare import Difference, compare
from watersmeet.evaluate.data import Dataset, check_indexed
from watersmeet.evaluate.index import indexed
from watersmeet.evaluate.metrics import MAIN, judge, means, measures
from watersmeet.evaluate.run import WHOLE, run
from watersmeet.evaluate.sweep import Sweep, sweep

LEARNED_WEIGHTS_STEP = "learned_weights"
"""The query step that applies the index's learned weights."""
MIN_QUESTIONS = 10
"""Fewer questions than this are too few to split in halves."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """Tuned weights, and their quality on questions that they were not learned from."""

    dataset: str
    sweep: Sweep
    report_questions: int
    before: dict[str, float]
    after: dict[str, float]
    difference: Difference
    evidence: float = 0.0
    """The amount of evidence of the index's own calibration, which is ignored."""

    @property
    def significant(self) -> bool:
        """Whether the tuned weights are significantly better."""
        return self.difference.better

    @property
    def verdict(self) -> str:
        if self.significant:
            return f"the tuned weights are better on the held-out half: {self.difference}"
        return f"no significant gain on the held-out half: {self.difference}"

    @property
    def aside(self) -> str:
        """A remark on the index's own calibration; empty if it has none."""
        if not self.evidence:
            return ""
        return (
            f"the index's calibration ({self.evidence:g} pieces of evidence) was ignored; with tuned settings it "
            "changes their weights too, until `watersmeet calibrate --reset`"
        )

    def settings(self) -> str:
        """A settings file with the weights."""
        aside = f"# {self.aside.capitalize()}.\n" if self.aside else ""
        weights = ", ".join(f"{name} = {value:g}" for name, value in self.sweep.posterior.items())
        return (
            f"# Learned from {self.sweep.questions} judged questions of {self.dataset}; "
            f"measured on {self.report_questions} others:\n# {self.verdict}.\n{aside}"
            f"[fusion.convex]\nweights = {{ {weights} }}\n"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "train": self.sweep.questions,
            "report": self.report_questions,
            "prior": self.sweep.prior,
            "weights": self.sweep.posterior,
            "best_of_grid_on_train": self.sweep.best,
            "before": self.before,
            "after": self.after,
            "comparison": {
                "delta": round(self.difference.delta, 4),
                "low": round(self.difference.low, 4),
                "high": round(self.difference.high, 4),
                "p": round(self.difference.p, 5),
                "won": self.difference.won,
                "lost": self.difference.lost,
            },
            "significant": self.significant,
            "verdict": self.verdict,
            "calibration": {"left_aside": True, "evidence": self.evidence, "note": self.aside},
            "settings": self.settings(),
        }


def tune(dataset: Dataset, settings: Settings, index: str, seed: int, progress: ProgressCallback) -> Tuned:
    measures()
    judged = [question for question in dataset.questions if question.relevant]
    if len(judged) < MIN_QUESTIONS:
        raise SourceProblem(
            f"{dataset.name} has {len(judged)} judged questions", f"tuning needs at least {MIN_QUESTIONS}"
        )
    random.Random(seed).shuffle(judged)  # noqa: S311 - a sample
    train, report = judged[: len(judged) // 2], judged[len(judged) // 2 :]
    folder = index or indexed(dataset, settings, "", progress).folder
    plain = uncalibrated(settings)
    with Engine(folder, plain) as engine:
        if index:
            check_indexed(dataset, (entry["document"] for entry in engine.documents()))
        learnt = engine.calibration.state()["collections"].get("*", {}) if plain is not settings else {}
        swept = sweep(engine, train, "", progress)
        if swept is None:
            raise SourceProblem("fewer than two signals are used here", "sync with vectors, then tune")
        before = judge(report, run(engine, report, settings.recipe, "", progress).rankings[WHOLE])
    layer = Layer("tuned", {"fusion": {"convex": {"weights": swept.posterior}}})
    with Engine(folder, from_layers(plain.recipe, (*plain.layers, layer))) as engine:
        after = judge(report, run(engine, report, settings.recipe, "", progress).rankings[WHOLE])
    difference = compare(after[MAIN], before[MAIN], seed)
    return Tuned(dataset.name, swept, len(report), means(before), means(after), difference, learnt.get("evidence", 0.0))


def uncalibrated(settings: Settings) -> Settings:
    """Settings without the index's learned weights, which may come from the held-out half."""
    steps = [step for step in settings.section("pipeline").understand if step != LEARNED_WEIGHTS_STEP]
    if steps == settings.section("pipeline").understand:
        return settings
    return from_layers(settings.recipe, (*settings.layers, Layer("tune", {"pipeline": {"understand": steps}})))
