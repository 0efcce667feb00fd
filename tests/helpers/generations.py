"""Searches beside an index whose generations change places, whichever store it is in."""

from __future__ import annotations

import threading
import time
from collections import Counter

from watersmeet import Engine
from watersmeet.core.errors import WatersmeetError
from watersmeet.engine.index.generations import roll_back


def failures_while_rolling_back(
    engine: Engine, other: Engine, *, times: int, pause: float
) -> tuple[dict[str, int], int]:
    """What went wrong in the searches of four threads while another engine rolls back so many times, and how many
    were answered."""
    wrong: Counter[str] = Counter()
    answers = 0
    over = threading.Event()

    def ask() -> None:
        nonlocal answers
        while not over.is_set():
            try:
                answer = engine.search("otter badger", top_n=3)
            except (WatersmeetError, OSError, RuntimeError) as error:
                wrong[repr(error)] += 1
                continue
            answers += 1
            wrong.update(str(failure) for failure in answer.failures)
            if len(answer.results) != 3:
                wrong["too few results"] += 1

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(times):
        roll_back(other)
        time.sleep(pause)
    over.set()
    for thread in threads:
        thread.join()
    return dict(wrong), answers
