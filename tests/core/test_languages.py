"""The language of texts and queries; in doubt there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.languages import NAMES, language_of, language_of_query, named, shares


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("wie ändere ich mein Passwort", "de"),
        ("Die Sicherung wird jede Nacht auf dem Server erstellt und nach einer Woche gelöscht.", "de"),
        ("où se trouve le fichier de configuration pour les utilisateurs", "fr"),
        ("cómo puedo cambiar la contraseña de mi cuenta", "es"),
        ("perché non posso aprire il file della configurazione", "it"),
        ("não consigo abrir o arquivo, qual é o problema com uma senha", "pt"),
        ("hoe kan ik het wachtwoord van mijn account wijzigen", "nl"),
        ("jak można zmienić hasło i czy jest to bezpieczne dla się", "pl"),
        ("hur kan jag byta lösenord och vad är det för fel på kontot", "sv"),
        ("как изменить пароль", "ru"),
        ("як змінити пароль і що це", "uk"),
        ("パスワードを変更する方法", "ja"),
        ("如何更改密码", "zh"),
        ("비밀번호를 변경하는 방법", "ko"),
        ("πώς αλλάζω τον κωδικό", "el"),
        ("كيف أغير كلمة المرور", "ar"),
        ("how do I change the password of my account?", "en"),
        ("why are my changes slow to arrive?", "en"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of(text) == language
    assert language_of_query(text) == language


@pytest.mark.parametrize(
    "query",
    [
        *(
            "",
            "kanban",
            "TRN-1042",
            "get_user_by_id",
            "Björn Müller",
            "São Paulo",
            "Ludwig van Beethoven",
            "des moines",
        ),
        *(
            "café résumé parsing",
            "El Niño",
            "La La Land",
            "die cast",
            "der",
            "la",
            "naïve Bayes classifier",
            "µs per op",
        ),
        *(
            "α-helix structure",
            "β-catenin",
            "Ångström units",
            "Éric Évrard",
            "in situ",
            "de facto standard",
            "C# lambda",
        ),
        *(
            "rotate keys",
            "kubectl get pods",
            "non plus ultra",
            "per se",
            "en passant",
            "Gödel numbering",
            "--no-telemetry",
        ),
    ],
)
def test_names_codes_and_short_queries_have_none(query: str) -> None:
    assert language_of_query(query) in ("", "en")


@pytest.mark.parametrize(
    "query",
    [
        'Translate this sentence into English: "Das ist nicht der Weg, den ich mit dem Auto nehmen kann"',
        'Create Japanese audio from the following text: "こんにちは、私たちはあなたの助けが必要です。"',
        "what does 'je ne sais pas' mean in the song",
    ],
)
def test_an_english_question_about_a_foreign_sentence_is_not_foreign(query: str) -> None:
    assert language_of_query(query) in ("", "en")


@given(st.text(max_size=200))
def test_any_text_has_one_or_none(text: str) -> None:
    assert language_of(text) in ("", *NAMES)
    assert language_of_query(text) in ("", *NAMES)


def test_code_with_german_comments_is_read_by_its_words() -> None:
    code = "def lade_datei(pfad):\n    # wenn die Datei nicht vorhanden ist, wird eine neue mit dem Namen erstellt\n"
    assert language_of(code * 3) == "de"


def test_shares_of_texts() -> None:
    texts = [
        "Das ist nicht der Weg und auch kein Ziel.",
        "This is not the way to the goal.",
        "42",
        "Wo ist das und wie?",
    ]
    assert shares(texts) == {"de": 0.6667, "en": 0.3333}
    assert shares([]) == {}
    assert named(["de", "xx"]) == "German and xx"
