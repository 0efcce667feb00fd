"""A tokenizer cut down to one text reads it as the whole one does, by the table of tokens beside its file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from watersmeet.embed._one_text import MAX_LETTERS, TextTokenizer, tokenizer_for
from watersmeet.embed._token_table import NAME, TokenTable, open_table, table_of

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "BPE": ROOT / "models" / "granite-30m" / "src" / "watersmeet_granite_30m",
    "WordPiece": ROOT / "src" / "watersmeet" / "embed" / "potion",
}
WHOLE = {kind: Tokenizer.from_file(str(folder / "tokenizer.json")) for kind, folder in FOLDERS.items()}


def table(folder: Path) -> TokenTable:
    found = open_table(folder)
    assert found
    return found


TABLES = {kind: table(folder) for kind, folder in FOLDERS.items()}
KINDS = pytest.mark.parametrize("kind", FOLDERS)


@KINDS
@given(
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(["how", "do", "kube-proxy", "naïve", "Ünïcode", "日本", "\n", "'ll", "##s", "x" * 101]),
        max_size=9,
    ).map(" ".join)
)
def test_the_tokens_are_those_of_the_whole(kind: str, text: str) -> None:
    made = tokenizer_for(TABLES[kind], text)
    if made is not None:
        assert made.encode(text).ids == WHOLE[kind].encode(text).ids


@KINDS
def test_a_table_has_all_tokens_of_its_file(kind: str) -> None:
    """If this fails, run scripts/token_tables.py."""
    folder = FOLDERS[kind]
    assert (folder / NAME).read_bytes() == table_of((folder / "tokenizer.json").read_bytes())
    vocabulary = WHOLE[kind].get_vocab()
    assert TABLES[kind].size == len(vocabulary)
    assert all(TABLES[kind].number(token) == number for token, number in vocabulary.items())
    assert TABLES[kind].entry("no such token") is None


@KINDS
def test_only_the_first_text_is_read_by_the_table(kind: str) -> None:
    made: list[Any] = []

    def whole() -> Any:
        made.append(WHOLE[kind])
        return WHOLE[kind]

    tokenizer = TextTokenizer(whole, lambda limited: limited, TABLES[kind])
    first = tokenizer.ids("rename a property in the whole vault")
    assert not made
    assert first == tokenizer.ids("rename a property in the whole vault")
    assert tokenizer.ids_of_each(["one", "two"], special=False) == [
        tokenizer.ids(text, special=False) for text in ("one", "two")
    ]
    assert len(made) == 1


def test_pairs_may_be_lists() -> None:
    described = json.loads((FOLDERS["BPE"] / "tokenizer.json").read_bytes())
    described["model"]["merges"] = [pair.split(" ") for pair in described["model"]["merges"]]
    newer = table_of(json.dumps(described).encode())
    older = (FOLDERS["BPE"] / NAME).read_bytes()
    assert newer.partition(b"\n")[2][4 * 65_537 :] == older.partition(b"\n")[2][4 * 65_537 :]


@pytest.mark.parametrize("text", ["say <mask> here", "a" * (MAX_LETTERS + 1), "".join(map(chr, range(0x4E00, 0x4E80)))])
def test_some_texts_need_the_whole(text: str) -> None:
    assert tokenizer_for(TABLES["BPE"], text) is None


@pytest.mark.parametrize("option", ["dropout", "byte_fallback", "ignore_merges"])
def test_a_model_that_may_read_otherwise_is_left_alone(option: str) -> None:
    made = TABLES["BPE"]
    described = {**made.described, "model": {**made.described["model"], option: 0.5}}
    assert tokenizer_for(TokenTable(described, made.size, made.content, made.buckets), "a text") is None


@pytest.mark.parametrize("damage", ["other tokenizer", "cut off", "empty", "no table"])
def test_a_table_that_does_not_fit_is_not_used(damage: str, tmp_path: Path) -> None:
    for name in (NAME, "tokenizer.json"):
        shutil.copy(FOLDERS["WordPiece"] / name, tmp_path / name)
    content = (tmp_path / NAME).read_bytes()
    if damage == "other tokenizer":
        (tmp_path / "tokenizer.json").write_bytes((FOLDERS["BPE"] / "tokenizer.json").read_bytes())
    elif damage == "no table":
        (tmp_path / NAME).unlink()
    else:
        (tmp_path / NAME).write_bytes(content[: {"cut off": 300_000, "empty": 0}[damage]])
    assert open_table(tmp_path) is None
