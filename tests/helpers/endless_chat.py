"""A chat model that does not come to an end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

from watersmeet.core.chat import Message

SECONDS = 30.0


class EndlessChat:
    """A model that talks until it is closed."""

    name = "endless"

    def __init__(self) -> None:
        self.closed = threading.Event()

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
        until = time.monotonic() + SECONDS
        try:
            while time.monotonic() < until:
                yield "Rotate keys every quarter [1]. "
                time.sleep(0.01)
        finally:
            self.closed.set()
