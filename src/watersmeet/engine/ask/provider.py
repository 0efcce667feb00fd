"""The chat model that the settings name."""

from __future__ import annotations

from watersmeet.core.chat import Chat
from watersmeet.engine.settings.settings import Settings

EXTRACTIVE = "extractive"
"""The provider that quotes: no model is called."""


def chat_model(settings: Settings) -> Chat | None:
    """The chat model; none if answers are quoted."""
    name = settings.section("ask").chat
    if name == EXTRACTIVE:
        return None
    from watersmeet.engine.models import chat

    return chat(settings, name)
