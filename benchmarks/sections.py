"""Questions on sections of real vaults: is the right section first, is it among the first five?

    python benchmarks/sections.py [--sets foam_docs,everyday_foam_docs] [--recipe default] [--config settings.toml]
                                  [--against benchmarks/results/sections-COMMIT.json]

The questions are in sections/NAME.toml and were written before any was asked; those of everyday_NAME.toml are on the
same vault. Figures are given as written, and with
the sections that were judged to answer as well when they were found (sections/judged.toml). `--against` compares with
the file of another run, such as that of another checkout or of other settings. Constants are chosen with rust_book,
kubernetes_en and dendron_site, never with the sets that are measured by default. Needs the vaults
(../shared/data/markdown, or --data).
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, load, machine
from quality import settings

from watersmeet.common.stems import stem
from watersmeet.core.model import Request, Result
from watersmeet.core.passages import in_section, passage_words, section_name
from watersmeet.core.tokens import QUESTION_WORDS, words
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import Settings, cache_folder
from watersmeet.evaluate.compare import compare
from watersmeet.evaluate.data import load as load_questions

QUESTIONS = Path(__file__).parent / "sections"
MEASURED = ("obsidian_help_en", "foam_docs", "everyday_obsidian_help_en", "everyday_foam_docs")
DEEP, FEW = 50, 5
PER_DOCUMENT = 3
"""Sections of a document that are shown together, where results are grouped by document."""
WAYS = ("written", "judged")


def judged_too() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in tomllib.loads((QUESTIONS / "judged.toml").read_text("utf8"))["judged"]:
        found.setdefault(entry["query"], []).append(entry["section"])
    return found


def rank(results: Sequence[Result], sections: Sequence[str]) -> int | None:
    return next((n for n, one in enumerate(results, 1) if any(in_section(one, name) for name in sections)), None)


def grouped(results: Sequence[Result]) -> list[Result]:
    """The first sections of the first five documents."""
    found: dict[str, list[Result]] = {}
    for one in results:
        found.setdefault(one.document, []).append(one)
    return [one for group in list(found.values())[:FEW] for one in group[:PER_DOCUMENT]]


def shared_words(engine: Engine, question: str, sections: Sequence[str]) -> float:
    """The largest share of the question's content words that one of the sections has."""
    asked = {stem(word) for word in words(question) if word not in QUESTION_WORDS}
    passages = [p for name in sections for p in engine.passages(name.partition("#")[0]) if in_section(p, name)]
    return max(len(asked & {stem(word) for word in passage_words(p)}) / len(asked) for p in passages)


def ask(name: str, data: Path, chosen: Settings) -> list[dict[str, Any]]:
    """Each question of a set with the ranks of the right section and document."""
    also, answers, vault = judged_too(), [], name.removeprefix("everyday_")
    with Engine(Path(cache_folder()) / "benchmarks" / f"sections-{vault}", chosen) as engine:
        engine.sync([data / vault])
        engine.deepen()
        for question in load_questions(QUESTIONS / f"{name}.toml").questions:
            results = engine.search(Request(question.text, top_n=DEEP)).results
            expected = {
                "written": list(question.relevant),
                "judged": [*question.relevant, *also.get(question.text, ())],
            }
            documents = {section.partition("#")[0] for section in question.relevant}
            answers.append(
                {
                    "set": name,
                    "query": question.text,
                    **{way: rank(results, sections) for way, sections in expected.items()},
                    "document": next((n for n, one in enumerate(results, 1) if one.document in documents), None),
                    "grouped": rank(grouped(results), expected["judged"]) is not None,
                    "shared": round(shared_words(engine, question.text, expected["written"]), 2),
                    "first": section_name(results[0]) if results else "",
                }
            )
    return answers


def reciprocals(answers: Sequence[dict[str, Any]], way: str) -> list[float]:
    return [1 / one[way] if one[way] and one[way] <= 10 else 0.0 for one in answers]


