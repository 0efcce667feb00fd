"""`watersmeet` in small steps with progress output, and with a log line for each embedded text.

python scripts/_counted.py WINDOW SLICE FILE ARGUMENTS        (run by killing_vectors.py)

WINDOW chunks are committed at a time, SLICE are kept in the cache at a time. The lines outlive a kill.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from watersmeet.embed._encoder import Encoder
from watersmeet.embed.hashed import Hashed
from watersmeet.engine.index.tiers import embedder_name, model_of
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import deepen
from watersmeet.face.cli import progress
from watersmeet.face.cli.main import main

PROBE = 4
"""Inputs with fewer tokens are not counted: loading a model embeds one letter as a test."""


def count(cls: type[Any], method: str, log: int) -> None:
    """A line for each text that this method has embedded."""
    real = getattr(cls, method)

    def counted(self: Any, texts: Sequence[Any]) -> Any:
        made = real(self, texts)
        os.write(log, b"1\n" * sum(len(text) > PROBE for text in texts))
        return made

    setattr(cls, method, counted)


if __name__ == "__main__":
    window, piece, file = sys.argv[1:4]
    del sys.argv[1:4]
    deepen.WINDOWS["dense"], deepen.CACHE_BATCH["dense"], progress.LOG_INTERVAL_SECONDS = int(window), int(piece), 0.0
    vars(deepen)["GENERAL_QUERIES"] = ("a",)  # queries are not counted, only texts
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    count(Encoder, "run", log)
    count(Hashed, "embed", log)
    settings = load()
    model_of(settings, "dense", embedder_name(settings, "dense")).ready()  # the kill is not meant for loading
    print("ready", file=sys.stderr, flush=True)
    main()
