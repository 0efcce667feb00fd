"""Queries in other languages: common words are left out, compounds are taken apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import Plan
from watersmeet.query.language import Language, compound_parts
from watersmeet.query.words import Words


class Known:
    """A text store that has these words."""

    def __init__(self, *words: str) -> None:
        self.known = words

    def frequency(self, field: str, text: str) -> int:
        return int(text in self.known)


def understood(text: str, *known: str, keep: bool = False) -> Plan:
    return Language(Known(*known), keep_common_words=keep).apply(Words().apply(Plan(text)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("wie ändere ich mein Passwort", ("andere", "passwort")),
        ("où se trouve le fichier pour les utilisateurs", ("trouve", "fichier", "utilisateurs")),
        ("wo ist das und wie ist der", ("wo", "ist", "das", "und", "wie", "der")),
        ("how do I change the password", ("change", "password")),
        ("Der Spiegel", ("der", "spiegel")),
    ],
)
def test_common_words_of_the_language_are_left_out_if_others_remain(query: str, words: tuple[str, ...]) -> None:
    assert understood(query).words == words


def test_they_can_be_kept() -> None:
    assert "wie" in understood("wie ändere ich mein Passwort", keep=True).words


def test_a_compound_that_no_document_has_is_taken_apart() -> None:
    plan = understood("wie behebe ich einen Dateisystemfehler", "dateisystem", "fehler")
    assert plan.variants == {"dateisystem": 0.5, "fehler": 0.5}
    assert understood("wie behebe ich einen Dateisystemfehler", "dateisystem", "dateisystemfehler").variants == {}
    assert understood("how do I fix a Dateisystemfehler", "dateisystem", "fehler").variants == {}


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("sicherheitskopie", ["sicherheit", "kopie"]),
        ("dateiname", ["datei", "name"]),
        ("unbekannt", []),
        ("kopien", []),
    ],
)
def test_parts(word: str, parts: list[str]) -> None:
    assert compound_parts(Known("sicherheit", "kopie", "datei", "name", "kopi"), word) == parts  # type: ignore[arg-type]


def test_a_page_with_the_parts_is_found(engine: Engine, write: Callable[..., Path]) -> None:
    pages = {
        "fehler.md": "# Fehler\n\nEin Fehler im Dateisystem wird vom Server gemeldet.\n",
        "andere.md": "# Anderes\n\nDer Server wird jede Nacht neu gestartet.\n",
    }
    engine.sync([write(pages)])
    assert [r.document for r in engine.search("wie behebe ich einen Dateisystemfehler").results] == ["fehler.md"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Das Café am Platz", "cafe"),
        ("Das Cafe am Platz", "café"),
        ("Die Straße ist lang", "STRASSE"),
        ("データベースの設定を変更する", "データベース"),
        ("如何更改数据库的设置", "数据库"),
        ("데이터베이스 설정을 변경하는 방법", "데이터베이스"),
        ("Łódź i Kraków", "lodz"),
        ("Настройка базы данных", "базы"),
    ],
)
def test_words_of_other_scripts_and_with_accents_are_found(
    engine: Engine, write: Callable[..., Path], text: str, query: str
) -> None:
    engine.sync([write({"a.md": f"# A\n\n{text}\n", "b.md": "# B\n\nSomething else altogether.\n"})])
    assert [result.document for result in engine.search(query).results] == ["a.md"]
