"""Known-item queries, generated from an index to test whether its own documents are found again."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from watersmeet.core import tokens
from watersmeet.core.errors import NotFound
from watersmeet.core.model import Passage
from watersmeet.engine.engine import Engine
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.evaluate.classes import classes_of
from watersmeet.evaluate.data import Dataset, Question

CLASSES = ("title", "heading", "sentence", "identifier", "link")
MAX_DOCUMENTS = 2000
"""How many documents are read; whether a text is unique is decided among these."""
NOTE = (
    "These queries were made from the index itself: a title, a heading, a sentence, an identifier or the text of"
    " a link, and only the document that contains it (for a link: its target) counts as right. They show whether"
    " known documents are found again, whether a change broke that, and which recipe does it better."
    " They do not show how well questions in other words are answered: titles, headings and identifiers share"
    " their words with the document, which favours lexical search, and another document with an equally good"
    " answer counts as wrong. For a sentence, its own passage is left out of the results, so the"
    " document must be found by the rest of its text. Do not choose weights by these numbers."
)

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])|\n{2,}|\n(?=[^\S\n]*[-*#>|`\d])")
_MARKUP = re.compile(r"[|`<>{}\[\]=#*_\\]|https?:|^\s*[-+] ")
_VAGUE = tokens.QUESTION_WORDS | frozenset(
    "here link this page more read see docs documentation click next previous".split()
)


def known_items(engine: Engine, count: int, seed: int, progress: ProgressCallback) -> Dataset:
    """About `count` queries, evenly from all classes as far as available; the same seed gives the same queries."""
    random_ = random.Random(seed)  # noqa: S311 - a sample
    listed = sorted(engine.documents(), key=lambda entry: str(entry["document"]))
    names = [str(entry["document"]) for entry in listed]
    random_.shuffle(names)
    titles = Counter(str(entry["title"]).casefold() for entry in listed)
    read: dict[str, list[Passage]] = {}
    for number, name in enumerate(names[:MAX_DOCUMENTS], 1):
        read[name] = engine.passages(name)
        progress(Progress("reading", number, min(len(names), MAX_DOCUMENTS), "documents"))
    items = {
        "title": _titles(read, titles),
        "heading": _unique({name: _headings(passages) for name, passages in read.items()}, random_),
        "sentence": _sentences(read, random_),
        "identifier": _unique({name: _identifiers(passages) for name, passages in read.items()}, random_),
        "link": _links(engine.link_texts(), random_),
    }
    questions = [
        Question(f"{kind}-{number}", text, {document: 1}, (kind, *classes_of(text)), withheld)
        for kind, take in zip(CLASSES, _shares([len(items[kind]) for kind in CLASSES], count), strict=True)
        for number, (text, document, withheld) in enumerate(items[kind][:take], 1)
    ]
    if not questions:
        raise NotFound("no query could be made from the index", "sync more documents first")
    none = [kind for kind in CLASSES if not items[kind]]
    warnings = (f"the index has nothing to make queries from: {', '.join(none)}",) if none else ()
    return Dataset("the index itself", questions, ids=frozenset(names), note=NOTE, warnings=warnings)


Item = tuple[str, str, frozenset[str]]
"""Query, expected document, chunks to leave out."""


def _shares(available: Sequence[int], count: int) -> list[int]:
    """Equal shares of `count`; what one class lacks is taken from the others."""
    taken = [0] * len(available)
    while sum(taken) < count and any(t < a for t, a in zip(taken, available, strict=True)):
        for i, most in enumerate(available):
            if taken[i] < most and sum(taken) < count:
                taken[i] += 1
    return taken


def _titles(read: dict[str, list[Passage]], titles: Counter[str]) -> list[Item]:
    """Titles that no other document has; a title equal to the id is none."""
    return [
        (title, name, frozenset())
        for name, passages in read.items()
        if passages and (title := passages[0].title.strip()) and title != name and titles[title.casefold()] == 1
    ]


def _headings(passages: Iterable[Passage]) -> list[str]:
    return [p.headings[-1] for p in passages if p.headings and p.headings[-1] != p.title and len(p.headings[-1]) > 2]


def _identifiers(passages: Iterable[Passage]) -> list[str]:
    """Names and codes as written, without paths and bare numbers, which people do not type."""
    return [
        surface
        for p in passages
        for surface in tokens.surfaces(p.text)
        if 4 <= len(surface) <= 60
        and tokens.is_identifier(surface)
        and any(c.isalpha() for c in surface)
        and not any(c in surface for c in "/\\@")
    ]


def _unique(found: dict[str, list[str]], random_: random.Random) -> list[Item]:
    """For each document one text that no other document has."""
    documents_with: defaultdict[str, set[str]] = defaultdict(set)
    for name, texts in found.items():
        for text in texts:
            documents_with[text.casefold()].add(name)
    items: list[Item] = []
    for name, texts in found.items():
        own = sorted({text for text in texts if len(documents_with[text.casefold()]) == 1})
        if own:
            items.append((random_.choice(own), name, frozenset()))
    return items


def _sentences(read: dict[str, list[Passage]], random_: random.Random) -> list[Item]:
    """A sentence of prose from one of several passages, which is then left out of the results."""
    items: list[Item] = []
    for name, passages in read.items():
        if len(passages) < 2:
            continue
        choices = [
            (sentence, p.id)
            for p in passages
            for sentence in (" ".join(part.split()) for part in _SENTENCE.split(p.text))
            if 6 <= len(sentence.split()) <= 30 and not _MARKUP.search(sentence)
        ]
        once = Counter(sentence for sentence, _ in choices)
        choices = [(sentence, chunk) for sentence, chunk in choices if once[sentence] == 1]
        if choices:
            sentence, chunk = random_.choice(choices)
            items.append((sentence, name, frozenset({chunk})))
    return items


def _links(link_texts: Iterable[tuple[str, str, str]], random_: random.Random) -> list[Item]:
    """Link texts that always lead to the same document and are not vague."""
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for _, target, text in sorted(link_texts):
        text = " ".join(text.split())
        words = [word.lower() for word in tokens.surfaces(text)]
        if len(text) > 2 and "://" not in text and not _VAGUE.issuperset(words):
            targets[text].add(target)
    items = [(text, next(iter(to)), frozenset[str]()) for text, to in targets.items() if len(to) == 1]
    random_.shuffle(items)
    return items
