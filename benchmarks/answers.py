"""Answers without a model: questions of a FAQ, and foreign questions that it does not answer.

    python benchmarks/answers.py [--seed 22] [--questions 100] [--foreign 50]
    python benchmarks/answers.py --local-model --questions 12 --foreign 6

100 questions of zoomcamp_faq and 50 of cranfield, med and cosqa, drawn by the seed. An answer *overlaps* the gold
answer if a sentence that it quotes stands word for word in the text of a document judged relevant. Beside it: how many
have such a sentence first, and the share of the gold answer's words that the answer has. The confidence threshold of
`ask` was chosen with another draw of the same sets (seed 5).

`--local-model` has SmolLM2-135M write the answers (tests/helpers/local_model.py). Measured is that it streams, and that
what is shown as checked passes the checker once more; a model of this size says little of use.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, keep, machine

from watersmeet.chat.openai import OpenAI
from watersmeet.engine.ask.checker import Checker, Evidence
from watersmeet.engine.ask.provider import chat_model
from watersmeet.engine.ask.weights import WordWeights, static_similarity
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import load as load_settings
from watersmeet.evaluate.answers import measure_answers, word_recall
from watersmeet.evaluate.data import Question, load
from watersmeet.evaluate.index import indexed

DATA = SHARED / "data" / "eval"
FOREIGN = ("cranfield", "med", "cosqa")


def foreign_questions(count: int, seed: int) -> list[tuple[str, str]]:
    """Questions of the other sets, the same number of each, as (set, question)."""
    draw = random.Random(seed)  # noqa: S311 - a sample
    found = []
    for number, name in enumerate(FOREIGN):
        share = count // len(FOREIGN) + (number < count % len(FOREIGN))
        found += [(name, question.text) for question in draw.sample(list(load(DATA / name).questions), share)]
    return found


def gold_texts(folder: Path) -> dict[str, str]:
    with (folder / "corpus.jsonl").open(encoding="utf8") as file:
        return {str(record["_id"]): str(record["text"]) for record in map(json.loads, file)}


def by_local_model(folder: str, questions: Sequence[Question], foreign: Sequence[str]) -> dict[str, Any]:
    """Answers of the model: their parts, and citations that the checker confirms again."""
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from local_model import serving

    settings = load_settings(flags={"ask": {"max_tokens": 120, "budget": 600, "seconds": 300.0}})
    parts: list[int] = []
    shown = confirmed = statements = supported = refused = 0
    with serving() as url, Engine(folder, settings) as engine:
        chat = OpenAI(base_url=url, model="SmolLM2-135M", timeout=300.0, deadline=300.0)
        checker = Checker(WordWeights(engine, None), static_similarity(settings))
        for text in [*(question.text for question in questions), *foreign]:
            pieces: list[str] = []
            made = engine.ask(text, chat=chat, on_text=pieces.append)
            refused += made.no_good_match
            if made.no_good_match:
                continue
            parts.append(len(pieces))
            statements += len(made.statements)
            supported += sum(one.checked for one in made.statements)
            for one in (one for one in made.citations if one.checked):
                found = engine.get(one.id)
                claims = [statement.text for statement in made.statements if one.n in statement.citations]
                evidence = Evidence(found["text"], found["title"])
                shown += len(claims)
                confirmed += sum(checker.check(claim, evidence).supported for claim in claims)
        compared = measure_answers(engine, questions, foreign, chat)
    return {
        "answers": len(parts),
        "refused": refused,
        "parts_of_an_answer": parts,
        "statements": statements,
        "statements_supported": supported,
        "citations_shown_as_checked": shown,
        "confirmed_again": confirmed,
        "compared": compared,
    }


def flat(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--foreign", type=int, default=50)
    parser.add_argument("--local-model", action="store_true", help="SmolLM2-135M answers")
    parser.add_argument("--trial", action="store_true", help="print only")
    arguments = parser.parse_args()
    settings = load_settings()
    dataset = load(DATA / "zoomcamp_faq")
    place = indexed(dataset, settings, "", lambda _: None)
    questions = dataset.limited(arguments.questions, arguments.seed).questions
    others = foreign_questions(arguments.foreign, arguments.seed)
    if arguments.local_model:
        found = by_local_model(place.folder, questions, [text for _, text in others])
        figures = {"machine": machine(), "seed": arguments.seed, "questions": len(questions), **found}
        print(json.dumps(keep("answers_model", figures, None if arguments.trial else RESULTS), indent=1))
        return
    gold = gold_texts(DATA / "zoomcamp_faq")
    overlap, first, recalls, refused = 0, 0, [], 0
    refusals: dict[str, list[bool]] = {name: [] for name in FOREIGN}
    with Engine(place.folder, settings) as engine:
        for question in questions:
            made = engine.ask(question.text)
            texts = [flat(gold[document]) for document in question.relevant]
            quotes = [any(flat(one.text) in text for text in texts) for one in made.statements]
            refused += made.no_good_match
            overlap += any(quotes)
            first += quotes[:1] == [True]
            recalls.append(0.0 if made.no_good_match else max(word_recall(made.answer, text) for text in texts))
        for name, text in others:
            refusals[name].append(engine.ask(text).no_good_match)
        compared = measure_answers(engine, questions, [text for _, text in others], chat_model(settings))
    every = [one for found in refusals.values() for one in found]
    figures = {
        "machine": machine(),
        "seed": arguments.seed,
        "questions": len(questions),
        "overlap": overlap,
        "overlap_of_first_quote": first,
        "mean_word_recall": round(statistics.fmean(recalls), 3),
        "refused_own": refused,
        "foreign": len(every),
        "foreign_refused": sum(every),
        "foreign_refused_share": round(statistics.fmean(every), 3),
        "by_set": {name: f"{sum(found)} of {len(found)}" for name, found in refusals.items()},
        "compared": compared,
    }
    print(json.dumps(keep("answers", figures, None if arguments.trial else RESULTS), indent=1))


if __name__ == "__main__":
    main()
