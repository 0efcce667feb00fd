"""Parameters of a question, the same for every interface, and the conversations that a server keeps."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from watersmeet.core.options import REQUIRED, option
from watersmeet.engine.ask.model import Turn, last_turns

if TYPE_CHECKING:
    from threading import Event

    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.ask.ask import OnText
    from watersmeet.engine.ask.model import AnswerText
    from watersmeet.engine.engine import Engine

MAX_CONVERSATIONS = 1000
MAX_CONVERSATIONS_PER_CALLER = 100
CONVERSATION_SECONDS = 3600.0
"""How long a conversation is kept after its last question."""


@dataclass(frozen=True, slots=True)
class AskParams:
    """Parameters of a question, declared once."""

    question: str = option(REQUIRED, "the question", least=1, longest=512, metavar="QUESTION")
    budget: int | None = option(
        None,
        "make the answer from at most this many tokens of passages; default: ask.budget of the settings, 2000",
        least=1,
        most=1_000_000,
        metavar="TOKENS",
    )
    filters: Mapping[str, Sequence[str]] = option(
        {}, "only documents with this value, as in search", metavar="K=V", flags=("--filter",)
    )


def run_ask(
    engine: Engine,
    params: AskParams,
    history: Sequence[Turn] = (),
    viewer: Viewer | None = None,
    stop: Event | None = None,
    on_text: OnText | None = None,
) -> AnswerText:
    """Answer a question. `stop` is set when the client has gone."""
    options: dict[str, Any] = {"viewer": viewer, "stop": stop.is_set if stop else None}
    options |= {"filters": params.filters} if params.filters else {}
    return engine.ask(params.question, on_text=on_text, budget=params.budget, history=history, **options)


class Conversations:
    """The last turns of each conversation, for a while. A conversation belongs to the caller who began it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._turns: OrderedDict[tuple[str, str], tuple[float, tuple[Turn, ...]]] = OrderedDict()

    def turns(self, caller: str, conversation: str) -> tuple[Turn, ...]:
        with self._lock:
            until, turns = self._turns.get((caller, conversation), (0.0, ()))
            return turns if time.monotonic() < until else ()

    def add(self, caller: str, conversation: str, turn: Turn) -> None:
        key, now = (caller, conversation), time.monotonic()
        with self._lock:
            until, turns = self._turns.pop(key, (0.0, ()))
            kept = turns if now < until else ()
            self._turns[key] = (now + CONVERSATION_SECONDS, last_turns((*kept, turn)))
            own = [other for other in self._turns if other[0] == caller]
            for other in own[:-MAX_CONVERSATIONS_PER_CALLER]:
                del self._turns[other]
            while self._turns and (len(self._turns) > MAX_CONVERSATIONS or next(iter(self._turns.values()))[0] < now):
                self._turns.popitem(last=False)
