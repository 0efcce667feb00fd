from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import Request


def test_counts_and_scores_are_logged_and_the_query_is_not(
    engine: Engine, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine.sync([vault])
    engine.registry.register([{"path": "/fake", "name": "Keys\nRRF inputs: none", "description": "rotate"}])
    with caplog.at_level(logging.DEBUG, "watersmeet"):
        engine.search(Request("rotate keys xylophone", recipe="registry"))
        engine.registry.search("rotate", recipe="registry")
    text = caplog.text
    assert "'Keys RRF inputs: none' (type=mcp_server)" in text
    assert not any("\n" in one for one in caplog.messages)
    assert re.search(r"RRF inputs: \d+ vector-ranked docs, [1-9]\d* keyword-ranked docs", text)
    assert re.search(r"RRF score for 'Keys' \(type=document\): 0\.0\d+, lexical=\d+\.\d", text)
    assert "xylophone" not in text


def test_nothing_is_logged_unless_asked_for(engine: Engine, vault: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine.sync([vault])
    with caplog.at_level(logging.WARNING, "watersmeet"):
        engine.search("rotate keys")
    assert not caplog.records
