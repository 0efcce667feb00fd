"""Server-sent events in any division into blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.common.server_sent_events import Event, EventTooLarge, events

STREAM = "data: Möwen\n\n: a comment\nevent: end\r\ndata: über\rdata:  🌊\r\n\r\nid: 7\n\nretry: 5\ndata\n\n".encode()
EVENTS = [Event("", "Möwen"), Event("end", "über\n 🌊"), Event("", "")]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8).map(sorted))
def test_any_division_gives_the_same_events(cuts: list[int]) -> None:
    ends = [*cuts, len(STREAM)]
    blocks = [STREAM[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert list(events(blocks)) == EVENTS


def test_single_bytes() -> None:
    assert list(events(STREAM[at : at + 1] for at in range(len(STREAM)))) == EVENTS


def test_a_byte_order_mark_is_skipped_once() -> None:
    assert list(events([b"\xef\xbb\xbfdata: a\n\n"])) == [Event("", "a")]


def test_the_last_event_needs_no_blank_line() -> None:
    assert list(events([b"data: a\n\ndata: b"])) == [Event("", "a"), Event("", "b")]


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert list(events([b"data: a\xff\xc3", b"b\n\n"])) == [Event("", "a��b")]


def test_what_is_no_event_gives_none() -> None:
    assert list(events([])) == []
    assert list(events([b'{"error": "busy"}'])) == []
    assert list(events([b"<html>\n<p>busy\n\n"])) == []


@pytest.mark.parametrize("part", [b"data: xxxx", b"data: x\n", b": x\n"])
def test_an_event_without_an_end_is_refused(part: bytes) -> None:
    def endless():  # type: ignore[no-untyped-def]
        while True:
            yield part * 100

    with pytest.raises(EventTooLarge):
        list(events(endless(), most=10_000))


@given(st.binary(max_size=300))
def test_any_bytes(content: bytes) -> None:
    assert list(events([content])) == list(events(content[at : at + 1] for at in range(len(content))))
