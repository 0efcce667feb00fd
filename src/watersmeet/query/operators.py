"""Operators typed into a query: `"a phrase"`, `-word`, `tag:`, `path:` and `kind:`.

An operator that makes no sense here is plain text, and the answer says why: `kind:Deployment` where no document is of
that kind, a phrase that no passage has, `-v` where `-v` is a flag that the documents mention, or a query of exclusions
only. In a sentence, quotes and dashes are punctuation.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple, Protocol

from watersmeet.core import tokens
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Condition, Operator, Plan
from watersmeet.core.options import option
from watersmeet.core.passages import has_phrase
from watersmeet.core.ports import Newest, PassageReader, Term, Words

FILTERS = ("tag", "path", "kind")
PHRASE, WITHOUT = "phrase", "without"
_TOKEN = re.compile(
    r"(?<!\S)(?:"
    r'(?P<not>-?)(?P<key>tag|path|kind):(?:"(?P<quoted>[^"]{1,200})"|(?P<value>[^\s"]{1,200}))'
    r'|"(?P<phrase>[^"]{1,400})"'
    r"|-(?P<word>[^\W\d_][\w]{1,60})"
    r")(?![^\s,.;!?])"
)


class _View(PassageReader, Newest, Protocol): ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operators:
    """A query step that turns operators into filters, required phrases and excluded words. The stage of the same name
    applies the latter two. Put it before the steps that read the text."""

    words: Words | None = None
    view: _View | None = None
    pool: int = option(400, "candidates of each signal where a phrase or an exclusion thins them out", least=1)
    max_words: int = option(4, "with more words beside them, quotes and dashes are those of a sentence", least=0)
    depth: int = option(300, "how many passages with the words of a phrase are read for it", least=1)

    def apply(self, plan: Plan) -> Plan:
        if plan.kinds or not any(sign in plan.text for sign in ('"', "-", ":")):  # tasks for tools quote what they like
            return plan
        found = list(_TOKEN.finditer(plan.text))
        if len(_TOKEN.sub(" ", plan.text).split()) > self.max_words:
            found = [match for match in found if match["key"]]
        if not found or self.words is None or self.view is None:
            return plan
        operators: list[Operator] = []
        rest, end, condition = [], 0, plan.condition
        for match in found:
            operator = _checked(match, _Reader(self.words, self.view, plan.condition, self.depth))
            operators.append(operator)
            rest.append(plan.text[end : match.start()])
            end = match.end()
            if not operator.applied or operator.name == PHRASE:
                rest.append(match[0].replace('"', "") if match["phrase"] else match[0])
            elif operator.name != WITHOUT:
                condition = _narrowed(condition, operator)
        text = " ".join("".join((*rest, plan.text[end:])).split())
        if not any(character.isalnum() for character in text):
            if any(operator.name == WITHOUT for operator in operators if operator.applied):
                return plan  # nothing is asked for
            text = ""
        thinned = any(operator.applied and operator.name in (PHRASE, WITHOUT) for operator in operators)
        return replace(
            plan,
            text=text,
            condition=condition,
            operators=(*plan.operators, *operators),
            pool=max(plan.pool, self.pool) if thinned else plan.pool,
        )


class _Reader(NamedTuple):
    """What the documents have, as far as the request may see them."""

    words: Words
    view: _View
    condition: Condition
    depth: int

    def has(self, key: str, value: str) -> bool:
        """Whether a document has this tag, path or kind."""
        return bool(self.view.newest(Condition({key: (value,)}, gates=self.condition.gates), 1))

    def has_phrase(self, phrase: str) -> bool:
        words = tokens.words(phrase)
        content = [word for word in dict.fromkeys(words) if word not in tokens.STOPWORDS]
        if not content:
            return False
        found = self.words.match([Term("body", word) for word in content], self.condition, self.depth)
        passages = self.view.passages([chunk for chunk, _ in found])
        return any(has_phrase(passage, words) for passage in passages.values())


def _checked(match: re.Match[str], reader: _Reader) -> Operator:
    """The operator, with the reason if it does not apply."""
    if match["phrase"]:
        operator = Operator(PHRASE, " ".join(match["phrase"].split()))
        reason = "" if reader.has_phrase(operator.value) else "no passage has it"
    elif match["word"]:
        operator = Operator(WITHOUT, match["word"])
        flag = reader.words.frequency("forms", f"-{match['word']}")
        reason = "it is a flag that the documents mention" if flag else ""
    else:
        key, value = match["key"], match["quoted"] or match["value"]
        operator = Operator(f"{match['not']}{key}", value)
        reason = "" if reader.has(key, value) else f"no document has this {key}"
    return operator._replace(applied=not reason, reason=reason)


def _narrowed(condition: Condition, operator: Operator) -> Condition:
    key = operator.name.removeprefix("-")
    if key == operator.name:
        return condition.narrowed(key, (operator.value,))
    return replace(condition, without=(*condition.without, (key, (operator.value,))))
