"""Training of the upper layers for queries, against fixed vectors of chunks.

The loss of a query is that of a softmax over all chunks of the examples, relevant ones together: every chunk that is
not relevant is a negative, the hard ones among them. The epoch that ranks the check questions best is taken; that may
be the one before training.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.embed._encoder import Encoder, session_of
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.evaluate.encoder.examples import Examples
from watersmeet.evaluate.encoder.graph import STATE, Graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    States = list[NDArray[np.float16]]

EPOCHS, MIN_STEPS, BATCH = 6, 60, 32
RATE, WARM_UP, DECAY, TEMPERATURE = 3e-4, 0.1, 0.01, 0.03
MAX_TOKENS = 128
"""Where a query is cut in training."""
PATIENCE = 2
"""Training ends after so many checks without a gain."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What training did: steps, CPU seconds, and the mean reciprocal rank on the check questions, by epoch."""

    steps: int
    cpu_seconds: float
    checked: tuple[float, ...]
    chosen: int


def train(
    graph: Graph,
    encoder: Encoder,
    examples: Examples,
    out: Path,
    minutes: float,
    seed: int,
    progress: ProgressCallback,
) -> Trained:
    """Train for at most so many CPU-minutes, and write the best graph to `out`."""
    import torch

    from watersmeet.evaluate.encoder.upper import parameters, vectors

    torch.set_num_threads(1)  # batches are small: more threads wait for each other, and the CPU time doubles
    start = time.process_time()
    lower = session_of(graph.lower())
    states, check = (_states(lower, encoder, part, progress) for part in (examples.train, examples.check))
    found = parameters(graph.weights())
    chunks = torch.from_numpy(examples.vectors)
    rates = [_checked(found, chunks, check, examples.check)]
    best, chosen = {name: value.detach().clone() for name, value in found.items()}, 0
    steps = max(MIN_STEPS, EPOCHS * len(states) // BATCH)
    optimizer = torch.optim.AdamW(list(found.values()), lr=RATE, weight_decay=DECAY)
    batches = _batches(len(states), steps, seed)
    done = 0
    for done, batch in enumerate(batches, 1):
        late = done / steps
        optimizer.param_groups[0]["lr"] = RATE * min(1.0, late / WARM_UP) * (1 - late + 1 / steps)
        queries = vectors(found, *_padded([states[place] for place in batch]))
        loss = _loss(queries @ chunks.T / TEMPERATURE, [examples.train[place][1] for place in batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress(Progress("training", done, steps, "steps"))
        over = time.process_time() - start > 60 * minutes
        if over or done % max(1, steps // EPOCHS) == 0 or done == steps:
            rates.append(_checked(found, chunks, check, examples.check))
            if rates[-1] > rates[chosen]:
                best, chosen = {name: value.detach().clone() for name, value in found.items()}, len(rates) - 1
        if over or len(rates) - 1 - chosen >= PATIENCE:
            break
    graph.write({name: value.numpy() for name, value in best.items()}, out)
    return Trained(done, round(time.process_time() - start, 1), tuple(round(rate, 4) for rate in rates), chosen)


def _states(lower: Any, encoder: Encoder, part: Sequence[tuple[str, list[int]]], progress: ProgressCallback) -> States:
    """Output of the lower layers for each query."""
    import numpy as np

    def state(text: str) -> Any:
        ids = np.array([encoder.tokens([text])[0][:MAX_TOKENS]], dtype=np.int64)
        (found,) = lower.run([STATE], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        return found[0].astype(np.float16)

    made: States = []
    for text, _ in part:
        made.append(state(text))
        progress(Progress("reading queries", len(made), len(part), "queries"))
    return made


def _padded(states: States) -> tuple[Any, Any]:
    import numpy as np
    import torch

    longest = max(map(len, states))
    padded = np.zeros((len(states), longest, states[0].shape[1]), dtype=np.float32)
    mask = np.zeros((len(states), longest), dtype=bool)
    for place, state in enumerate(states):
        padded[place, : len(state)], mask[place, : len(state)] = state, True
    return torch.from_numpy(padded), torch.from_numpy(mask)


def _loss(scores: Any, relevant: Sequence[list[int]]) -> Any:
    import torch

    right = torch.full_like(scores, -torch.inf)
    for place, answers in enumerate(relevant):
        right[place, answers] = 0.0
    return (torch.logsumexp(scores, 1) - torch.logsumexp(scores + right, 1)).mean()


def _checked(found: Any, chunks: Any, states: States, questions: Sequence[tuple[str, list[int]]]) -> float:
    """Mean reciprocal rank of the best relevant chunk."""
    import torch

    from watersmeet.evaluate.encoder.upper import vectors

    total = 0.0
    with torch.no_grad():
        for start in range(0, len(states), BATCH):
            scores = vectors(found, *_padded(states[start : start + BATCH])) @ chunks.T
            for row, (_, answers) in zip(scores, questions[start : start + BATCH], strict=True):
                total += 1 / (1 + int((row > row[answers].max()).sum()))
    return total / max(1, len(states))


def _batches(size: int, steps: int, seed: int) -> list[list[int]]:
    """Batches of places; each epoch has its own order."""
    order: list[int] = []
    chance = random.Random(seed)  # noqa: S311 - a sample
    while len(order) < steps * min(BATCH, size):
        order += chance.sample(range(size), size)
    width = min(BATCH, size)
    return [order[start : start + width] for start in range(0, steps * width, width)]
