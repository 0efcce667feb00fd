"""Obvious cases: queries whose first result is beyond doubt, made from real Markdown by a seeded script.

    python benchmarks/obvious.py --make [--cases benchmarks/obvious.json]      (draw the cases)
    python benchmarks/obvious.py [--cases benchmarks/obvious.json]             (ask them, write the results)

Sets: `word` (a word that one file has), `title` and `heading` (unique, letter for letter), `capitals` (a sentence with
common capitals), `phrase`, `without` and `filter` (operators in a query), `section` (the section and not the page's
introduction), `synonym` (other words for a page), `identifier` (10 times above what is merely near). The spellings are
in obvious_spelling.py.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, machine
from quality import settings

from watersmeet.core import tokens
from watersmeet.core.model import Answer, Passage, Result
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import cache_folder

MARKDOWN = SHARED / "data" / "markdown"
CORPORA = ("obsidian_help_en", "foam_docs", "rust_book", "dendron_site")
CASES = Path(__file__).with_suffix(".json")
COUNTS = {"word": 75, "title": 50, "heading": 50, "capitals": 20, "phrase": 20, "without": 15, "section": 40}
MORE_WORDS = 75
"""More words from the first corpus, to have 150 of it."""
INTRODUCTION = 40
"""An introduction of at most so many words is one line."""
SYNONYMS = {
    "obsidian_help_en": [
        ("login", ["Obsidian Account", "Sign in", "Log in", "account"]),
        ("keyboard shortcuts", ["Hotkeys"]),
        ("hotkeys", ["Hotkeys"]),
        ("pictures", ["Embed files", "Attachments", "Embed"]),
        ("refund", ["Refund policy", "Refund"]),
        ("smartphone app", ["Mobile app", "Obsidian app", "Android", "iOS"]),
        ("spell checker", ["Spellcheck", "Edit", "Settings"]),
        ("diagrams", ["Canvas", "diagram", "Advanced formatting"]),
    ],
    "rust_book": [
        ("multithreading", ["Concurrency", "Threads"]),
        ("unit tests", ["Test"]),
        ("hash tables", ["Hash Map"]),
        ("dynamic arrays", ["Vector", "List"]),
        ("exceptions", ["panic", "Error"]),
        ("null pointers", ["Option", "Enum", "Unsafe"]),
    ],
}
"""Words, and parts of the titles or headings that answer them. By hand: no script knows synonyms."""
FOREIGN = "photosynthesis quarterback baroque mortgage glacier antibiotics".split()
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_ADDRESS = re.compile(r"https?://\S+|\]\([^)]*\)|!?\[\[[^\]]*\]\]|`[^`]*`|<[^>]*>", re.DOTALL)
_PROSE = re.compile(r"(?<=[.!?] )[A-Z][^.!?\n|<>{}\[\]`*_]{40,140}[.!?]")
_CAPITALS = re.compile(r"\b(?:[A-Z]{2,5}s?)\b")

Case = dict[str, Any]


def drawn(corpus: str) -> list[Case]:
    """The cases of one corpus; the same each time."""
    folder = MARKDOWN / corpus
    random_ = random.Random(corpus)  # noqa: S311 - a sample
    with _engine(corpus) as engine:
        names = sorted(str(entry["document"]) for entry in engine.documents())
        pages = {name: engine.passages(name) for name in names}
    cases = [
        *_words(folder, names, random_, COUNTS["word"] + (MORE_WORDS if corpus == CORPORA[0] else 0)),
        *_titles(pages, random_),
        *_headings(pages, random_),
        *_capitals(pages, random_),
        *_phrases(pages, random_),
        *_without(pages, random_),
        *_sections(pages, random_),
        *_identifiers(pages, random_),
        *[{"set": "synonym", "query": query, "titles": titles} for query, titles in SYNONYMS.get(corpus, [])],
        *[{"set": "foreign word", "query": word} for word in FOREIGN],
        {"set": "filter", "query": f'path:"{names[0]}" the', "prefix": names[0]},
        {"set": "filter", "query": "kind:document note", "prefix": ""},
        {"set": "filter", "query": "kind:Deployment apiVersion", "plain": True},
    ]
    return [{"corpus": corpus, **case} for case in cases]


def _find(folder: Path, name: str) -> Path:
    return next(path for path in (folder / name, folder / "files" / name) if path.exists())


def _words(folder: Path, names: list[str], random_: random.Random, count: int) -> list[Case]:
    """Words of prose that stand in one file, with the file."""
    files: defaultdict[str, set[str]] = defaultdict(set)
    prose: set[str] = set()
    for name in names:
        text = _find(folder, name).read_text("utf8", errors="replace")
        for word in re.findall(r"[^\W\d_]{2,}", text):
            files[word.lower()].add(name)
        prose |= set(
            re.findall(r"(?<![\w.\-/@#])[A-Za-z][a-z]{3,14}(?![\w.\-/@])", _ADDRESS.sub(" ", _FRONT.sub("", text)))
        )
    once = sorted(word for word in prose if len(files[word.lower()]) == 1)
    return [
        {"set": "word", "query": word, "document": next(iter(files[word.lower()]))}
        for word in random_.sample(once, min(count, len(once)))
        if word.lower() not in tokens.QUESTION_WORDS
    ]


def _titles(pages: dict[str, list[Passage]], random_: random.Random) -> list[Case]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, passages in pages.items():
        if passages and len(passages[0].title) > 2:
            found[passages[0].title.casefold()].append(name)
    titles = sorted((pages[one[0]][0].title, one[0]) for one in found.values() if len(one) == 1)
    chosen = random_.sample(titles, min(COUNTS["title"], len(titles)))
    return [{"set": "title", "query": title, "document": name} for title, name in chosen]


def _headings(pages: dict[str, list[Passage]], random_: random.Random) -> list[Case]:
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, passages in pages.items():
        for heading in dict.fromkeys(heading for p in passages for heading in _headings_of(p) if heading != p.title):
            found[heading.casefold()].append((heading, name))
    titles = {p[0].title.casefold() for p in pages.values() if p}
    once = sorted(one[0] for text, one in found.items() if len(one) == 1 and len(text) > 3 and text not in titles)
    chosen = random_.sample(once, min(COUNTS["heading"], len(once)))
    return [{"set": "heading", "query": heading, "document": name, "heading": heading} for heading, name in chosen]


def _headings_of(passage: Passage | Result) -> list[str]:
    """Its own heading, and those of short sections that were joined to it."""
    prose = re.sub(r"```.*?(```|\Z)", "", passage.text, flags=re.DOTALL)
    return [
        *passage.headings[-1:],
        *(line.strip() for line in re.findall(r"^#{1,6} +([^#\n`\[<{]+?)\s*$", prose, re.MULTILINE)),
    ]


def _sentences(passages: Iterable[Passage]) -> list[str]:
    return [sentence for p in passages for sentence in _PROSE.findall(" ".join(p.text.split()))]


def _capitals(pages: dict[str, list[Passage]], random_: random.Random) -> list[Case]:
    """Sentences with capitals, without every fourth word: the page that has them is meant."""
    found = [
        (sentence, name)
        for name, passages in pages.items()
        for sentence in _sentences(passages)
        if _CAPITALS.search(sentence)
    ]
    chosen = random_.sample(sorted(found), min(COUNTS["capitals"], len(found)))
    shorter = [(" ".join(w for i, w in enumerate(text.split()) if i % 4), name) for text, name in chosen]
    return [{"set": "capitals", "query": text, "document": name} for text, name in shorter]


def _phrases(pages: dict[str, list[Passage]], random_: random.Random) -> list[Case]:
    """Four words in a row that one page has, in quotes."""
    texts = {name: " ".join(" ".join(tokens.words(p.text)) for p in passages) for name, passages in pages.items()}
    cases: list[Case] = []
    found = sorted((sentence, name) for name, passages in pages.items() for sentence in _sentences(passages))
    random_.shuffle(found)
    for sentence, name in found:
        words = sentence.rstrip(".!?").split()
        phrase = " ".join(words[1:5])
        plain = " ".join(tokens.words(phrase))
        if phrase.replace(" ", "").isalpha() and [n for n, text in texts.items() if f" {plain} " in text] == [name]:
            cases.append({"set": "phrase", "query": f'"{phrase}"', "document": name})
        if len(cases) == COUNTS["phrase"]:
            break
    return cases


def _without(pages: dict[str, list[Passage]], random_: random.Random) -> list[Case]:
    """Two words that often stand together: the first without the second."""
    counts: defaultdict[str, int] = defaultdict(int)
    bags = [set(tokens.words(p.text)) for passages in pages.values() for p in passages]
    for bag in bags:
        for word in bag:
            if word.isalpha() and len(word) > 4 and word not in tokens.QUESTION_WORDS:
                counts[word] += 1
    usual = sorted(word for word, n in counts.items() if 8 <= n <= 60)
    cases: list[Case] = []
    while len(cases) < COUNTS["without"] and usual:
        first, second = random_.sample(usual, 2)
        if sum(first in bag and second in bag for bag in bags) >= 2:
            cases.append({"set": "without", "query": f"{first} -{second}", "without": second})
    return cases


def _sections(pages: dict[str, list[Passage]], random_: random.Random) -> list[Case]:
    """Title and heading of a section on a page that begins with one line: the section is meant."""
    found = []
    pages_with = Counter(
        h.casefold() for passages in pages.values() for h in {p.headings[-1] for p in passages if p.headings}
    )
    for name, passages in pages.items():
        if len(passages) < 3 or len(passages[0].text.split()) > INTRODUCTION:
            continue
        sections = [p for p in passages[1:] if p.headings and p.headings[-1] != p.title and len(p.text.split()) > 30]
        own = {p.headings[-1]: p for p in sections if pages_with[p.headings[-1].casefold()] == 1}
        found += [(f"{p.title} {heading}", name, heading) for heading, p in own.items()]
    chosen = random_.sample(sorted(found), min(COUNTS["section"], len(found)))
    return [{"set": "section", "query": q, "document": name, "heading": heading} for q, name, heading in chosen]


def _identifiers(pages: dict[str, list[Passage]], random_: random.Random) -> list[Case]:
    """Identifiers with a digit, an underscore or a flag's dash that one page has."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, passages in pages.items():
        for surface in tokens.surfaces("\n".join(p.text for p in passages)):
            if 4 <= len(surface) <= 40 and tokens.identifiers(surface) and not re.search(r"[/\\@]", surface):
                found[surface].add(name)
    lower: defaultdict[str, set[str]] = defaultdict(set)
    for surface, places in found.items():
        lower[surface.lower()] |= places
    once = sorted(s for s in found if len(lower[s.lower()]) == 1)
    chosen = random_.sample(once, min(30, len(once)))
    return [
        {"set": "identifier", "query": f"what is {s}", "identifier": s, "document": next(iter(found[s]))}
        for s in chosen
    ]


