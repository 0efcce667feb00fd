"""Languages of an index, and which models do not vote because of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from watersmeet import Engine
from watersmeet.core.errors import Degraded
from watersmeet.engine.index.languages import abstentions, language_shares, refresh, unread
from watersmeet.engine.index.state_names import LANGUAGES
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import cli

GERMAN = {
    "sicherung.md": "# Sicherung\n\nDie Sicherung wird jede Nacht auf dem Server erstellt und dann gelöscht.\n",
    "schlüssel.md": "# Schlüssel\n\nDer Schlüssel ist ein Jahr gültig und kann nicht mit anderen geteilt werden.\n",
    "fehler.md": "# Fehler\n\nDer Fehler TRN-1042 bedeutet, dass der Schlüssel abgelaufen oder nicht lesbar ist.\n",
}
ENGLISH = {
    "backup.md": "# Backup\n\nThe backup is made on the server every night and is deleted after a week.\n",
    "keys.md": "# Keys\n\nThe key is valid for a year and cannot be shared with others. Schlüssel is German for key.\n",
    "errors.md": "# Errors\n\nThe error TRN-1042 means that the key has expired or was not read.\n",
}
QUESTION = "wie lange ist der Schlüssel gültig?"


@pytest.fixture
def opened(tmp_path: Path, write: Callable[..., Path]) -> Iterator[Callable[[dict[str, str]], Engine]]:
    """An engine with the shipped table of token vectors, which is for English."""
    engine = Engine(tmp_path / "index", load(flags={"index": {"dense": ""}}))

    def fill(files: dict[str, str]) -> Engine:
        engine.sync([write(files)])
        return engine

    yield fill
    engine.close()


def test_languages_are_measured_by_a_sync_without_vectors_too(engine: Engine, write: Callable[..., Path]) -> None:
    assert language_shares(engine.index) == {}
    folder = write(GERMAN)
    engine.sync([folder])
    assert language_shares(engine.index) == {"de": 1.0}
    assert engine.status()["languages"] == {"de": 1.0}
    write(ENGLISH)
    engine.sync([folder])
    assert language_shares(engine.index) == {"de": 0.5, "en": 0.5}


def test_a_small_change_is_not_measured(engine: Engine, write: Callable[..., Path]) -> None:
    text = "The backup is made on the server every night, and it is kept for a week.\n"
    folder = write({f"{n}.md": f"# Note {n}\n\n{text}" for n in range(40)})
    engine.sync([folder])
    state = engine.index.state(LANGUAGES)
    version = state.version()
    write({"more.md": "# More\n\nDas ist nicht der Weg und auch nicht das Ziel.\n"})
    engine.sync([folder])
    assert state.version() == version
    refresh(engine.index)
    assert state.version() == version


def test_what_cannot_be_read_is_as_if_never_measured(engine: Engine, write: Callable[..., Path]) -> None:
    engine.sync([write(GERMAN)])
    file = Path(engine.folder) / LANGUAGES
    for content in ("", "{", "[]", '{"version": 1}', '{"version": 9, "chunks": 1, "last_row": 1, "shares": {}}'):
        file.write_text(content)
        assert language_shares(engine.index) == {}
    refresh(engine.index)
    assert language_shares(engine.index) == {"de": 1.0}


def test_share_that_a_model_does_not_read() -> None:
    assert unread({"de": 0.7, "en": 0.3}, ("en",)) == pytest.approx(0.7)
    assert unread({"de": 0.7, "en": 0.3}, ("en", "de")) == 0
    assert unread({"de": 0.7}, ()) == 0


@pytest.mark.model
def test_a_foreign_query_is_answered_with_words(opened: Callable[[dict[str, str]], Engine]) -> None:
    engine = opened(ENGLISH)
    answer = engine.search(QUESTION)
    assert answer.mode == "lexical"
    assert answer.results[0].document == "keys.md"
    assert answer.silent["static"] == (
        "it reads English, and the query is in German; `embed.onnx.model` can name a multilingual model"
    )
    assert answer.failures == ()
    with pytest.raises(Degraded, match="static not used: it reads English") as raised:
        engine.search(QUESTION, strict=True)
    assert "--mode lexical" in raised.value.hint


@pytest.mark.model
@pytest.mark.parametrize("query", ["how long is the key valid?", "Schlüssel", "error TRN-1042", "key server", "Müller"])
def test_other_queries_are_not_affected(opened: Callable[[dict[str, str]], Engine], query: str) -> None:
    answer = opened(ENGLISH).search(query)
    assert answer.mode == "hybrid"
    assert "static" not in answer.silent


@pytest.mark.model
def test_in_a_foreign_index_words_answer_all_queries(opened: Callable[[dict[str, str]], Engine]) -> None:
    engine = opened(GERMAN)
    for query, document in (
        ("Schlüssel gültig", "schlüssel.md"),
        ("TRN-1042", "fehler.md"),
        (QUESTION, "schlüssel.md"),
    ):
        answer = engine.search(query)
        assert (answer.mode, answer.results[0].document) == ("lexical", document)
        assert "it reads English" in answer.silent["static"]
    assert "most of the index is in German" in engine.search("TRN-1042").silent["static"]
    assert engine.search(QUESTION, mode="static").mode == "static"
    check = next(check for check in engine.doctor() if check.name == "languages")
    assert check.ok
    assert check.detail == "German 100%; static cannot read 100% of the passages"
    assert "embed.onnx.model" in check.hint


@pytest.mark.model
def test_no_model_is_loaded_for_english(
    opened: Callable[[dict[str, str]], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened(ENGLISH)
    monkeypatch.setattr("watersmeet.engine.index.languages.model_of", lambda *_: pytest.fail("a model was looked at"))
    assert abstentions(engine.index, engine.settings, "how long is the key valid?", {"static": 1.0}) == {}


def test_status_names_the_languages(engine: Engine, write: Callable[..., Path]) -> None:
    engine.sync([write(GERMAN)])
    shown = CliRunner().invoke(cli, ["status", "--index", engine.folder])
    assert "  languages   German 100%" in shown.output.splitlines()
