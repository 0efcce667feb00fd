"""No secret in what is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.common.redaction import redact, secrets_of, shown


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.test/x", "https://a.test/x"),
        ("https://me:pass@a.test:8/x", "https://***@a.test:8/x"),
        ("https://token@a.test", "https://***@a.test"),
        ("https://a@b:c@d.test/", "https://***@d.test/"),
        ("https://a.test/x?key=abc&page=2", "https://a.test/x?key=***&page=***"),
        ("https://a.test/x?abc", "https://a.test/x?***"),
        ("https://a.test/x?a=b=c;d=", "https://a.test/x?a=***;d="),
        ("https://a.test/x#token=abc", "https://a.test/x"),
        ("https://[me:pass@a.test", "***"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, expected: str) -> None:
    assert shown(url) == expected


WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_~", min_size=8, max_size=20)


@given(WORDS, WORDS, WORDS, WORDS)
def test_whatever_repeats_them(key: str, password: str, value: str, cookie: str) -> None:
    url = f"https://me:{password}@docs/?a={value}"
    secrets = secrets_of(url, {"Authorization": f"Bearer {key}", "Cookie": cookie, "Accept": "text/html"})
    said = redact(f"Bearer {key} {url} {value}{password} {cookie} {key}! text/html", secrets)
    assert not any(secret in said for secret in (key, password, value, cookie))
    assert said.endswith("! text/html")


def test_also_in_other_spellings() -> None:
    secrets = secrets_of("https://me:p%40ssword@a.test/?sig=a%2Bbcdef", {})
    assert redact("p@ssword p%40ssword a+bcdef a%2Bbcdef bWU6cEBzc3dvcmQ=", secrets) == "*** *** *** *** ***"


def test_a_short_value_of_a_query_is_no_secret_elsewhere() -> None:
    assert redact("answered 200", secrets_of("https://a.test/?page=2", {})) == "answered 200"