def _engine(corpus: str) -> Engine:
    folder = Path(cache_folder()) / "obvious" / corpus
    engine = Engine(folder, settings("default"))
    if not (folder / "ready").exists():
        engine.sync([MARKDOWN / corpus])
        (folder / "ready").touch()
    engine.deepen(lambda step: None)
    return engine


def outcome(case: Case, answer: Answer) -> dict[str, bool]:
    """What held for one case: the right one first, and whether it was flagged as no match."""
    first = answer.results[0] if answer.results else None
    held = {"first": False, "flagged": answer.no_good_match}
    if first is None:
        return held
    name = case["set"]
    if name in ("word", "title", "capitals", "phrase"):
        held["first"] = first.document == case["document"]
    elif name in ("heading", "section"):
        headings = (*first.headings, *_headings_of(first))
        held["first"] = first.document == case["document"] and case["heading"] in headings
        if name == "section":
            held["introduction first"] = first.document == case["document"] and set(first.headings) <= {first.title}
    elif name == "without":
        held["first"] = all(
            case["without"] not in tokens.words(" ".join((r.title, *r.headings, r.text))) for r in answer.results
        )
    elif name == "filter":
        held["first"] = bool(case.get("plain")) or all(r.document.startswith(case["prefix"]) for r in answer.results)
    elif name == "synonym":
        names = " / ".join((first.title, *first.headings)).casefold()
        held["first"] = any(title.casefold() in names for title in case["titles"])
    elif name == "identifier":
        has = [case["identifier"].lower() in f"{r.title} {r.headings} {r.text}".lower() for r in answer.results]
        near = [r.score for r, yes in zip(answer.results, has, strict=True) if not yes]
        held["first"] = has[0]
        held["ten times"] = has[0] and all(score <= 0.1 for score in near)
    return held


