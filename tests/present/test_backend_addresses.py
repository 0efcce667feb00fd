"""What is left out of a record for those who may only read; everything else stays."""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.present.backend_addresses import without_backends


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("proxy_pass_url", "https://tides.example.org/mcp"),
        ("mcp_endpoint", "https://tides.example.org/mcp"),
        ("home", "http://10.0.0.7:8000/mcp"),
        ("home", "http://tides.internal/mcp"),
        ("homes", [{"backend_host": "tides"}]),
    ],
)
@pytest.mark.parametrize("part", ["extra", "metadata"])
def test_addresses_of_backends_are_left_out(part: str, key: str, value: Any) -> None:
    record = {"path": "/tides", "description": f"Not {value}", part: {key: value, "url": "https://example.org/mcp"}}
    shown = without_backends([record])[0]
    assert shown[part].pop("url") == "https://example.org/mcp"
    assert shown[part] in ({}, {"homes": [{}]})
    assert {name: shown[name] for name in ("path", "description")} == {
        name: record[name] for name in ("path", "description")
    }
