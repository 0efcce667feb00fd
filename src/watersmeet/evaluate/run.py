"""Ask every question, and keep what each signal and the whole made of it."""

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
DEEP = 100
"""How many results are looked at."""
BUDGETS = (500, 1000, 2000)
TIMED = 200
"""How many questions are asked one at a time, in this process: latency is theirs."""
MIN_CUT_TOKENS = 300
"""From so many further questions on, other processes are worth their start."""
SHARE = 50
"""How many questions a process is given at a time."""

Ask = Callable[[Request, Collection[str], Collection[str]], Trial]


@dataclass(slots=True)
class Run:
    """The documents that came of each question, best first, by ranking: the signals' and the whole."""

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
        """At which rank each ranking has a document for one question."""
        return {
            name: found[number].index(document) + 1 if document in found[number] else None
            for name, found in self.rankings.items()
        }


def run(engine: Engine, questions: Sequence[Question], recipe: str, mode: str, progress: ProgressCallback) -> Run:
    """The first questions one after another, for their times; many more side by side, in processes of their own."""
    rest = questions[TIMED:]
    if len(rest) < MIN_CUT_TOKENS:
        return ask_all(engine.trial, questions, recipe, mode, progress)
    next(_in_turn(engine.trial, questions[:1], mode))  # untimed
    first = list(_in_turn(engine.trial, questions[:TIMED], mode))  # before the others: they would slow it
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        shares = [rest[start : start + SHARE] for start in range(0, len(rest), SHARE)]
        asked = [pool.submit(_share, engine.folder, engine.settings, share, mode) for share in shares]
        return gathered(chain(first, chain.from_iterable(f.result() for f in asked)), questions, recipe, progress)


_engines: dict[str, Engine] = {}


def _share(folder: str, settings: Settings, questions: Sequence[Question], mode: str) -> list[Trial]:
    """In another process: its own engine on the same index, opened once."""
    if folder not in _engines:
        _engines[folder] = Engine(folder, settings)
    return list(_in_turn(_engines[folder].trial, questions, mode))


def _in_turn(ask: Ask, questions: Sequence[Question], mode: str) -> Iterator[Trial]:
    for question in questions:
        yield ask(Request(question.text, mode, top_n=DEEP), question.relevant, question.withheld)


def ask_all(ask: Ask, questions: Sequence[Question], recipe: str, mode: str, progress: ProgressCallback) -> Run:
    """The questions one after another, as users come; the first is asked once more to begin with, untimed."""
    ask(Request(questions[0].text, mode, top_n=DEEP), (), ())
    return gathered(_in_turn(ask, questions, mode), questions, recipe, progress)


def gathered(trials: Iterable[Trial], questions: Sequence[Question], recipe: str, progress: ProgressCallback) -> Run:
    made = Run(recipe)
    known: dict[str, str] = {}
    for number, trial in enumerate(trials):
        made.mode = trial.mode
        if number < TIMED:
            made.latency.append(trial.took_ms)
        made.failures.update(trial.failures)
        made.confidence.append(trial.confidence)
        made.flagged.append(trial.no_good_match)
        made.scores.append(tuple(score for _, score in trial.fused))
        for name, ranking in ((WHOLE, trial.fused), *trial.signals.items()):
            rankings = made.rankings.setdefault(name, [])
            packs = made.packs.setdefault(name, [])
            rankings += [()] * (number - len(rankings))  # where it had failed
            packs += [(False,) * len(BUDGETS)] * (number - len(packs))
            rankings.append(_documents(ranking, known))
            packs.append(_packed(trial.read["" if name == WHOLE else name]))
        progress(Progress("asking", number + 1, len(questions), "queries"))
    for name in made.signals:
        made.rankings[name] += [()] * (len(questions) - len(made.rankings[name]))
        made.packs[name] += [(False,) * len(BUDGETS)] * (len(questions) - len(made.packs[name]))
    return made


def _documents(ranking: Sequence[tuple[DocId, float]], known: dict[str, str]) -> tuple[str, ...]:
    """Names repeat from query to query: each is kept once."""
    return tuple(known.setdefault(document, document) for document, _ in ranking)


def _packed(results: Sequence[Passage]) -> tuple[bool, ...]:
    """Whether the last of these, the first relevant one, is still in the pack of each size.

    A larger pack holds all that a smaller one does: what is in the smallest, or not in the largest, is settled.
    """
    if not results:
        return (False,) * len(BUDGETS)
    most = len(pack(results, BUDGETS[-1]).citations)
    if most < len(results):
        return (False,) * len(BUDGETS)
    held = [len(results) == len(pack(results, budget).citations) for budget in BUDGETS[:1]]
    held += [held[0] or len(results) == len(pack(results, budget).citations) for budget in BUDGETS[1:-1]]
    return (*held, True)


def peak_memory_mb() -> float | None:
    """The most memory that this process has held; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
