"""Language of a text, by its script and its most common words. Where there is doubt, it has none.

Words that are also English, or common in names and code, are in no list: `die`, `de` in Dutch names, `comment`, `in`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import islice

from watersmeet.core.tokens import surfaces, words_of

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "zh": "Chinese",
}  # fmt: skip
"""Languages that are recognized, by their codes."""

_COMMON = {
    "de": "der das und ist nicht ich ein eine einen einem einer mit für auf zu zum zur wie kann werden wird den dem des"
    " im auch sich sind wenn oder aber wo warum welche welcher mein meine nach über keine als aus bei durch diese"
    " dieser dieses nur noch mehr man muss wurde haben können vom beim",
    "fr": "le la les des une un est et dans pour que qui pas sur avec ce cette je vous nous où quel quelle au aux du de"
    " ne mon ma mes son sa ses par plus être sont peut fichier quand si il elle ou se d l",
    "es": "el la los las del que en un una es por para con cómo como se su sus al más está qué dónde mi puedo de lo"
    " esta este son ser si no y o cuando cada puede",
    "it": "il lo gli di che è un una per con non come della del dei delle nel nella sono si da questo questa quale"
    " perché posso dal alla al la le i più se viene può",
    "pt": "os as do da em um uma para com não que é como se dos das na por mais está ao meu minha qual onde de pelo"
    " pela são ou este esta quando seu sua nos",
    "nl": "het een van en dat niet op te met voor zijn aan hoe kan ik naar bij mijn de wordt worden of deze dit ook er"
    " als uit door om geen",
    "pl": "nie jest się że jak dla od czy przez po na do lub może oraz które który która tego są to i w z o ten jako"
    " przy tylko być",
    "cs": "je na se že jak pro nebo není jsou také který která které od do a v s z k být pokud při jako této toto",
    "sv": "och att det som är för på av med inte hur jag ett kan till den en eller om från har vid",
    "da": "og det er som på ikke jeg hvordan med til af et den en eller hvis kan der fra",
    "fi": "ja ei se että kuinka miten tai mutta ovat kun jos voi joka niin myös",
    "hu": "és az egy hogy nem van ez vagy meg ha ki mint csak hogyan",
    "ro": "și în cu nu este sunt pentru care din la pe un o sau cum ce dacă prin",
    "tr": "ve bir bu için ile nasıl olarak veya değil ne gibi daha en olan",
    "en": "the of and to is that for with are be this it as by not or from an on how what can you which was if will a"
    " in i my do does when where why we they has have your use at its these their must may should",
}
"""The most common words of languages in Latin script."""

_SHARED = frozenset(
    "a i o do on in an as at is or to no so me we he be by la le de en un per pro du el die den des was war hat of es"
    " se si da das em al con par son ma mes sa ses am man ten od po na ne ha co van te et ce ou mit it il lo non come"
    " del dei more plus".split()
)
"""Words that count only beside others: they are English, parts of names, or abbreviations."""

_MEANINGFUL = frozenset({"fichier"})
"""Common words of manuals that describe a topic."""
_LETTERS = {
    "de": "äöüß", "fr": "éèêëàâçîïôùûœ", "es": "áéíóúñ", "it": "àèéìòù", "pt": "ãõçáéíóúâê", "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž", "sv": "åäö", "da": "æøå", "fi": "äö", "hu": "áéíóöőúüű", "ro": "ăâîșțşţ", "tr": "çğışöü",
    "nl": "ëï",
}  # fmt: skip
"""Letters of languages in Latin script that English does not have."""
_LETTER_SETS = {language: frozenset(letters) for language, letters in _LETTERS.items()}
_SCRIPTS = {
    "ja": r"[\u3040-\u30ff\u31f0-\u31ff]",
    "zh": r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]",
    "ko": r"[\uac00-\ud7af\u1100-\u11ff]",
    "ru": r"[\u0400-\u052f]",
    "el": r"[\u0370-\u03ff\u1f00-\u1fff]",
    "ar": r"[\u0600-\u06ff\u0750-\u077f]",
    "he": r"[\u0590-\u05ff]",
    "th": r"[\u0e00-\u0e7f]",
    "hi": r"[\u0900-\u097f]",
}
_UKRAINIAN, _NOT_BULGARIAN = frozenset("іїєґ"), frozenset("ыэёіїє")

MAX_CHARACTERS = 4_000
MIN_SCRIPT_SHARE = 0.3
"""Share of the letters that must be of another script; Chinese and Japanese letters count thrice: words are short."""
MIN_WORDS = 3
"""A text of fewer words in Latin script has no language: it may be a name."""
MIN_SHARE, MIN_SHARE_LONG, LONG = 0.15, 0.06, 40
"""Share of a text's words that are common words of its language, or have its letters; in a text of `LONG` words less is
enough, since a manual has many names."""
AHEAD = 1.5
"""How many times as many there must be as English ones."""
HEAD, MIN_ENGLISH, MIN_LATIN = 12, 3, 5
"""Words of a query that decide. With so many English ones, or if it begins with so many that are not of the language,
it has none: "translate this sentence: ..." can be read, whatever the sentence is."""
MIN_BULGARIAN = 600
"""Cyrillic letters without one that Bulgarian lacks, from which a text is Bulgarian."""
MIN_LETTERS = 2
"""Letters of another script below which a text has no language: Greek letters stand in formulas."""


@cache
def _scripts() -> dict[str, re.Pattern[str]]:
    """Patterns of scripts, compiled when a text first needs them."""
    return {language: re.compile(letters) for language, letters in _SCRIPTS.items()}


@cache
def _by_word() -> dict[str, tuple[str, ...]]:
    """Languages of each common word."""
    found: dict[str, list[str]] = {}
    for language, words in _COMMON.items():
        for word in dict.fromkeys(words.split()):
            if len(word) > 1 or not word.isascii() or language == "en":  # single letters are names in formulas and code
                found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


@cache
def common_words(language: str) -> frozenset[str]:
    """Common words of a language in Latin script, as the tokenizer writes them; not those that also mean something."""
    return frozenset(word for text in _COMMON.get(language, "").split() for word in words_of(text)) - _MEANINGFUL


def language_of_query(text: str) -> str:
    """Code of the language of a query; empty if it cannot be told. Its beginning decides."""
    beginning = " ".join(text.split(None, HEAD)[:HEAD])
    language = language_of(beginning)
    if language in ("", "en"):
        return language
    by_word, words = _by_word(), _words(beginning)
    if sum("en" in by_word.get(word, ()) for word in words) >= MIN_ENGLISH:
        return ""
    if language not in _COMMON:
        return language if sum(map(str.isascii, words)) < MIN_LATIN else ""
    letters = _LETTER_SETS[language]
    first = words[:MIN_LATIN]
    return language if any(language in by_word.get(word, ()) or letters.intersection(word) for word in first) else ""


def language_of(text: str) -> str:
    """Code of the language of a text or query; empty if it cannot be told, as for names, codes and short queries."""
    text = text[:MAX_CHARACTERS]
    if not text.isascii():
        script = _script(text)
        if script:
            return script
    words = _words(text)
    if len(words) < MIN_WORDS:
        return ""
    return _latin(words)


def _words(text: str) -> list[str]:
    """Words in lower case, without identifiers and numbers."""
    return [surface.lower() for surface in surfaces(text) if surface.isalpha()]


def _script(text: str) -> str:
    """Language by script, if enough letters are not Latin."""
    counts = {language: len(pattern.findall(text)) for language, pattern in _scripts().items()}
    weight = {language: count * (3 if language in ("ja", "zh") else 1) for language, count in counts.items()}
    letters = sum(weight.values()) + sum(map(str.isalpha, text)) - sum(counts.values())
    best = max(weight, key=lambda language: weight[language])
    if counts[best] < MIN_LETTERS or weight[best] < MIN_SCRIPT_SHARE * letters:
        return ""
    if best == "zh" and counts["ja"] >= 0.1 * counts["zh"]:
        return "ja"
    if best == "ru":
        low = text.lower()
        if sum(map(_UKRAINIAN.__contains__, low)) >= 0.02 * counts["ru"]:
            return "uk"
        if counts["ru"] >= MIN_BULGARIAN and _NOT_BULGARIAN.isdisjoint(low):
            return "bg"
    return best


def _latin(words: Sequence[str]) -> str:
    """Language in Latin script, by common words and letters."""
    by_word = _by_word()
    counts: dict[str, int] = {}
    sure: dict[str, set[str]] = {}
    accented: dict[str, int] = {}
    for word in words:
        for language in by_word.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
            if word not in _SHARED:
                sure.setdefault(language, set()).add(word)
        if not word.isascii() and word not in by_word:
            for language, letters in _LETTER_SETS.items():
                if not letters.isdisjoint(word):
                    accented[language] = accented.get(language, 0) + 1
    english = counts.pop("en", 0)
    least = max(2.0, (MIN_SHARE_LONG if len(words) >= LONG else MIN_SHARE) * len(words))
    total = {language: count + accented.get(language, 0) for language, count in counts.items()}
    best = max(total, key=lambda language: (total[language], len(sure.get(language, ()))), default="")
    certain = len(sure.get(best, ())) >= 2 or bool(sure.get(best) and accented.get(best))
    if best and certain and total[best] >= least and total[best] > AHEAD * english:
        return best
    return "en" if english >= least and english >= total.get(best, 0) else ""


def shares(texts: Sequence[str]) -> dict[str, float]:
    """Share of the texts in each language, the most common first; texts without one are not counted."""
    found: dict[str, int] = {}
    for text in texts:
        language = language_of(text)
        if language:
            found[language] = found.get(language, 0) + 1
    total = sum(found.values())
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return {language: round(count / total, 4) for language, count in islice(ordered, len(NAMES))}


def named(languages: Sequence[str]) -> str:
    """Languages in words, for messages."""
    return " and ".join(NAMES.get(language, language) for language in languages)
