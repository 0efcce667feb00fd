"""The tokenizer, for texts and queries: words for lexical search, forms for exact search.

A *surface* is a token as written: `getUserById`, `--no-vectors`, `PII-2024-0042`, `C++`, `75.1725`.
Each surface gives
- its *words*, in lower case and without accents: the whole and its parts;
- its *forms*, if it is an identifier: with its case, and once more in lower case.

Scripts without spaces give overlapping pairs of characters. Stemming and stop words are up to the text store; the lists
of stop words are here because query steps use them too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain

VERSION = 2
"""Tokenizer version, part of an index's fingerprint: raise it whenever a text would give other tokens."""

STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these "
    "they this to was will with".split()
)
"""Stop words, left out of every index."""

QUESTION_WORDS = STOPWORDS | frozenset(
    "about all also am any been can could did do does doing explain find from get give had has have having he "
    "help her here hers him his how i its know let like look looking make may me might mine must my need "
    "our ours out over please she should show so some tell than them those through under up us use using want "
    "we were what when where which while who whom whose why would you your yours".split()
)
"""Stop words and words that people phrase questions with; they do not describe the topic."""

MAX_WORD_LENGTH = 64
MAX_FORM_LENGTH = 128
MAX_ABBREVIATION = 5

# Combining marks that belong to a word, in scripts that `\w` would split.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0963\u0966-\u0df3\u0e31"
    "\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
_PATTERN = (
    r"(?=[W\-])"  # no token begins elsewhere: this is quicker than to try
    r"((?:(?<![W\-])--?(?=[^\W\d_]))?"  # a flag's dashes
    r"[W]+(?:[.\-:/@\\+&]{1,3}[W]+)*"  # words, joined by the signs that join identifiers
    r"(?:\+\+|\#(?![W]))?)"  # C++, C#
    r"(?:['’](?:s|t|d|m|re|ve|ll)(?![W]))?"  # English contractions are not words
)
_ASCII = re.compile(_PATTERN.replace("[W]", r"\w").replace("[W\\-]", r"[\w\-]"), re.ASCII)

