"""Run every question, and record the ranking of each signal and the fused one."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context

from watersmeet.core.model import DocId, Failure, Passage, Request
from watersmeet.engine.engine import Engine
from watersmeet.engine.query.trial import Trial
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.evaluate.data import Question
from watersmeet.present.pack import pack

WHOLE = "fused"
TOP_N = 100
"""How many results are evaluated."""
BUDGETS = (500, 1000, 2000)
TIMED_QUESTIONS = 200
"""How many questions run one at a time, in this process; they give the latency."""
MIN_PARALLEL_QUESTIONS = 300
"""With at least so many further questions, worker processes are worth their start-up."""
BATCH_SIZE = 50
"""How many questions a worker process gets at a time."""

TrialFunction = Callable[[Request, Collection[str], Collection[str]], Trial]


@dataclass(slots=True)
class Run:
    """Rankings of a run: the documents for each question, best first, by signal and for the fused ranking."""

    recipe: str
    mode: str = ""
    rankings: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    packs: dict[str, list[tuple[bool, ...]]] = field(default_factory=dict)
    scores: list[tuple[float, ...]] = field(default_factory=list)
    confidence: list[float | None] = field(default_factory=list)
    flagged: list[bool] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    failures: Counter[Failure] = field(default_factory=Counter)

    @property
    def signals(self) -> list[str]:
        return [name for name in self.rankings if name != WHOLE]

    def ranks(self, number: int, document: str) -> dict[str, int | None]:
        """The rank of a document in each ranking for one question."""
        return {
            name: found[number].index(document) + 1 if document in found[number] else None
            for name, found in self.rankings.items()
        }


def run(engine: Engine, questions: Sequence[Question], recipe: str, mode: str, progress: ProgressCallback) -> Run:
    """Run the first questions one after another, to time them; if there are many more, those in worker processes."""
    rest = questions[TIMED_QUESTIONS:]
    if len(rest) < MIN_PARALLEL_QUESTIONS:
        return run_all(engine.trial, questions, recipe, mode, progress)
    next(_trials(engine.trial, questions[:1], mode))  # untimed
    first = list(
        _trials(engine.trial, questions[:TIMED_QUESTIONS], mode)
    )  # before the worker processes start, which would slow it down
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        shares = [rest[start : start + BATCH_SIZE] for start in range(0, len(rest), BATCH_SIZE)]
        batches = [pool.submit(_run_batch, engine.folder, engine.settings, share, mode) for share in shares]
        return collect(chain(first, chain.from_iterable(f.result() for f in batches)), questions, recipe, progress)


_engines: dict[str, Engine] = {}


def _run_batch(folder: str, settings: Settings, questions: Sequence[Question], mode: str) -> list[Trial]:
    """Trials in a worker process, with its own engine on the same index, opened once."""
    if folder not in _engines:
        _engines[folder] = Engine(folder, settings)
    return list(_trials(_engines[folder].trial, questions, mode))


def _trials(run_trial: TrialFunction, questions: Sequence[Question], mode: str) -> Iterator[Trial]:
    for question in questions:
        yield run_trial(Request(question.text, mode, top_n=TOP_N), question.relevant, question.withheld)


def run_all(
    run_trial: TrialFunction, questions: Sequence[Question], recipe: str, mode: str, progress: ProgressCallback
) -> Run:
    """Run the questions one after another; the first runs once more before, untimed, to warm up."""
    run_trial(Request(questions[0].text, mode, top_n=TOP_N), (), ())
    return collect(_trials(run_trial, questions, mode), questions, recipe, progress)


def collect(trials: Iterable[Trial], questions: Sequence[Question], recipe: str, progress: ProgressCallback) -> Run:
    made = Run(recipe)
    interned: dict[str, str] = {}
    for number, trial in enumerate(trials):
        made.mode = trial.mode
        if number < TIMED_QUESTIONS:
            made.latency.append(trial.took_ms)
        made.failures.update(trial.failures)
        made.confidence.append(trial.confidence)
        made.flagged.append(trial.no_good_match)
        made.scores.append(tuple(score for _, score in trial.fused))
        for name, ranking in ((WHOLE, trial.fused), *trial.signals.items()):
            rankings = made.rankings.setdefault(name, [])
            packs = made.packs.setdefault(name, [])
            rankings += [()] * (number - len(rankings))  # queries where it failed
            packs += [(False,) * len(BUDGETS)] * (number - len(packs))
            rankings.append(_documents(ranking, interned))
            packs.append(_packed(trial.read["" if name == WHOLE else name]))
        progress(Progress("asking", number + 1, len(questions), "queries"))
    for name in made.signals:
        made.rankings[name] += [()] * (len(questions) - len(made.rankings[name]))
        made.packs[name] += [(False,) * len(BUDGETS)] * (len(questions) - len(made.packs[name]))
    return made


def _documents(ranking: Sequence[tuple[DocId, float]], interned: dict[str, str]) -> tuple[str, ...]:
    """Document names of a ranking, interned since they repeat from query to query."""
    return tuple(interned.setdefault(document, document) for document, _ in ranking)


def _packed(results: Sequence[Passage]) -> tuple[bool, ...]:
    """Whether the last result, the first relevant one, is in the pack of each size.

    A larger pack contains every smaller one, so the smallest and the largest often decide the others.
    """
    if not results:
        return (False,) * len(BUDGETS)
    most = len(pack(results, BUDGETS[-1]).citations)
    if most < len(results):
        return (False,) * len(BUDGETS)
    contained = [len(results) == len(pack(results, budget).citations) for budget in BUDGETS[:1]]
    contained += [contained[0] or len(results) == len(pack(results, budget).citations) for budget in BUDGETS[1:-1]]
    return (*contained, True)


def peak_memory_mb() -> float | None:
    """Peak memory of this process; None where the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
