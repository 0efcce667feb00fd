"""A dataset from the results that were opened after a search, as `calibration.keep_opened` stores them."""

from __future__ import annotations

from watersmeet.core.errors import SourceProblem
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import Settings
from watersmeet.evaluate.classes import classes_of
from watersmeet.evaluate.data import Dataset, Question

NAME = "opened results"


def opened_dataset(index: str, settings: Settings) -> Dataset:
    """Queries with the documents opened after them. Documents that are no longer in the index are left out."""
    with Engine(index, settings) as engine:
        existing = {entry["document"] for entry in engine.documents()}
        found = engine.calibration.opened_results()
    relevant: dict[str, dict[str, int]] = {}
    for query, document in found:
        if document in existing:
            relevant.setdefault(query, {})[document] = 1
    if not relevant:
        raise SourceProblem(
            "the index has no opened results",
            "name a DATASET; or set `learn = true` and `keep_opened = true` under [calibration], then search",
        )
    return Dataset(NAME, [Question(text, text, named, classes_of(text, None)) for text, named in relevant.items()])
