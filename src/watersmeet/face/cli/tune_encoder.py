"""`watersmeet tune --encoder`: tune the encoder of queries, or undo that."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from watersmeet.core.errors import ConfigError
from watersmeet.engine.index.location import find_index, is_address
from watersmeet.face.cli.common import loaded, opened, print_json
from watersmeet.face.cli.progress import progress


def undo_encoder(index: str, as_json: bool, quiet: bool) -> None:
    """Return to the encoder of the settings."""
    from watersmeet.engine.index.query_encoder import undo

    with opened(index) as engine:
        engine.check()
        undone = undo(engine.index)
    if as_json:
        print_json({"undone": undone})
    elif not quiet:
        print("queries use the encoder of the settings again" if undone else "the index has no tuned encoder")


def run_tune_encoder(
    dataset: str, recipe: str, seed: int, minutes: float, index: str, as_json: bool, quiet: bool
) -> None:
    """Tune for an index, from a dataset or from the results opened there; exit code 1 if nothing was gained."""
    from watersmeet.evaluate.data import load as load_dataset
    from watersmeet.evaluate.encoder.tune import check_libraries, store, tune_encoder
    from watersmeet.evaluate.opened import opened_dataset

    if minutes <= 0:
        raise ConfigError("--minutes must be above 0", "leave it out for 2 CPU-minutes")
    check_libraries()
    settings = loaded(recipe=recipe)
    data = load_dataset(dataset) if dataset else None
    own = data is not None and data.corpus is not None and not index  # the dataset's own index, which is a cache
    place = "" if own else find_index(index)
    if place and is_address(place):
        raise ConfigError(f"{place} is not a folder", "the encoder is tuned for an index in a folder of this machine")
    data = data or opened_dataset(place, settings)
    with tempfile.TemporaryDirectory(prefix="watersmeet-") as scratch, progress(quiet or as_json) as callback:
        tuned = tune_encoder(data, settings, place, Path(scratch), minutes, seed, callback)
        if place:
            tuned = store(tuned, settings, place, Path(scratch))
    if as_json:
        print_json(tuned.to_json())
    else:
        print(f"{tuned.dataset}: {tuned.verdict}")
        for name, value in tuned.before.items():
            print(f"  {name:<8} {value:.4f} before, {tuned.after[name]:.4f} after")
        if not quiet:
            print(_by_documents(tuned.groups))
            print(_outcome(bool(tuned.folder), tuned.significant))
    if not tuned.significant:
        sys.exit(1)


def _by_documents(groups: dict[str, dict[str, float]]) -> str:
    trained, others = groups["trained_on"], groups["others"]
    return (
        f"  {trained['questions']} questions with a document that was trained on: {trained['delta']:+.4f} nDCG@10; "
        f"{others['questions']} others: {others['delta']:+.4f}"
    )


def _outcome(kept: bool, significant: bool) -> str:
    if kept:
        return "queries now use the tuned encoder; `watersmeet tune --encoder --undo` returns to the one before"
    if significant:
        return "nothing is stored: a dataset's own index is only for measuring. Name your index with --index"
    return "nothing is stored: queries use the same encoder as before"
