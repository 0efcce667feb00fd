"""A passage of a web page is opened at its place."""

from __future__ import annotations

import pytest

from watersmeet.core.place import Place
from watersmeet.present.web_address import web_address


@pytest.mark.parametrize(
    ("path", "place", "text", "address"),
    [
        ("https://x.org/a", Place(anchor="set up"), "text", "https://x.org/a#set%20up"),
        ("https://x.org/a#b", Place(anchor="c"), "text", "https://x.org/a#b"),
        (
            "https://x.org/a",
            Place((3, 4)),
            "# Head\n\n- A **re-read** of [the](b.md) rules, and more words than that",
            "https://x.org/a#:~:text=A%20re%2Dread%20of%20the%20rules%2C%20and%20more%20words",
        ),
        ("https://x.org/a", Place(), "```\ncode\n```", "https://x.org/a"),
        ("/home/a.md", Place(), "text of a file", ""),
        ("javascript:alert(1)", Place(), "text", ""),
        ('https://x.org/"><b>', Place(), "text", ""),
    ],
)
def test_address(path: str, place: Place, text: str, address: str) -> None:
    assert web_address(path, place, text) == address
