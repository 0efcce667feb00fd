"""Quotes for questions of a FAQ: how many stand in the record that answers the question.

    python benchmarks/quotes.py [--seed 22] [--trial]

400 questions of zoomcamp_faq, shuffled by the seed, with the first five passages of a search. The first 100 are the
test; on the other 300, with seed 22, the constants of `present/extract.py` were chosen. A quote is right if it stands
word for word in the text of the record that the question was made from. Once more with one long passage, in which the
record stands among seven others without titles. `benchmarks/answers.py` measures whole answers.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _common import RESULTS, SHARED, keep, machine

from watersmeet.embed.static import Static
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import load as load_settings
from watersmeet.evaluate.answers import word_recall
from watersmeet.evaluate.data import load
from watersmeet.evaluate.index import indexed
from watersmeet.present.extract import Quote, Similarity, extract
from watersmeet.present.quotable import pieces

DATA = SHARED / "data" / "eval" / "zoomcamp_faq"
TEST, EVERY, PASSAGES, OTHERS = 100, 400, 5, 7

Case = tuple[str, tuple[Any, ...], frozenset[str]]
"""A question, its passages, and the ids of the records that answer it."""
Way = Callable[[str, Sequence[Any]], list[Quote]]


def first_pieces(_: str, passages: Sequence[Any]) -> list[Quote]:
    """What is quoted without choosing: the beginning of the first passage."""
    return [Quote(0, piece.text, 0.0) for piece in pieces(passages[0].text)[:3]] if passages else []


@dataclass(frozen=True)
class Long:
    """The text of the right record somewhere among those of others: the rank of a passage says nothing."""

    text: str
    document: str = ""


def among_others(cases: Sequence[Case], raw: dict[str, str], seed: int) -> list[Case]:
    draw = random.Random(seed)  # noqa: S311 - a sample
    found: list[Case] = []
    for question, _, relevant in cases:
        texts = [raw[one] for one in [*relevant, *draw.sample(sorted(raw.keys() - relevant), OTHERS)]]
        draw.shuffle(texts)
        found.append((question, (Long("\n\n".join(texts)),), relevant))
    return found


def static_similarity() -> Similarity:
    model = Static()

    def similarity(question: str, texts: Sequence[str]) -> list[float]:
        cosines: list[float] = np.asarray(model.embed(texts) @ model.embed_query(question)).tolist()
        return cosines

    return similarity


def measured(cases: Sequence[Case], gold: dict[str, str], way: Way) -> dict[str, Any]:
    found = right = first = quotes = right_quotes = length = 0
    seconds = recall = 0.0
    for question, passages, relevant in cases:
        begin = time.process_time()
        made = way(question, passages)
        seconds += time.process_time() - begin
        texts = [gold[document] for document in relevant]
        good = [any(flat(quote.text) in text for text in texts) for quote in made]
        found += any(passage.document in relevant for passage in passages)
        right += any(good)
        first += bool(made) and good[max(range(len(made)), key=lambda place: made[place].score)]
        recall += max(word_recall(" ".join(quote.text for quote in made), text) for text in texts)
        quotes += len(made)
        right_quotes += sum(good)
        length += sum(len(quote.text) for quote in made)
    return {
        "questions": len(cases),
        "record_among_passages": found,
        "right_quote": right,
        "best_quote_right": first,
        "quotes": quotes,
        "share_of_quotes_right": round(right_quotes / max(quotes, 1), 3),
        "mean_word_recall": round(recall / len(cases), 3),
        "characters_per_answer": round(length / len(cases)),
        "cpu_ms_per_question": round(1000 * seconds / len(cases), 2),
    }


def flat(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--trial", action="store_true", help="print only")
    arguments = parser.parse_args()
    settings, dataset = load_settings(), load(DATA)
    with (DATA / "corpus.jsonl").open(encoding="utf8") as file:
        raw = {str(record["_id"]): str(record["text"]) for record in map(json.loads, file)}
    gold = {document: flat(text) for document, text in raw.items()}
    questions = list(dataset.questions)
    random.Random(arguments.seed).shuffle(questions)  # noqa: S311 - a sample
    with Engine(indexed(dataset, settings, "", lambda _: None).folder, settings) as engine:
        cases: list[Case] = [
            (one.text, engine.search(one.text, top_n=PASSAGES).results, frozenset(one.relevant))
            for one in questions[:EVERY]
        ]
    figures: dict[str, Any] = {"machine": machine(), "seed": arguments.seed}
    ways: dict[str, Way] = {
        "words": extract,
        "words and static similarity": partial(extract, similarity=static_similarity()),
        "beginning of the first passage": first_pieces,
    }
    for name, way in ways.items():
        parts = {"test": cases[:TEST], "development": cases[TEST:]}
        parts["test, in one long passage"] = among_others(cases[:TEST], raw, arguments.seed)
        figures[name] = {part: measured(some, gold, way) for part, some in parts.items()}
    print(json.dumps(keep("quotes", figures, None if arguments.trial else RESULTS), indent=1))


if __name__ == "__main__":
    main()
