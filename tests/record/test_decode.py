"""JSON, JSON lines and YAML, and what is wrong with a file that is neither."""

from __future__ import annotations

import json

import pytest

from watersmeet.core.entities import Refused
from watersmeet.record.decode import decode

BOMB = b"0: &b0 [x]\n" + b"".join(
    b"%d: &b%d [%s]\n" % (n, n, b", ".join([b"*b%d" % (n - 1)] * 9)) for n in range(1, 10)
)
"""Half a kilobyte that stands for 387 million values."""


@pytest.mark.parametrize(
    ("content", "where", "found"),
    [
        (b'{"a": 1}', "x.json", [("x.json", {"a": 1})]),
        (b'\xef\xbb\xbf{"a": 1}', "x.json", [("x.json", {"a": 1})]),
        (b'{"a": 1}\n\n{"a": 2}\n', "x.jsonl", [("x.jsonl:1", {"a": 1}), ("x.jsonl:3", {"a": 2})]),
        (b'{"a": 1}\n{"a": 2}\n', "-", [("-:1", {"a": 1}), ("-:2", {"a": 2})]),
        (b"a: 1\nb: [x]\n", "x.yaml", [("x.yaml", {"a": 1, "b": ["x"]})]),
        (b"registry:\n  x: {}\n", "-", [("-", {"registry": {"x": {}}})]),
    ],
)
def test_what_is_written(content: bytes, where: str, found: list[object]) -> None:
    assert list(decode(content, where)) == found


@pytest.mark.parametrize(
    ("content", "where", "reason"),
    [
        (b"\xff\xfe", "x.json", "not UTF-8"),
        (b'{"a": ', "x.json", "not JSON"),
        (b"[" * 100_000, "x.json", "not JSON"),
        (b"nothing", "x.json", "not JSON"),
        (b"a: [", "x.yaml", "not YAML"),
        (BOMB, "x.yaml", "more than 100,000 values"),
        (BOMB, "-", "more than 100,000 values"),
        (b"a: &a [*a]", "x.yaml", "refers to itself"),
        (b"a: &a {b: *a}", "x.yaml", "refers to itself"),
        (b"a: &a " + b"x" * 60_000 + b"\nb: [" + b"*a, " * 1000 + b"]", "x.yaml", "more than 100,000 values"),
        (b"[" * 100 + b"]" * 100, "x.yaml", "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_named(content: bytes, where: str, reason: str) -> None:
    (refused,) = decode(content, where)
    assert isinstance(refused, Refused)
    assert (refused.record, reason in refused.reason) == (where, True)


def test_a_bad_line_does_not_hide_the_others() -> None:
    good, bad, last = decode(b'{"a": 1}\n{"a": \n' + json.dumps({"a": 3}).encode(), "x.jsonl")
    assert (good, last) == (("x.jsonl:1", {"a": 1}), ("x.jsonl:3", {"a": 3}))
    assert isinstance(bad, Refused)
    assert bad.record == "x.jsonl:2"
