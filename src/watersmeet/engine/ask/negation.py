"""Negations of two texts: do they deny the same, or does one deny what the other says?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from watersmeet.common.stems import stem
from watersmeet.core.tokens import QUESTION_WORDS

SCOPE = 3
"""Content words after a negation that it denies, within its clause."""
_CUES = frozenset("not no never none cannot without neither nor nothing nobody nowhere".split())
_CLAUSE_ENDS = frozenset("but because although though if when unless so which while until".split())
_CONTRACTIONS = ((re.compile(r"\bcan['’]t\b", re.I), "can not"), (re.compile(r"\bwon['’]t\b", re.I), "will not"))
_NOT = re.compile(r"n['’]t\b", re.I)
_TOKEN = re.compile(r"[a-z0-9][\w\-]*|[,;:.!?()\n—–]", re.I)
_PAIRS = (
    ("enable", "disable"),
    ("allow", "deny"),
    ("allow", "forbid"),
    ("allow", "refuse"),
    ("permit", "forbid"),
    ("accept", "reject"),
    ("accept", "refuse"),
    ("always", "never"),
    ("before", "after"),
    ("above", "below"),
    ("first", "last"),
    ("increase", "decrease"),
    ("more", "less"),
    ("more", "fewer"),
    ("true", "false"),
    ("minimum", "maximum"),
    ("upper", "lower"),
    ("required", "optional"),
    ("possible", "impossible"),
    ("include", "exclude"),
    ("open", "close"),
    ("start", "stop"),
    ("succeed", "fail"),
    ("public", "private"),
    ("mutable", "immutable"),
)
_ANTONYMS: dict[str, set[str]] = {}
for _one, _other in _PAIRS:
    _ANTONYMS.setdefault(stem(_one), set()).add(stem(_other))
    _ANTONYMS.setdefault(stem(_other), set()).add(stem(_one))
_PREFIXES = ("un", "in", "non", "dis", "im")


def conflict(claim: str, passage: str) -> str:
    """How a statement contradicts a passage, in words; empty if it does not."""
    said, there = list(_scopes(claim)), list(_scopes(passage))
    denied_here = {word for scope in said for word in scope}
    denied_there = {word for scope in there for word in scope}
    for scope in said:
        if not any(word in denied_there or _opposites(word) & _stems(passage) for word in scope):
            return f"it denies what the passage does not: {scope[0]}"
    words = _stems(claim)
    for scope in there:
        if scope[0] in words and not any(word in denied_here for word in scope):
            if not _opposites(scope[0]) & words:
                return f"the passage denies it: {scope[0]}"
    for word in words - denied_here:
        if word not in _stems(passage) and _opposites(word) & (_stems(passage) - denied_there):
            return f"the passage says the opposite of {word}"
    return ""


def _scopes(text: str) -> Iterator[list[str]]:
    """For each negation, the stems of the words that it denies."""
    tokens = _tokens(text)
    for at, token in enumerate(tokens):
        if token not in _CUES or (token in ("not", "no") and _is_idle(tokens, at)):
            continue
        scope: list[str] = []
        for word in tokens[at + 1 :]:
            if not word[0].isalnum() or word in _CLAUSE_ENDS or len(scope) == SCOPE:
                break
            if word not in QUESTION_WORDS and word not in _CUES:
                scope.append(stem(word))
        if scope:
            yield scope


def _is_idle(tokens: list[str], at: int) -> bool:
    """Whether a negation denies nothing: not only, whether or not, no longer than."""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    before = tokens[at - 1] if at else ""
    return after in ("only", "just") or (before == "or" and not after[:1].isalnum())


def spelled_out(text: str) -> str:
    """Text with `not` in full: `can't` as `can not`."""
    for pattern, instead in _CONTRACTIONS:
        text = pattern.sub(instead, text)
    return _NOT.sub(" not", text)


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(spelled_out(text))]


def _stems(text: str) -> set[str]:
    return {stem(token) for token in _tokens(text) if token[0].isalnum()}


def _opposites(word: str) -> set[str]:
    found = set(_ANTONYMS.get(word, ()))
    found |= {stem(prefix + word) for prefix in _PREFIXES} if len(word) > 3 else set()
    return found | {word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix) and len(word) > 5}
