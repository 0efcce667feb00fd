"""`watersmeet eval --ask`."""

from __future__ import annotations

import random
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.engine.settings.settings import Settings
from watersmeet.evaluate.answers import measure_answers
from watersmeet.evaluate.data import check_indexed
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.index import indexed
from watersmeet.face.cli.common import print_json, table
from watersmeet.face.cli.progress import progress

SHOWN = ("citation_precision", "answer_recall", "refused", "foreign_refused", "supported", "tokens", "latency_ms")


def eval_ask(
    dataset: str,
    foreign: tuple[str, ...],
    limit: int,
    seed: int,
    fresh: bool,
    settings: Settings,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure answers and print the figures; of foreign queries as many as of the dataset's, at most."""
    if not dataset:
        raise ConfigError("--ask needs a dataset", "name a folder with corpus.jsonl, queries.jsonl and qrels.tsv")
    data = load_dataset(dataset).limited(limit, seed)
    others = [question.text for name in foreign for question in load_dataset(name).questions]
    draw = random.Random(seed)  # noqa: S311 - a sample
    others = draw.sample(others, min(len(others), len(data.questions)))
    with progress(quiet or as_json) as callback:
        own = index or data.corpus is None
        place = find_index(index) if own else indexed(data, settings, "", callback, fresh).folder
        with Engine(place, settings) as engine:
            if data.corpus is None:
                check_indexed(data, (entry["document"] for entry in engine.documents()))
            figures = measure_answers(engine, data.questions, others, progress=callback)
    report: dict[str, Any] = {"dataset": data.name, "recipe": settings.recipe, "seed": seed, **figures}
    if as_json:
        print_json(report)
        return
    if not quiet:
        print(f"{data.name}: {report['questions']} questions, {report['foreign']} foreign ones, by {report['model']}")
    head = ["", "ask", "top 5"]
    rows = [
        [name, *("-" if report[way][name] is None else f"{report[way][name]:g}" for way in head[1:])] for name in SHOWN
    ]
    table(head, rows)
