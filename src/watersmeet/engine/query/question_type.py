"""The type of a question: conversation, procedural or factual, and how complex it is. By rule, for English."""

from __future__ import annotations

import re
from typing import NamedTuple

from watersmeet.core.tokens import QUESTION_WORDS, surfaces, words

CONVERSATION, PROCEDURAL, FACTUAL = "conversation", "procedural", "factual"
_COURTESY = frozenset(
    "hello hi hey hiya greetings morning afternoon evening thanks thank thx ty cheers bye goodbye welcome ok okay "
    "great cool nice awesome perfect sorry yes no yep nope sure lol haha goodnight".split()
)
_FILLER = frozenset(
    "good night much very a lot so you your there again all everyone everybody and the to is well then oh that "
    "helpful works for help have day see later it was".split()
)
_GREETING = re.compile(r"^\W*(?:(?:hello|hi|hey|please|thanks|thank you|ok|okay|well|so|and)\b[\s,.!]*)+", re.I)
_SMALL_TALK = re.compile(
    r"(?:how are you(?: doing)?(?: today)?|who are you|"
    r"what are you|what(?:'s| is) your name|what can you do|"
    r"are you there|are you (?:a |an )?(?:human|bot|robot|ai|real)|nice to meet you|"
    r"you(?:'re| are) welcome|never ?mind)",
    re.I,
)
_PROCEDURAL = re.compile(
    r"^\W*how (?:do|can|could|should|would|to|might)\b|\bhow to\b"
    r"|\bsteps?\b"
    r"|\b(?:guide|tutorial|instructions?|walk ?through)\b"
    r"|\bwhat (?:should|must|do|can) (?:i|we|you) do\b|\bwhat to do\b|\bway to\b",
    re.I,
)
_FACTUAL = re.compile(
    r"^\W*(?:what|which|who|whom|whose|where|when|why|is|are|was|were|does|do|did|can|could|will|has|have|should|may"
    r"|how (?:many|much|long|often|old|far|big|large|fast))\b|\b(?:define|definition|meaning)\b",
    re.I,
)
_IMPERATIVE = frozenset(
    "install configure set setup enable disable create add remove delete update upgrade fix resolve rotate deploy run "
    "build migrate restore back connect change reset export import write make use start stop".split()
)
_JOINED = re.compile(
    r"\b(?:and|or|versus|vs|compared? (?:to|with)|difference between|both|as well as|then|after that)\b|;", re.I
)


class QuestionType(NamedTuple):
    """`confidence`: how sure the rules are of the type, from 0 to 1: 0.5 where no rule speaks."""

    name: str
    complexity: str
    confidence: float


def question_type(query: str) -> QuestionType:
    if _is_conversation(query):
        return QuestionType(CONVERSATION, "simple", 0.95)
    query = _GREETING.sub("", query)
    complexity = _complexity(query)
    procedural, factual = bool(_PROCEDURAL.search(query)), bool(_FACTUAL.search(query))
    if procedural:
        return QuestionType(PROCEDURAL, complexity, 0.7 if factual else 0.9)
    if factual:
        return QuestionType(FACTUAL, complexity, 0.9)
    first = next(iter(words(query)), "")
    if first in _IMPERATIVE:
        return QuestionType(PROCEDURAL, complexity, 0.6)
    return QuestionType(FACTUAL, complexity, 0.5)


def _is_conversation(query: str) -> bool:
    """Whether a query is greeting, thanks or small talk and nothing else."""
    found = [surface.lower() for surface in surfaces(query)]
    if not found:
        return False
    if _SMALL_TALK.fullmatch(" ".join(query.replace("’", "'").split()).strip(" .!?,")):
        return True
    return any(word in _COURTESY for word in found) and all(word in _COURTESY or word in _FILLER for word in found)


def _complexity(query: str) -> str:
    """Simple: one thing asked in a few words; complex: several things, or many words; else moderate."""
    content = [word for word in words(query) if word not in QUESTION_WORDS]
    parts = 1 + len(_JOINED.findall(query)) + max(0, query.count("?") - 1)
    if parts >= 3 or len(content) > 12 or (parts == 2 and len(content) > 7):
        return "complex"
    return "simple" if parts == 1 and len(content) <= 5 else "moderate"
