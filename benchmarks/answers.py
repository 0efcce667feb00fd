"""Answers without a model: questions of a FAQ, and foreign questions that it does not answer.

    python benchmarks/answers.py [--seed 22] [--questions 100] [--foreign 50]

100 questions of zoomcamp_faq and 50 of cranfield, med and cosqa, drawn by the seed. An answer *overlaps* the gold
answer if a sentence that it quotes stands word for word in the text of a document judged relevant. Beside it: how many
have such a sentence first, and the share of the gold answer's words that the answer has. The confidence threshold of
`ask` was chosen with another draw of the same sets (seed 5).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from pathlib import Path

from _common import RESULTS, SHARED, keep, machine

from watersmeet.engine.ask.provider import chat_model
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import load as load_settings
from watersmeet.evaluate.answers import measure_answers, word_recall
from watersmeet.evaluate.data import load
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


def flat(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--foreign", type=int, default=50)
    parser.add_argument("--trial", action="store_true", help="print only")
    arguments = parser.parse_args()
    settings = load_settings()
    dataset = load(DATA / "zoomcamp_faq")
    place = indexed(dataset, settings, "", lambda _: None)
    questions = dataset.limited(arguments.questions, arguments.seed).questions
    others = foreign_questions(arguments.foreign, arguments.seed)
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
