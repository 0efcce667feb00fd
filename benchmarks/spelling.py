"""Spelling: queries with a typing error, and compounds, with and without the query step `spelling`.

    python benchmarks/spelling.py [--data FOLDER] [--corpora obsidian_help_en,rust_book] [--dense]

The queries are made from the corpora, with a seed: compounds that the corpus writes otherwise, headings with one word
mistyped, and rare words mistyped, so that no text has the word of the query. Each is right if one of the documents that
have the original is among the first one or five. "as written" are the same queries without the error.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from _common import RESULTS, SHARED, keep, machine
from quality import settings

from watersmeet.common.english import is_english
from watersmeet.common.stems import stem, stems
from watersmeet.core import tokens
from watersmeet.core.model import Request
from watersmeet.engine.engine import Engine

DATA = SHARED / "data" / "markdown"
COMPOUNDS, HEADINGS, RARE = 20, 15, 15
"""Queries of each kind from each corpus; five corpora give 100 compounds and 150 errors."""
FEW = 3
"""A query is made from what at most so many documents have."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEADING = re.compile(r"^#+ +(.+?)\s*#*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_HYPHEN = re.compile(r"(?<![\w-])[a-z]{1,12}-[a-z]{2,12}(?![\w-])")
_PLAIN = re.compile(r"[a-z]{4,}")


class Query(NamedTuple):
    kind: str
    text: str
    original: str
    relevant: frozenset[str]


class Corpus:
    """The words of a corpus: which documents have which word, pair of neighbours, hyphenated word and heading."""

    def __init__(self, folder: Path) -> None:
        self.stems: dict[str, set[str]] = defaultdict(set)
        self.words: dict[str, set[str]] = defaultdict(set)
        self.pairs: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.hyphens: dict[str, set[str]] = defaultdict(set)
        self.headings: dict[str, set[str]] = defaultdict(set)
        for path in sorted(folder.rglob("*.md")):
            name, text = path.relative_to(folder).as_posix(), path.read_text(errors="replace")
            found = tokens.words(f"{name} {text}")
            for one in set(stems(found)):
                self.stems[one].add(name)
            prose = _FENCE.sub("", text)
            plain = [word for word in prose.lower().split() if _PLAIN.fullmatch(word)]
            for word in plain:
                self.words[word].add(name)
            for line in prose.lower().splitlines():
                row = line.split()
                for pair in pairwise(row):
                    if all(map(_PLAIN.fullmatch, pair)) and tokens.QUESTION_WORDS.isdisjoint(pair):
                        self.pairs[pair].add(name)
            for word in _HYPHEN.findall(prose.lower()):
                self.hyphens[word].add(name)
            for heading in _HEADING.findall(prose):
                self.headings[heading].add(name)

    def lacks(self, word: str) -> bool:
        return stem(word) not in self.stems


def mistyped(word: str, draw: random.Random) -> str:
    """One letter too many, missing, wrong, or two neighbours swapped."""
    at, letter = draw.randrange(len(word) - 1), draw.choice(LETTERS)
    return draw.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )


def compounds(corpus: Corpus, draw: random.Random) -> list[Query]:
    """A third each: two words written as one, one word written as two, and a hyphen left out."""
    few = {pair: names for pair, names in corpus.pairs.items() if len(names) <= FEW and corpus.lacks("".join(pair))}
    joined = [Query("compound", "".join(pair), " ".join(pair), frozenset(few[pair])) for pair in sorted(few)]
    apart = []
    for word, names in sorted(corpus.words.items()):
        splits = [(word[:at], word[at:]) for at in range(4, len(word) - 3)]
        split = next((s for s in splits if all(map(is_english, s))), None)
        if split and len(names) <= FEW and split not in corpus.pairs and len(corpus.stems[stem(word)]) <= FEW:
            apart.append(Query("compound", " ".join(split), word, frozenset(corpus.stems[stem(word)])))
    hyphens = [
        Query("compound", word.replace("-", ""), word, frozenset(names))
        for word, names in sorted(corpus.hyphens.items())
        if len(names) <= FEW and corpus.lacks(word.replace("-", ""))
    ]
    found = [query for kind in (joined, apart, hyphens) for query in draw.sample(kind, min(len(kind), COMPOUNDS))]
    return draw.sample(found, min(len(found), COMPOUNDS))