_JOINT = re.compile(r"\W+", re.ASCII)
_SIGN = re.compile(r"[\d_.\-:/@\\+&#]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MEMBER = re.compile(r"::|[.:/\\@]+")
_VERSION = re.compile(r"v?(\d++(?:\.\d++)++[\w.\-+]*+)", re.ASCII | re.IGNORECASE)  # possessive: linear time
_VERSION_STARTS = frozenset("vV0123456789")
_STROKES = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"})
"""Letters that Unicode does not decompose, with their usual replacements."""


_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Patterns compiled on first use: compiling takes longer than a query."""
    return re.compile(text)


_UNICODE = _PATTERN.replace("[W]", rf"[\w{_MARKS}]").replace("[W\\-]", rf"[\w{_MARKS}\-]")
_JOINT_UNICODE = rf"[^\w{_MARKS}]+"
_CAMEL = rf"(?:[^\W\d_]|[{_MARKS}])+|\d+"
_ACCENTS = "[\u0300-\u036f\u200c\u200d]"


def surfaces(text: str) -> list[str]:
    """Tokens of a text as written, in order."""
    if text.isascii():
        return _ASCII.findall(text)
    return _pattern(_UNICODE).findall(unicodedata.normalize("NFKC", text))


def words(text: str) -> list[str]:
    """Words of a text for lexical search, in order."""
    return joined(text)[0].split()


def forms(text: str) -> list[str]:
    """Forms of the identifiers of a text for exact search, each once, in order."""
    return joined(text)[1]


def both(text: str) -> tuple[list[str], list[str]]:
    """`words` and `forms` in one pass."""
    words, forms = joined(text)
    return words.split(), forms


def joined(text: str) -> tuple[str, list[str]]:
    """`words`, joined by spaces, and `forms`.

    No token reaches across white space, so a text is read piece by piece, and most pieces have been met before.
    """
    global _pieces
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    cache = _pieces
    if cache.room < 0:
        cache = _pieces = _Pieces()
    pieces = text.split()
    words = " ".join(filter(None, map(cache.__getitem__, pieces)))
    return words, list(dict.fromkeys(chain.from_iterable(filter(None, map(cache.forms.get, pieces)))))


_ROOM = 1 << 24
"""Characters of pieces that are cached; a short one counts as `MAX_WORD_LENGTH`."""
_OUTER = ".,:;!?()[]{}<>\"'`*|="
"""Signs that are no part of a token if they are at the beginning or end of a piece of text."""


class _Pieces(dict[str, str]):
    """Cache of words, joined by spaces, and of forms, by piece of text: texts repeat themselves, and a dict is the
    fastest cache. Few pieces have forms, and most words are the piece itself: less memory is quicker to read. A full
    cache is replaced, not emptied: another thread may be reading it."""

    def __init__(self) -> None:
        self.forms: dict[str, tuple[str, ...]] = {}
        self.room = _ROOM

    def __missing__(self, piece: str) -> str:
        if _is_plain(piece):
            words = (piece if piece.islower() else piece.lower()) if len(piece) <= MAX_WORD_LENGTH else ""
        elif piece.isascii() and ((inner := piece.strip(_OUTER)) == "" or (inner != piece and inner.isalnum())):
            words = self._joined(piece, [inner]) if inner else ""
        else:
            found = surfaces(piece)
            words = self._joined(piece, found) if found != [piece] else self._one(piece)
        self.room -= max(len(piece), MAX_WORD_LENGTH)
        self[piece] = words
        return words

    def _one(self, surface: str) -> str:
        if found := forms_of(surface):
            self.forms[surface] = found
        return " ".join(words_of(surface))

    def _joined(self, piece: str, surfaces: Sequence[str]) -> str:
        words = [self[surface] for surface in surfaces]
        found = [forms for surface in surfaces if (forms := self.forms.get(surface))]
        if found:
            self.forms[piece] = found[0] if len(found) == 1 else tuple(dict.fromkeys(chain.from_iterable(found)))
        return words[0] if len(words) == 1 else " ".join(filter(None, words))


_pieces = _Pieces()


def _is_plain(surface: str) -> bool:
    return surface.isascii() and surface.isalpha() and (surface.islower() or surface.istitle())


def words_of(surface: str) -> tuple[str, ...]:
    if _is_plain(surface):
        return (surface.lower(),) if len(surface) <= MAX_WORD_LENGTH else ()
    found: dict[str, None] = {}
    is_ascii = surface.isascii()
    for name in (_JOINT if is_ascii else _pattern(_JOINT_UNICODE)).split(surface):
        pieces = [piece for piece in name.split("_") if piece] if "_" in name else (name,) if name else ()
        for piece in pieces:
            if is_ascii:
                found[piece.lower()] = None
                if not (piece.islower() and piece.isalpha()):
                    for hump in _humps(piece):
                        found[hump] = None
                continue
            for word in (_fold(piece), *_humps(piece)):
                for unit in _units(word):
                    found[unit] = None
        if len(pieces) > 1:
            found[_fold("".join(pieces))] = None  # so that get_user finds getUser
    if len(surface) <= MAX_WORD_LENGTH and is_ascii:
        return tuple(found)
    return tuple(word for word in found if 0 < len(word) <= MAX_WORD_LENGTH)


def forms_of(surface: str) -> tuple[str, ...]:
    if not is_identifier(surface):
        return ()
    found = {surface: None}
    if surface.startswith("-"):
        found[surface.lstrip("-")] = None
    version = _VERSION.fullmatch(surface) if surface[0] in _VERSION_STARTS else None
    if version:
        found[version[1]] = None
    elif _MEMBER.search(surface):
        for member in _MEMBER.split(surface):
            plain = len(member) < 2 or member.isdigit() or (member.islower() and member.isalpha())
            if not plain and is_identifier(member):
                found[member] = None
    if not surface.islower():
        found |= dict.fromkeys([form.lower() for form in found])
    if len(surface) <= MAX_FORM_LENGTH // 2:  # no lower case form is more than twice as long
        return tuple(found)
    return tuple(form for form in found if len(form) <= MAX_FORM_LENGTH)


def is_identifier(surface: str) -> bool:
    """Whether a token is a name or a code: it has digits, joining signs, inner capitals, ALL CAPITALS, or is a flag."""
    if _SIGN.search(surface):
        return surface.strip("_") != ""
    return len(surface) > 1 and (surface.isupper() or _HUMP.search(surface) is not None)


def is_code(surface: str) -> bool:
    """Whether a token is an identifier other than a bare number or hyphenated words, which are common."""
    if not is_identifier(surface) or surface.isdigit():
        return False
    return surface.startswith("-") or not (surface.islower() and surface.replace("-", "").isalpha())


def is_abbreviation(surface: str) -> bool:
    """Whether a token is short capitals, which sentences are full of: AI, API, PMs."""
    capitals = surface.removesuffix("s") if surface[:-1].isupper() else surface
    return capitals.isalpha() and capitals.isupper() and len(capitals) <= MAX_ABBREVIATION


def identifiers(text: str) -> list[str]:
    """Identifiers of a query, if they are at least a third of its content tokens; otherwise none.

    Capitals alone do not count here: API and GitHub are too common. Bare numbers do not count either.
    """
    content = [surface for surface in surfaces(text) if surface.lower() not in QUESTION_WORDS and not surface.isdigit()]
    found = [s for s in content if is_code(s) and (s[0] == "-" or any(c.isdigit() or c == "_" for c in s))]
    return found if 3 * len(found) >= len(content) else []


@lru_cache(maxsize=1 << 14)
def _humps(piece: str) -> tuple[str, ...]:
    """Parts of a camelCase or letters-and-digits piece; empty if there is only one."""
    if piece.isdigit() or (piece.islower() and piece.isalpha()):
        return ()
    parts = [hump for run in _pattern(_CAMEL).findall(piece) for hump in _HUMP.split(run)]
    if len(parts) < 2:
        return ()
    return tuple([_fold(part) for part in parts if len(part) > 1 and not part.isdigit()])


def _fold(piece: str) -> str:
    """Piece in lower case, without the accents of Latin, Greek and Cyrillic and without zero-width joiners."""
    piece = piece.casefold()
    if piece.isascii():
        return piece
    return unicodedata.normalize("NFC", _pattern(_ACCENTS).sub("", unicodedata.normalize("NFD", piece))).translate(
        _STROKES
    )


def _units(word: str) -> list[str]:
    """The word itself, or overlapping pairs of characters in scripts without spaces."""
    if word.isascii() or not _pattern(_UNSPACED).search(word):
        return [word]
    found: list[str] = []
    end = 0
    for run in _pattern(_UNSPACED).finditer(word):
        if run.start() > end:
            found.append(word[end : run.start()])
        characters = run[0]
        found += [characters[i : i + 2] for i in range(len(characters) - 1)] or [characters]
        end = run.end()
    if end < len(word):
        found.append(word[end:])
    return found


_CODE = r"([A-Za-z]{1,8}[-_]?)(\d{2,8})"
_RANGE = _CODE + r"\s*(?:through|thru|to|until|--?|–|—|\.\.\.?)\s*(?:\1)?(\d{2,8})(?!\w)"
_TWO_DIGITS = re.compile(r"\d\d")
MAX_FAMILIES = 10


def families(form: str) -> list[str]:
    """Families of a code, closest first: LNK1186 belongs to lnk118x, lnk11xx, lnk1xxx, lnkxxxx."""
    code = _pattern(_CODE).fullmatch(form)
    if code is None:
        return []
    prefix, digits = code[1].lower(), code[2]
    return [prefix + digits[:-masked] + "x" * masked for masked in range(1, len(digits) + 1)]


def family_forms(text: str) -> list[str]:
    """Families of code ranges in a heading: "C4400 through C4599" gives c44xx and c45xx."""
    found: dict[str, None] = {}
    if not _TWO_DIGITS.search(text):  # most headings: quicker than to try the range everywhere
        return []
    for prefix, first, last in _pattern(_RANGE).findall(text):
        width = len(first)
        if len(last) != width or int(last) <= int(first):
            continue
        for masked in range(1, width + 1):
            low, high = int(first) // 10**masked, int(last) // 10**masked
            if high - low < MAX_FAMILIES:
                for block in range(low, high + 1):
                    head = str(block).zfill(width - masked) if width > masked else ""
                    found[prefix.lower() + head + "x" * masked] = None
                break
    return list(found)
