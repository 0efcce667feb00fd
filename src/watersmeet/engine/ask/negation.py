"""Negations of two texts: do they deny the same, or does one deny what the other says?"""

from __future__ import annotations

import re

from watersmeet.common.stems import stem
from watersmeet.core.tokens import QUESTION_WORDS

SCOPE = 3
"""Content words after a negation that it denies, within its clause."""
SAME = 0.85
"""Share of common words from which two texts have to have the same number of negations."""
_CUES = frozenset("not no never none cannot without neither nor nothing nobody nowhere".split())
_CLAUSE_ENDS = frozenset("and but because although though if when unless so which while until".split())
_WEAK = frozenset(
    "is are was were be been being do does did can could will would must should may has have had to a the".split()
)
"""Words between two negations that cancel each other."""
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
    said, there = scopes(claim), scopes(passage)
    denied_here = {word for scope in said for word in scope}
    denied_there = {word for scope in there for word in scope}
    words, theirs = _stems(claim), _stems(passage)
    for scope in said:
        named = scope[:1] if scope[0] in theirs else scope  # in other words, what follows has to tell
        if denied_there.isdisjoint(named) and not _opposites(scope[0]) & theirs:
            return f"it denies what the passage does not: {scope[0]}"
    for scope in there:
        if scope[0] in words and scope[0] not in denied_here and not _opposites(scope[0]) & words:
            return f"the passage denies it: {scope[0]}"
    if len(said) != len(there) and len(words & theirs) >= SAME * len(words | theirs):
        return "one of them has a negation more"
    for word in words - denied_here - theirs:
        if _opposites(word) & (theirs - denied_there):
            return f"the passage says the opposite of {word}"
    return ""


def scopes(text: str) -> list[list[str]]:
    """For each negation, the stems of the words that it denies: those after it in its clause, or the one before it.

    Two negations in a row cancel each other."""
    tokens = _tokens(text)
    found: list[list[str]] = []
    at = 0
    while at < len(tokens):
        if tokens[at] in _CUES and not _is_idle(tokens, at):
            again = next((n for n in range(at + 1, len(tokens)) if tokens[n] not in _WEAK), len(tokens))
            if again < len(tokens) and tokens[again] in _CUES:
                at = again + 1
                continue
            scope = _after(tokens, at) or _before(tokens, at)
            found += [scope] if scope else []
        at += 1
    return found


def _after(tokens: list[str], at: int) -> list[str]:
    scope: list[str] = []
    for word in tokens[at + 1 :]:
        if not word[0].isalnum() or word in _CLAUSE_ENDS or word in _CUES or len(scope) == SCOPE:
            break
        if word not in QUESTION_WORDS:
            scope.append(stem(word))
    return scope


def _before(tokens: list[str], at: int) -> list[str]:
    for word in reversed(tokens[:at]):
        if not word[0].isalnum():
            break
        if word not in QUESTION_WORDS:
            return [stem(word)]
    return []


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
