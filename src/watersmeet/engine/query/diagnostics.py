"""Log lines of searches: counts and scores, never the query.

Written only if the program has imported `logging`; importing it for a command would cost more than the search.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from watersmeet.common.redaction import excerpt
from watersmeet.core.entities import TOOL
from watersmeet.core.model import ChunkId, Passage
from watersmeet.engine.query.modes import VECTORS
from watersmeet.engine.query.pipeline import Outcome
from watersmeet.engine.settings.settings import Settings, load


def log_enabled() -> bool:
    """Whether the search log is enabled."""
    logging = sys.modules.get("logging")
    return logging is not None and bool(logging.getLogger("watersmeet.search").isEnabledFor(logging.INFO))


def load_settings() -> Settings:
    """Default settings, of the working folder. Untrusted values that are ignored are logged as warnings."""
    settings = load()
    if settings.ignored:
        import logging

        for one in settings.ignored:
            logging.getLogger("watersmeet.settings").warning("%s; %s", one.what, one.hint)
    return settings


def enable_log(level: str) -> None:
    """Write the search log to standard error: `info` counts what was ranked, `debug` also the score of each result."""
    import logging

    log = logging.getLogger("watersmeet")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.handlers = [handler]
    log.setLevel(level.upper())
    log.propagate = False


def log_search(
    outcome: Outcome, passages: Mapping[ChunkId, Passage], boosts: Mapping[ChunkId, float] | None = None
) -> None:
    """Log a search. `boosts`: of registry entities, whose score by words is a boost; documents have that of BM25."""
    if "logging" not in sys.modules:
        return
    import logging

    log = logging.getLogger("watersmeet.search")
    if not log.isEnabledFor(logging.INFO):
        return
    name = outcome.fused.by.upper()
    vector_chunks = {hit.chunk for ranking in outcome.rankings if ranking.by in VECTORS for hit in ranking.hits}
    keyword_chunks = {hit.chunk for ranking in outcome.rankings if ranking.by not in VECTORS for hit in ranking.hits}
    log.info("%s inputs: %d vector-ranked docs, %d keyword-ranked docs", name, len(vector_chunks), len(keyword_chunks))
    for failure in outcome.failures:
        log.info("%s could not run: %s", failure.by, failure.reason)
    raw = {hit.chunk: hit.score for hit in outcome.fused.hits}
    for hit in outcome.ranking.hits:
        passage = passages.get(hit.chunk)
        if passage is not None:
            by_words, kind = next((e.score for e in hit.evidence if e.by in ("lexical", "keyword")), 0.0), "lexical"
            if boosts is not None and passage.kind != TOOL:  # a tool is graded, not boosted
                by_words, kind = boosts.get(hit.chunk, 0.0), "text_boost"
            score = raw.get(hit.chunk, hit.score)
            title = excerpt(passage.title, ())  # on one line: a name cannot look like another entry
            log.debug("%s score for '%s' (type=%s): %.6f, %s=%.1f", name, title, passage.kind, score, kind, by_words)
