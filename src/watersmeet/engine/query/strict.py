"""What `--strict` asks for: every signal that the recipe and the settings name has voted, or there is no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watersmeet.core.errors import Degraded
from watersmeet.core.model import Failure
from watersmeet.engine.index.tiers import MISSING, TIERS, embedder_name
from watersmeet.engine.query.modes import ABSENT
from watersmeet.engine.settings.settings import Settings


def check_strict(failures: Sequence[Failure], silent: Mapping[str, str], settings: Settings) -> None:
    """Complains of a step that failed, and of a signal whose vectors are missing though the settings have a model."""
    for failure in failures:
        raise Degraded(f"{failure.by} could not run: {failure.reason}", failure.hint)
    for name, reason in silent.items():
        if embedder_name(settings, name):
            words_only = silent.get(TIERS[0]) == ABSENT
            hint = "`watersmeet deepen` makes the vectors that are missing" if words_only else MISSING
            raise Degraded(f"{name} does not vote: {reason}", hint)
