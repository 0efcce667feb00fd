"""A tokenizer cut down to one text reads it as the whole one does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from watersmeet.embed._one_text import MAX_LETTERS, plain_bpe, tokenizer_for

FILE = Path(__file__).parents[2] / "models" / "granite-30m" / "src" / "watersmeet_granite_30m" / "tokenizer.json"
DESCRIBED = plain_bpe(FILE.read_bytes())
WHOLE = Tokenizer.from_file(str(FILE))


@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from(["how", "do", "kube-proxy", "naïve", "日本", "\n", "'ll"]), max_size=9).map(" ".join)
)
def test_the_tokens_are_those_of_the_whole(text: str) -> None:
    assert DESCRIBED
    assert tokenizer_for(DESCRIBED, text).encode(text).ids == WHOLE.encode(text).ids


def test_pairs_may_be_lists() -> None:
    assert DESCRIBED
    merges = [pair.split(" ") for pair in DESCRIBED["model"]["merges"]]
    newer = {**DESCRIBED, "model": {**DESCRIBED["model"], "merges": merges}}
    text = "rename a property in the whole vault"
    assert tokenizer_for(newer, text).encode(text).ids == WHOLE.encode(text).ids


@pytest.mark.parametrize("text", ["say <mask> here", "a" * (MAX_LETTERS + 1)])
def test_some_texts_need_the_whole(text: str) -> None:
    assert DESCRIBED
    assert tokenizer_for(DESCRIBED, text) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"{}", b'{"model": {"type": "WordPiece"}}', b'{"model": {"type": "BPE", "byte_fallback": true}}'],
)
def test_another_kind_of_file_is_left_alone(content: bytes) -> None:
    assert plain_bpe(content) is None
