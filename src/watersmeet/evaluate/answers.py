"""Answers measured: `eval --ask`. What `ask` answers, beside the plain way: the first five results into the prompt."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watersmeet.common.stems import stems
from watersmeet.core.token_count import estimate
from watersmeet.core.tokens import QUESTION_WORDS, words
from watersmeet.engine.ask.checker import Checker, Evidence
from watersmeet.engine.ask.prompt import answer_messages
from watersmeet.engine.ask.provider import EXTRACTIVE, chat_model
from watersmeet.engine.ask.reader import AnswerReader
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.present.extract import extract
from watersmeet.present.pack import pack

if TYPE_CHECKING:
    from watersmeet.core.chat import Chat
    from watersmeet.engine.engine import Engine
    from watersmeet.evaluate.data import Question

PLAIN_RESULTS = 5
WHOLE = 1_000_000
"""A budget that cuts nothing."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with what was answered. `cited`: the document of each citation that is shown without reserve."""

    relevant: frozenset[str]
    cited: tuple[str, ...]
    refused: bool
    supported: bool
    tokens: int
    text: str = ""
    took_ms: float = 0.0

    @property
    def found(self) -> bool:
        """Whether the answer cites a relevant document."""
        return not self.refused and not self.relevant.isdisjoint(self.cited)


Answerer = Callable[["Engine", str, "Chat | None"], Asked]


def our_answer(engine: Engine, question: str, chat: Chat | None) -> Asked:
    """The answer of `ask`. Without a model, the tokens are those of the quotes: what a reader gets."""
    made = engine.ask(question, chat=chat)
    cited = tuple(one.document for one in made.citations if one.checked)
    tokens = made.tokens if chat else estimate(made.answer)
    return Asked(frozenset(), cited, made.no_good_match, made.supported, tokens, made.answer, made.took_ms)


def plain_answer(engine: Engine, question: str, chat: Chat | None) -> Asked:
    """The plain way: the first five results, whole, whatever their confidence; citations as they come."""
    start = time.perf_counter()
    results = engine.search(question, top_n=PLAIN_RESULTS).results
    if chat is None:
        quotes = extract(question, results)
        cited = tuple(dict.fromkeys(results[quote.passage].document for quote in quotes))
        text = "\n\n".join(quote.text for quote in quotes)
        tokens = sum(estimate(one.text) for one in results)
    else:
        messages = answer_messages(question, pack(results, WHOLE).text)
        text = "".join(chat.stream(messages, engine.settings.section("ask").max_tokens))
        reader = AnswerReader([Evidence("") for _ in results], Checker())
        reader.feed(text)
        reader.finish()
        cited = tuple(results[n - 1].document for n in sorted(reader.verdicts) if 1 <= n <= len(results))
        tokens = sum(estimate(message.text) for message in messages)
    return Asked(frozenset(), cited, False, bool(cited), tokens, text, (time.perf_counter() - start) * 1000)


def measure_answers(
    engine: Engine,
    questions: Sequence[Question],
    foreign: Sequence[str] = (),
    chat: Chat | None = None,
    progress: ProgressCallback = lambda _: None,
) -> dict[str, Any]:
    """Figures for `ask` and for the plain way. `foreign`: questions that the documents do not answer; so are those
    without a relevant document."""
    chat = chat or chat_model(engine.settings)
    own = [question for question in questions if question.relevant]
    others = [*(question.text for question in questions if not question.relevant), *foreign]
    total, done = 2 * (len(own) + len(others)), 0
    figures: dict[str, Any] = {
        "model": chat.name if chat else EXTRACTIVE,
        "questions": len(own),
        "foreign": len(others),
    }
    for name, answerer in (("ask", our_answer), ("top 5", plain_answer)):
        right: list[Asked] = []
        wrong: list[Asked] = []
        for text, relevant, into in [
            *((one.text, frozenset(one.relevant), right) for one in own),
            *((text, frozenset[str](), wrong) for text in others),
        ]:
            found = answerer(engine, text, chat)
            into.append(
                Asked(relevant, found.cited, found.refused, found.supported, found.tokens, found.text, found.took_ms)
            )
            done += 1
            progress(Progress("asking", done, total, "questions"))
        figures[name] = summary(right, wrong)
    return figures


def summary(right: Sequence[Asked], wrong: Sequence[Asked]) -> dict[str, Any]:
    """Figures of questions that have an answer, and of those that have none."""
    cited = [document in one.relevant for one in right for document in one.cited]
    answered = [one for one in right if not one.refused]
    return {
        "citation_precision": _mean(cited),
        "answer_recall": _mean([one.found for one in right]),
        "refused": _mean([one.refused for one in right]),
        "foreign_refused": _mean([one.refused for one in wrong]),
        "supported": _mean([one.supported for one in answered]),
        "tokens": round(statistics.fmean(one.tokens for one in answered), 1) if answered else None,
        "latency_ms": round(statistics.median(one.took_ms for one in (*right, *wrong)), 1) if right or wrong else None,
    }


def _mean(values: Sequence[bool]) -> float | None:
    return round(statistics.fmean(values), 4) if values else None


def word_recall(text: str, gold: str) -> float:
    """Share of the content words of a gold text that another text has."""
    wanted = _content(words(gold))
    return len(wanted & _content(words(text))) / len(wanted) if wanted else 0.0


def _content(found: Iterable[str]) -> set[str]:
    return set(stems([word for word in found if word not in QUESTION_WORDS]))