def measure(cases: list[Case]) -> dict[str, Any]:
    found: defaultdict[str, list[dict[str, bool]]] = defaultdict(list)
    missed: list[str] = []
    for corpus in dict.fromkeys(case["corpus"] for case in cases):
        with _engine(corpus) as engine:
            for case in (case for case in cases if case["corpus"] == corpus):
                answer = engine.search(case["query"])
                held = outcome(case, answer)
                found[case["set"]].append(held)
                if not held["first"] or held["flagged"]:
                    first = answer.results[0] if answer.results else None
                    where = f"{first.document} > {' > '.join(first.headings)}" if first else "nothing"
                    missed.append(
                        f"{corpus} {case['set']}: {case['query']!r} -> {where}"
                        f" {'(flagged ' + str(answer.confidence) + ')' if held['flagged'] else ''}"
                    )
    table = {
        name: {"cases": len(rows)} | {key: round(sum(r[key] for r in rows) / len(rows), 3) for key in rows[0]}
        for name, rows in found.items()
    }
    return {"sets": table, "missed": missed}


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"# Obvious cases at {result['commit']}",
        "",
        f"{result['date']}. The share of cases with the right one first, and of those flagged as no match.",
        "",
        "| set | cases | first | flagged | ten times above | introduction first |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in result["sets"].items():
        ten, introduction = (f"{row[key]:.3f}" if key in row else "" for key in ("ten times", "introduction first"))
        lines.append(
            f"| {name} | {row['cases']} | {row['first']:.3f} | {row['flagged']:.3f} | {ten} | {introduction} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--make", action="store_true", help="draw the cases anew")
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--show", action="store_true", help="print the cases that failed")
    parser.add_argument("--sets", default="", help="only these sets, separated by commas")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.make:
        cases = [case for corpus in CORPORA for case in drawn(corpus)]
        args.cases.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n", "utf8")
        return
    cases = json.loads(args.cases.read_text("utf8"))
    cases = [case for case in cases if not args.sets or case["set"] in args.sets.split(",")]
    found = measure(cases)
    if args.show:
        print("\n".join(found["missed"]), file=sys.stderr)
    result = keep("obvious", {"machine": machine(), "sets": found["sets"]}, args.out)
    text = markdown(result)
    (args.out / f"obvious-{result['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
