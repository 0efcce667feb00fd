"""One question, from the search to the checked answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, ModelProblem, Stopped
from watersmeet.core.model import Answer, Request, Result
from watersmeet.core.place import Place, located
from watersmeet.core.token_count import estimate
from watersmeet.engine.ask.checker import Checker, Evidence, Verdict
from watersmeet.engine.ask.follow_up import standalone
from watersmeet.engine.ask.model import AnswerText, CitedPassage, NearPassage, Statement, Turn, last_turns
from watersmeet.engine.ask.prompt import REFUSAL, answer_messages
from watersmeet.engine.ask.provider import EXTRACTIVE, chat_model
from watersmeet.engine.ask.reader import AnswerReader, links_of, neutral
from watersmeet.engine.ask.weights import WordWeights, static_similarity
from watersmeet.engine.query.filters import build_request
from watersmeet.present.extract import extract
from watersmeet.present.pack import Pack, least, nothing_packed, pack, unpack

if TYPE_CHECKING:
    from watersmeet.core.chat import Chat, Message
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.settings.settings import AskSettings

CANDIDATES = 30
"""How many results a pack is made from."""
QUOTED_PASSAGES = 5
"""From how many passages an answer without a model quotes; from more, it quotes worse ones."""
CHARACTERS_PER_TOKEN = 40
"""A reply of more characters than this for each token that was allowed is cut off."""
NEAREST = 3
"""How many near passages a refusal names."""
CONVERSATION = "Hello. Ask a question about the indexed documents, and I look it up in them."
_REFUSED = re.compile(r"\W*the (?:documents|passages) do not (?:say|answer|contain|mention|provide)\b", re.I)

OnText = Callable[[str], None]
"""Callback for the text of an answer, as it grows."""


@dataclass(slots=True)
class Output:
    """The text that was passed on; spaces at an end wait for what follows."""

    on_text: OnText | None
    text: str = ""
    _spaces: str = ""

    def write(self, text: str) -> None:
        text = self._spaces + text if self.text else text.lstrip()
        body = text.rstrip()
        self._spaces = text[len(body) :]
        if body:
            self.text += body
            if self.on_text is not None:
                self.on_text(body)


def ask(
    engine: Engine,
    question: str,
    *,
    on_text: OnText | None = None,
    budget: int | None = None,
    history: Sequence[Turn] = (),
    chat: Chat | None = None,
    options: Mapping[str, Any] | None = None,
) -> AnswerText:
    """The answer to a question; `options` are those of a search, with its viewer and its cancellation callback."""
    start = time.perf_counter()
    question = " ".join(question.split())
    if not question:
        raise ConfigError("the question is empty", "ask for something that the documents may say")
    request = build_request(question, {"top_n": CANDIDATES, **(options or {})})
    settings = engine.settings_for(request.recipe)
    output = Output(on_text)
    if not engine.classify(question, request.viewer).needs_retrieval:
        output.write(CONVERSATION)
        return AnswerText(question, output.text, took_ms=_since(start))
    chat = chat or chat_model(settings)
    query = standalone(question, last_turns(history), chat)
    found = engine.search(replace(request, query=query))
    made = AnswerText(question, "", confidence=found.confidence, query=query)
    if answers(found, settings.section("ask").min_confidence):
        packed = _packed(found, budget or settings.section("ask").budget)
        if chat is None:
            made = _quoted(made, packed, output, settings.section("ask").quotes)
        else:
            checker = Checker(WordWeights(engine, request.viewer), static_similarity(settings))
            made = _replied(made, packed, output, _Model(chat, settings.section("ask"), request), checker)
    if _declines(made, output):
        output.write(_nearest(found.results) if output.text else REFUSAL + _nearest(found.results))
        made = replace(
            made,
            no_good_match=True,
            citations=(),
            statements=(),
            supported=False,
            nearest=tuple(map(NearPassage.of, found.results[:NEAREST])),
        )
    return replace(made, answer=output.text, took_ms=_since(start))


def _declines(made: AnswerText, output: Output) -> bool:
    """Whether there is no answer: nothing fitted, nothing could be quoted, or the model says so."""
    if not output.text:
        return True
    return (
        made.model != EXTRACTIVE and bool(_REFUSED.match(output.text)) and not any(s.checked for s in made.statements)
    )


def answers(found: Answer, min_confidence: float) -> bool:
    """Whether the results of a search are good enough to answer from."""
    if not found.results or found.no_good_match:
        return False
    return found.confidence is None or found.confidence >= min_confidence


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000


def _nearest(results: Sequence[Result]) -> str:
    if not results:
        return ""
    return " Nearest: " + ", ".join(located(one.document, one.where) for one in results[:NEAREST]) + "."


# ---------------------------------------------------------------- passages


@dataclass(frozen=True, slots=True)
class Packed:
    """The passages of an answer: the context pack, and each passage as far as it is in the pack."""

    pack: Pack
    passages: tuple[Result, ...]

    def evidence(self) -> list[Evidence]:
        return [Evidence(one.text, " ".join((one.title, *one.headings))) for one in self.passages]

    def cited(self, verdicts: Mapping[int, Sequence[Verdict]]) -> tuple[CitedPassage, ...]:
        """The citations of an answer, by the verdicts on each number."""
        return tuple(self._cited(n, verdicts[n]) for n in sorted(verdicts))

    def _cited(self, n: int, verdicts: Sequence[Verdict]) -> CitedPassage:
        checked = all(one.supported for one in verdicts)
        if not 1 <= n <= len(self.passages):
            return CitedPassage(n, "", "", Place(), "", False)
        citation = self.pack.citations[n - 1]
        quote = max(verdicts, key=lambda one: one.coverage).quote
        return CitedPassage(n, citation.id, citation.document, citation.place, quote, checked)


def _packed(found: Answer, budget: int) -> Packed:
    """The best passages within the budget. Numbers in brackets that documents contain are no citations."""
    safe = [replace(one, text=neutral(one.text)) for one in found.results]
    made = pack(safe, budget)
    if not made.citations:
        raise ConfigError(nothing_packed(budget, least(safe)), "raise --budget, or ask.budget in the settings")
    passages = list(found.results[: len(made.citations)])
    if made.citations[-1].cut:
        passages[-1] = replace(passages[-1], text=unpack(made.text)[-1].text.replace("\\[", "["))
    return Packed(made, tuple(passages))


# ---------------------------------------------------------------- answers


def _quoted(made: AnswerText, packed: Packed, output: Output, most: int) -> AnswerText:
    """An answer without a model: the best sentences of the passages, quoted."""
    verdicts: dict[int, list[Verdict]] = {}
    statements = []
    for quote in extract(made.query, packed.passages[:QUOTED_PASSAGES], most=most):
        n = quote.passage + 1
        verbatim = quote.text in packed.passages[quote.passage].text
        verdicts.setdefault(n, []).append(Verdict(verbatim, quote.score, quote.text))
        statements.append(Statement(quote.text, (n,), verbatim))
        mark = f"[{n}]" if verbatim else f"[{n}?]"
        output.write(f"{neutral(quote.text).strip()} {mark}\n\n")
    return replace(
        made,
        citations=packed.cited(verdicts),
        statements=tuple(statements),
        supported=bool(statements) and all(one.checked for one in statements),
        model=EXTRACTIVE,
    )


@dataclass(frozen=True, slots=True)
class _Model:
    """A chat model with the limits of its reply."""

    chat: Chat
    limits: AskSettings
    request: Request

    def stream(self, messages: Sequence[Message]) -> Generator[str]:
        """The reply in pieces; it is cancelled when the client has gone or the time is over."""
        until, most = time.monotonic() + self.limits.seconds, CHARACTERS_PER_TOKEN * self.limits.max_tokens
        length = 0
        pieces = iter(self.chat.stream(messages, self.limits.max_tokens))
        try:
            for piece in pieces:
                if self.request.stop is not None and self.request.stop():
                    raise Stopped("the client has gone")
                if time.monotonic() > until:
                    hint = "ask for less, raise ask.seconds or lower ask.max_tokens"
                    raise ModelProblem(f"timeout: no whole reply within {self.limits.seconds:g} s", hint)
                length += len(piece)
                if length > most:
                    raise ModelProblem(
                        f"{self.chat.name} replied with more than {most} characters", "try another model"
                    )
                yield piece
        finally:
            if isinstance(pieces, Generator):
                pieces.close()


def _replied(made: AnswerText, packed: Packed, output: Output, model: _Model, checker: Checker) -> AnswerText:
    """An answer by a model, with its citations checked."""
    messages = answer_messages(made.query, packed.pack.text)
    reader = AnswerReader(packed.evidence(), checker, links_of(packed.pack.text))
    with closing(model.stream(messages)) as pieces:
        for piece in pieces:
            output.write(reader.feed(piece))
    output.write(reader.finish())
    if not output.text:
        raise ModelProblem(f"{model.chat.name} replied with nothing", "try again, or choose another model")
    return replace(
        made,
        citations=packed.cited(reader.verdicts),
        statements=tuple(reader.statements),
        supported=bool(reader.statements) and all(one.checked for one in reader.statements),
        model=model.chat.name,
        tokens=sum(estimate(message.text) for message in messages),
    )
