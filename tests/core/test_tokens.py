"""The tokenizer: identifiers survive, no script is lost, and no text is too strange or too long for it."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core import tokens
from watersmeet.core.tokens import MAX_FORM_LENGTH, MAX_WORD_LENGTH, both, forms, is_identifier, surfaces, words

# ---------------------------------------------------------------- identifiers


@pytest.mark.parametrize(
    ("text", "expected_words", "expected_forms"),
    [
        ("D40", "d40", "D40 d40"),
        ("30 CFR 75.1725", "30 cfr 75 1725", "30 CFR cfr 75.1725"),
        ("PII-2024-0042", "pii 2024 0042", "PII-2024-0042 pii-2024-0042"),
        ("--no-vectors", "no vectors", "--no-vectors no-vectors"),
        ("-v", "v", "-v v"),
        ("get_user_by_id", "get user by id getuserbyid", "get_user_by_id"),
        ("getUserById", "getuserbyid get user by id", "getUserById getuserbyid"),
        ("HTTPServer", "httpserver http server", "HTTPServer httpserver"),
        ("E0308", "e0308", "E0308 e0308"),
        ("v1.2.3", "v1 2 3", "v1.2.3 1.2.3"),
        ("2.0.0-rc.1", "2 0 rc 1", "2.0.0-rc.1"),
        ("C++", "c", "C++ c++"),
        ("C#", "c", "C# c#"),
        ("std::vector::push_back", "std vector push back pushback", "std::vector::push_back push_back"),
        ("kubernetes.io/hostname", "kubernetes io hostname", "kubernetes.io/hostname"),
        ("TERN_SYNC_INTERVAL", "tern sync interval ternsyncinterval", "TERN_SYNC_INTERVAL tern_sync_interval"),
        ("x86_64", "x86 64 x8664", "x86_64"),
        ("user@example.com", "user example com", "user@example.com"),
        ("__init__", "init", "__init__"),
        ("plain", "plain", ""),
        ("Aboleth", "aboleth", ""),
    ],
)
def test_identifiers(text: str, expected_words: str, expected_forms: str) -> None:
    assert words(text) == expected_words.split()
    assert forms(text) == expected_forms.split()


@pytest.mark.parametrize(
    "name",
    ["D40", "75.1725", "PII-2024-0042", "--no-vectors", "get_user_by_id", "E0308", "v1.2.3", "C++", "C#"],
)
@pytest.mark.parametrize(
    "sentence", ["Tell me about {}.", "({})", "`{}`", "what is {}?", "{}, please", "“{}”", "é {}!", "*{}*", "{}: it"]
)
def test_an_identifier_keeps_its_form_inside_a_sentence(name: str, sentence: str) -> None:
    assert name in forms(sentence.format(name))


def test_two_spellings_of_a_name_share_a_word() -> None:
    spellings = ["getUserById", "get_user_by_id", "GetUserByID", "GET_USER_BY_ID", "getuserbyid"]
    shared = set.intersection(*(set(words(spelling)) for spelling in spellings))
    assert "getuserbyid" in shared


def test_a_sign_alone_is_nothing() -> None:
    for text in ("", " ", "--", "- - -", "...", "++", "#", "_", "__", "'", "::", "/", "\n\t"):
        assert both(text) == ([], [])


def test_forms_come_once_and_words_as_often_as_they_stand() -> None:
    assert words("an E1 and an E1") == ["an", "e1", "and", "an", "e1"]
    assert forms("an E1 and an E1") == ["E1", "e1"]


@pytest.mark.parametrize(
    ("surface", "expected"), [("word", False), ("Word", False), ("I", False), ("US", True), ("aB", True), ("7", True)]
)
def test_what_is_an_identifier(surface: str, expected: bool) -> None:
    assert is_identifier(surface) is expected


# ---------------------------------------------------------------- the world's text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't", "don"),
        ("Kubernetes's users’ guide", "kubernetes users guide"),
        ("we'll they've I'm", "we they i"),
        ("l’été", "l ete"),
        ("O'Brien", "o brien"),
        ("日本語", "日本 本語"),
        ("人々", "人々"),
        ("犬", "犬"),
        ("東京 Tower2号", "東京 tower2 号 tower"),
        ("한국어", "한국 국어"),
        ("ไทย", "ไท ทย"),
        ("हिन्दी कर्मचारियों", "हिन्दी कर्मचारियों"),
        ("العَرَبِيَّة", "العَرَبِيَّة"),
        ("שלום", "שלום"),
        ("Москва́", "москва"),
        ("Ελλάδα", "ελλαδα"),
        ("İstanbul ıstanbul ISTANBUL", "istanbul istanbul istanbul"),
        ("Łódź Ærø straße", "lodz aero strasse"),
        ("می\u200cخواهم", "میخواهم"),
        ("ﬁne ｆｕｌｌ", "fine full"),
        ("🙂 smile 👩\u200d👩\u200d👧 🇫🇷", "smile"),
        ("\u0301", ""),
    ],
)
def test_scripts(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@given(st.text("aeioucnéèüñçåöﬁ日本がपि ", max_size=30))
def test_composed_and_decomposed_are_the_same(text: str) -> None:
    composed, apart = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert both(composed) == both(apart)


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_an_accent_elsewhere_changes_nothing_about_plain_text(text: str) -> None:
    spoken, exact = both(text)
    assert both(text + " \n é") == ([*spoken, "e"], exact)


# ---------------------------------------------------------------- any text at all

ENDINGS = re.compile(r"['’](?:s|t|d|m|re|ve|ll)(?![^\W_])", re.IGNORECASE)
ANY_TEXT = st.one_of(
    st.text(max_size=100),
    st.text("aAbZ019_.-:/@\\+&#'’ \n", max_size=100),
    st.text("aB1 \u0301\u0345\u093f\u0e33\u200d日がÉßİıŁﬁΣς١²\ud800", max_size=60),
)


@given(ANY_TEXT)
def test_words_are_words(text: str) -> None:
    for word in words(text):
        assert 0 < len(word) <= MAX_WORD_LENGTH
        assert word == word.casefold()
        assert not re.search(r"\s", word)


@given(ANY_TEXT)
def test_forms_are_forms(text: str) -> None:
    found = forms(text)
    assert len(set(found)) == len(found)
    for form in found:
        assert 0 < len(form) <= MAX_FORM_LENGTH
        assert not re.search(r"\s", form)


@given(ANY_TEXT)
def test_no_plain_letter_or_digit_is_lost(text: str) -> None:
    found = words(text)
    for run in re.findall(r"[A-Za-z0-9]+", ENDINGS.sub(" ", text)):
        assert any(run.lower() in word for word in found), (run, found)


@given(ANY_TEXT)
def test_the_same_text_gives_the_same_tokens(text: str) -> None:
    first = both(text)
    tokens._pieces.clear()
    assert both(text) == first
    assert (words(text), forms(text)) == first


@given(ANY_TEXT)
def test_a_text_has_the_tokens_of_its_surfaces(text: str) -> None:
    """They are read between white space, which no token reaches across."""
    found = surfaces(text)
    assert words(text) == [word for surface in found for word in tokens.words_of(surface)]
    assert forms(text) == [*dict.fromkeys(form for surface in found for form in tokens.forms_of(surface))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["a-", "-", "a", "aB", "_", "a_", "1.", "1", "v1.", "é-", "日", "a'", "\u0301", "x::", "+", "a+", "#", "a b ", "A"],
)
def test_a_long_run_of_anything_takes_linear_time(unit: str) -> None:
    """About a second for a megabyte; a quadratic step anywhere would take minutes for a quarter of that."""
    text = unit * (250_000 // len(unit)) + ":x"
    began = time.process_time()
    both(text)
    assert time.process_time() - began < 2.0


def test_the_cache_of_pieces_is_bounded_by_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_ROOM", 10_000)
    monkeypatch.setattr(tokens, "_pieces", tokens._Pieces())
    both("a short-one")
    assert "short-one" in tokens._pieces
    both("a-" * 10_000)
    assert both("another-one") == (["another", "one"], ["another-one"])
    assert {*tokens._pieces} == {"another-one"}


def test_surfaces_are_as_written() -> None:
    text = "Run `getUserById --no-vectors` on C++ 1.2.3, don't."
    assert surfaces(text) == ["Run", "getUserById", "--no-vectors", "on", "C++", "1.2.3", "don"]


def test_families_of_codes() -> None:
    assert tokens.families("LNK1186") == ["lnk118x", "lnk11xx", "lnk1xxx", "lnkxxxx"]
    assert tokens.families("D40") == ["d4x", "dxx"]
    assert tokens.families("scheduler") == tokens.families("v1.2.3") == []


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Compiler warnings C4400 through C4599", ["c44xx", "c45xx"]),
        ("Errors TRN-1000 to TRN-1099", [f"trn-10{i}x" for i in range(10)]),
        ("Codes E100-199", [f"e1{i}x" for i in range(10)]),
        ("From C4599 to C4400, and 2024 to 2026, and C44 to C4599", []),
        ("Linker errors (LNKxxxx)", []),
    ],
)
def test_ranges_in_headings_name_families(heading: str, expected: list[str]) -> None:
    assert tokens.family_forms(heading) == expected
