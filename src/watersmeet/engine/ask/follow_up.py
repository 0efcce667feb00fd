"""Follow-up questions, made understandable on their own: by rule, or by a model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from watersmeet.core.chat import Chat
from watersmeet.core.errors import ModelProblem
from watersmeet.core.tokens import QUESTION_WORDS, words
from watersmeet.engine.ask.model import Turn
from watersmeet.engine.ask.prompt import rewrite_messages

MAX_LENGTH = 512
"""Characters of a question."""
REWRITE_TOKENS = 80
_FEW_WORDS = 1
"""Content words up to which a question is taken for the rest of another."""
_PRONOUN = re.compile(r"\b(?:it|they|them|he|she|him|this|that|these|those|its|their|his)\b(?!['’])", re.I)
_POSSESSIVE = frozenset(("its", "their", "his"))
_DO_THAT = re.compile(r"\bdo (?:it|that|this|so)\b", re.I)
_OPENING = re.compile(r"^\W*(?:(?:and|but|so|also|then|ok|okay|or)\b[\s,]*)+", re.I)
_ABOUT = re.compile(r"^\W*(?:what|how)\s+about\s+", re.I)
_PREPOSITION = re.compile(r"^(on|in|for|with|at|from|to|by|under|without|after|before|using|as|if|when)\b", re.I)
_LEAD = re.compile(
    r"^\W*(?:(?:please\s+)?(?:tell me(?: more)? about|explain|describe|show me|define|list)\s+"
    r"|(?P<verb>(?:(?:how|where|when|why|what)\s+)?(?:do|can|could|should|would|may|must|will|did)\s+(?:i|you|we|one)\s+"
    r"|(?:how|where|what|when)\s+to\s+)"
    r"|(?:how|where|when|why|what)\s+(?:do|does|can|could|should|would|must|will|did)\s+"
    r"|(?:what|who|where|when|why|which|how)(?:['’]s|\s+(?:is|are|was|were|much is|many|long is))\s+"
    r"|(?:is|are|was|were|does|do|did|can|will|has|have)\s+)",
    re.I,
)
_TAIL = re.compile(
    r"(?<!\s)\s+(?:on|in|at|for|with|when|if|after|before|from|by|to|every|using|into|and|or|is|are|does|do|mean|work|works|used)\b.*$",
    re.I,
)


def standalone(question: str, history: Sequence[Turn], chat: Chat | None = None) -> str:
    """The question as it is searched for. `chat`: a model to rewrite it with; without one, or if its reply is of no
    use, a rule puts in the subject of the question before."""
    if not history or not is_follow_up(question):
        return question
    return (_by_model(question, history, chat) if chat else "") or by_rule(question, history[-1].standalone)


def is_follow_up(question: str) -> bool:
    """Whether a question refers to the one before: it has a pronoun, or hardly any words of its own."""
    if _OPENING.match(question) or _ABOUT.match(question) or _PRONOUN.search(question):
        return True
    return len([word for word in words(question) if word not in QUESTION_WORDS]) <= _FEW_WORDS and len(question) < 40


def by_rule(question: str, before: str) -> str:
    """The question with the subject of the question before in place of its pronoun, or after that question."""
    before = " ".join(before.split()).rstrip("?!. ")
    rest = _ABOUT.sub("", _OPENING.sub("", question)).strip()
    about = subject(before)
    if not about:
        return question
    if doing := _DO_THAT.search(rest):
        made = rest[: doing.start()] + predicate(before) + rest[doing.end() :]
    elif _PRONOUN.search(rest):
        made = _PRONOUN.sub(lambda word: f"{about}'s" if word[0].lower() in _POSSESSIVE else about, rest, count=1)
    elif opening := _PREPOSITION.match(rest):
        made = f"{_up_to(before, opening[1])} {rest}"
    elif _ABOUT.match(_OPENING.sub("", question)) or _OPENING.match(question):
        made = f"{before}: {rest}"
    else:
        made = f"{rest.rstrip('?')}: {before}?"
    return made[:MAX_LENGTH]


def _up_to(question: str, preposition: str) -> str:
    """A question without its part from a preposition on."""
    at = f"{question.lower()} ".find(f" {preposition.lower()} ")
    return question[:at] if at > 0 else question


def predicate(question: str) -> str:
    """What a question asks how to do: `rotate keys` of `how do I rotate keys?`."""
    text = question.strip().rstrip("?!. ")
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


def subject(question: str) -> str:
    """What a question is about: `keys` of `how do I rotate keys on Linux?`."""
    rest, lead = predicate(question), _LEAD.match(question.strip())
    if lead and lead["verb"] and len(rest.split()) > 1:
        rest = rest.split(maxsplit=1)[1]  # after the verb
    short = _TAIL.sub("", rest)
    return short if any(word not in QUESTION_WORDS for word in words(short)) else rest


def _by_model(question: str, history: Sequence[Turn], chat: Chat) -> str:
    """A model's version; empty if it is of no use: too long, or about something else."""
    try:
        reply = "".join(chat.stream(rewrite_messages(question, history), REWRITE_TOKENS))
    except ModelProblem:
        return ""
    line = next((line.strip(" \t\"'`*>") for line in reply.splitlines() if line.strip()), "")
    line = re.sub(r"^(?:follow-up )?question:\s*", "", line, flags=re.I)
    context = {word for turn in history for word in words(f"{turn.standalone} {turn.answer}")} | set(words(question))
    content = [word for word in words(line) if word not in QUESTION_WORDS]
    unknown = [word for word in content if word not in context]
    return line if 0 < len(line) <= MAX_LENGTH and content and len(unknown) <= len(content) // 4 else ""
