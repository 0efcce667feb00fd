"""The user's cache of vectors, which all indexes share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from watersmeet.engine.components import build
from watersmeet.engine.settings.settings import Settings, cache_folder

if TYPE_CHECKING:
    from watersmeet.core.vectors import VectorCache


def cache_place() -> str:
    return os.path.join(cache_folder(), "embeddings")


def open_cache(settings: Settings) -> VectorCache:
    cache: VectorCache = build("store", "embeddings", settings.of("store", "embeddings"), folder=cache_place())
    return cache
