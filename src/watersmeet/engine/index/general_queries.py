"""General queries: what people ask anywhere, on no subject in particular.

How near they come to an index, on average, is how near a query comes by chance. What is near in one collection is far
in another, so the confidence of an answer compares with this and not with a fixed cosine (docs/decisions/0031). The
mean of their vectors is what all queries have in common, whatever they ask for (docs/decisions/0047).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watersmeet.core.vectors import Vector

GENERAL_QUERIES: tuple[str, ...] = (
    "how long should I boil an egg",
    "who won the world cup in 1998",
    "convert 5 miles to kilometers",
    "what is the capital of Mongolia",
    "how do vaccines train the immune system",
    "causes of the first world war",
    "kill the process that listens on a port",
    "set up two-factor authentication",
    "docker container keeps restarting",
    "average rainfall in the Amazon basin",
    "book a table for four on Saturday evening",
    "translate this sentence into Japanese",
    "find cheap flights from Berlin to New York in May",
    "track my package",
    "generate an image of a castle at sunset",
    "create a calendar event for the dentist",
    "lyrics of a famous opera aria",
    "do I need a visa for Brazil",
    "melting point of tungsten",
    "heat transfer in turbulent pipe flow",
    "risk factors for stroke in young people",
    "economic impact of tourism on islands",
    "train a puppy not to bite",
    "history of the printing press",
    "teach fractions to third graders",
    "retirement savings at forty",
    "reset a forgotten password",
    "keyboard shortcut to rename a file",
    "roll back a failed deployment",
    "parse json from a web request",
    "monitor cpu usage of a server",
    "search text in many files at once",
    "schedule a job every night",
    "what is a mutex",
    "yoga for lower back pain",
    "when is the next solar eclipse",
    "biography of Marie Curie",
    "chess opening for beginners",
    "register a company in Estonia",
    "buy used furniture near me",
)


def packed(queries: Sequence[Vector]) -> str:
    """Mean of these vectors as text, for the facts of a tier."""
    import numpy as np

    return b64encode(np.mean(queries, axis=0).astype("<f2").tobytes()).decode()


def unpacked(text: str, dimension: int) -> Vector | None:
    """The vector of such a text; None if there is none of this dimension."""
    import numpy as np

    try:
        vector = np.frombuffer(b64decode(text, validate=True), dtype="<f2").astype(np.float32)
    except ValueError:
        return None
    return vector if vector.shape == (dimension,) and np.isfinite(vector).all() else None