def figures(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def share(kept: Sequence[bool]) -> float:
        return round(sum(kept) / len(answers), 3)

    made: dict[str, Any] = {"questions": len(answers)}
    for way in (*WAYS, "document"):
        ranks = [one[way] or DEEP + 1 for one in answers]
        mean = round(sum(reciprocals(answers, way)) / len(answers), 3)
        made[way] = {"first": share([r == 1 for r in ranks]), "five": share([r <= FEW for r in ranks]), "mrr": mean}
    made["grouped"] = share([one["grouped"] for one in answers])
    return made


def against(answers: Sequence[dict[str, Any]], place: Path) -> dict[str, Any]:
    """The difference of the mean reciprocal rank from another run, with its interval."""
    others = {one["query"]: one for one in json.loads(place.read_text("utf8"))["answers"]}
    both = [one for one in answers if one["query"] in others]
    found: dict[str, Any] = {"file": place.name, "questions": len(both)}
    for way in WAYS:
        made = compare(reciprocals(both, way), reciprocals([others[one["query"]] for one in both], way))
        found[way] = {"mrr": round(made.delta, 4), "low": round(made.low, 4), "high": round(made.high, 4)}
        found[way] |= {"won": made.won, "lost": made.lost}
    return found


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"# Questions on sections at {result['commit']}",
        "",
        f"{result['date']}, recipe `{result['recipe']}`. Right section first, among five, MRR@10; as written, and with"
        " what was judged to answer as well. Document: the right page. Grouped: among the first three sections of the"
        " first five documents.",
        "",
        "| set | questions | written | judged | document | grouped |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, made in result["sets"].items():
        cells = " | ".join(
            f"{made[way]['first']:.3f}, {made[way]['five']:.3f}, {made[way]['mrr']:.3f}" for way in (*WAYS, "document")
        )
        lines.append(f"| {name} | {made['questions']} | {cells} | {made['grouped']:.3f} |")
    if "against" in result:
        other = result["against"]
        lines += ["", f"Beside {other['file']}, {other['questions']} questions:", ""]
        for way in WAYS:
            one = other[way]
            low, high = one["low"], one["high"]
            lines.append(
                f"- {way}: MRR {one['mrr']:+.4f} ({low:+.4f} to {high:+.4f}), {one['won']} won, {one['lost']} lost"
            )
    lines += [
        "",
        "## Right section not first",
        "",
        "| question | judged rank | words shared | first |",
        "|---|--:|--:|---|",
    ]
    for one in result["answers"]:
        if one["judged"] != 1:
            first = one["first"].replace("|", "\\|")
            lines.append(f"| {one['query']} | {one['judged'] or '–'} | {one['shared']:.2f} | {first} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sets", default=",".join(MEASURED), help="names, separated by commas")
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "markdown", help="the folder of the vaults")
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--config", type=Path, help="further settings, as TOML")
    parser.add_argument("--against", type=Path, help="the results of another run, as JSON")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    flags = tomllib.loads(args.config.read_text("utf8")) if args.config else None
    by_set = {name: ask(name, args.data, settings(args.recipe, flags)) for name in args.sets.split(",")}
    answers = [one for found in by_set.values() for one in found]
    half = {
        "half of the words shared, or more": [one for one in answers if one["shared"] >= 0.5],
        "fewer": [one for one in answers if one["shared"] < 0.5],
    }
    groups = {**by_set, "all": answers, **{name: found for name, found in half.items() if found}}
    made: dict[str, Any] = {"machine": machine(), "load": load(), "recipe": args.recipe, "settings": flags or {}}
    made["sets"] = {name: figures(found) for name, found in groups.items()}
    if args.against:
        made["against"] = against(answers, args.against)
    result = keep("sections", {**made, "answers": answers}, args.out)
    text = markdown(result)
    (args.out / f"sections-{result['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