def errors(corpus: Corpus, draw: random.Random) -> list[Query]:
    found: list[Query] = []
    headings = sorted(h for h, names in corpus.headings.items() if len(names) == 1 and 2 <= len(h.split()) <= 8)
    for heading in draw.sample(headings, len(headings)):
        words = [word for word in heading.split() if _PLAIN.fullmatch(word.lower()) and len(word) >= 5]
        words = [word for word in words if word.lower() not in tokens.QUESTION_WORDS]
        if words:
            word = draw.choice(words)
            wrong = mistyped(word.lower(), draw)
            if corpus.lacks(wrong) and not is_english(wrong):
                names = frozenset(corpus.headings[heading])
                found.append(Query("heading", heading.replace(word, wrong), heading, names))
    rare = sorted(w for w, _ in corpus.words.items() if len(w) >= 6 and len(corpus.stems[stem(w)]) <= FEW)
    single: list[Query] = []
    for word in draw.sample(rare, len(rare)):
        wrong = mistyped(word, draw)
        if corpus.lacks(wrong) and not is_english(wrong):
            single.append(Query("rare word", wrong, word, frozenset(corpus.stems[stem(word)])))
    return found[:HEADINGS] + single[:RARE]


def measure(folder: Path, queries: list[Query], index: Path, dense: bool) -> dict[str, Any]:
    off = {} if dense else {"index": {"dense": ""}}
    steps = settings("default").tables["pipeline"]["understand"]
    without = {"pipeline": {"understand": [step for step in steps if step != "spelling"]}}
    with Engine(index, settings("default", off)) as engine:
        engine.sync([folder])
        if dense:
            engine.deepen()
    counts: dict[str, Any] = {}
    for name, flags, original in (("before", without, False), ("after", {}, False), ("as written", without, True)):
        with Engine(index, settings("default", {**off, **flags})) as engine:
            for mode in ("lexical", "hybrid"):
                for query in queries:
                    text = query.original if original else query.text
                    answer = engine.search(Request(text, mode, top_n=5))
                    right = [result.document in query.relevant for result in answer.results]
                    row = counts.setdefault(f"{mode}, {query.kind}", {}).setdefault(name, [0, 0, 0, 0])
                    row[0] += 1
                    row[1] += any(right[:1])
                    row[2] += any(right)
                    row[3] += answer.no_good_match
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--corpora", default="")
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    names = args.corpora.split(",") if args.corpora else sorted(path.name for path in args.data.iterdir())
    table: dict[str, dict[str, list[int]]] = {}
    for name in names:
        folder, draw = args.data / name / "files", random.Random(name)  # noqa: S311 - to be repeatable
        corpus = Corpus(folder)
        queries = compounds(corpus, draw) + errors(corpus, draw)
        with tempfile.TemporaryDirectory() as place:
            found = measure(folder, queries, Path(place) / "index", args.dense)
        for kind, rows in found.items():
            for when, row in rows.items():
                old = table.setdefault(kind, {}).setdefault(when, [0] * 4)
                table[kind][when] = [a + b for a, b in zip(old, row, strict=True)]
        print(name, len(queries), found, file=sys.stderr, flush=True)
    result = keep("spelling", {"machine": machine(), "corpora": names, "dense": args.dense, "table": table}, args.out)
    text = markdown(result)
    (args.out / f"spelling-{result['commit']}.md").write_text(text, "utf8")
    print(text)


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"# Spelling at {result['commit']}",
        "",
        f"{result['date']}. {', '.join(result['corpora'])}; models: static{' and dense' if result['dense'] else ''}.",
        "The share of queries with a right document first, or among five; `flagged` as no good match.",
        "",
        "| mode, queries | | hit@1 | hit@5 | flagged |",
        "|---|---|--:|--:|--:|",
    ]
    for kind, rows in result["table"].items():
        for when, (count, first, five, flagged) in rows.items():
            shares = " | ".join(f"{one / count:.2f}" for one in (first, five, flagged))
            lines.append(f"| {kind} ({count}) | {when} | {shares} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
