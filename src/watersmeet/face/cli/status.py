"""`watersmeet status` and `doctor`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import click

from watersmeet.core.languages import named
from watersmeet.engine.index.tiers import MISSING, TIERS
from watersmeet.engine.query.modes import percent
from watersmeet.face.cli.common import common, opened, print_json
from watersmeet.face.cli.roots import ago, source_line

MAX_LANGUAGES = 5
QUERY_ENCODERS = {
    "tuned": ", queries by a tuned encoder",
    "missing": ", the tuned encoder of queries is not on this machine",
}


@click.command("status", epilog="Example: watersmeet status --json")
@common
def status_command(index: str, as_json: bool, quiet: bool) -> None:
    """Show what the index contains and the share of it that each signal covers."""
    with opened(index) as engine:
        status = engine.status()
    if as_json:
        print_json(status)
        return
    print(f"{status['documents']} documents, {status['chunks']} chunks, {status['size_bytes'] / 1e6:.1f} MB")
    for name, text in _lines(status):
        print(f"  {name:<12}{text}")


def _lines(status: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("index", status["index"]),
        *((source["kind"], source_line(source)) for source in status["sources"]),
        *([("database", _database(status["database"]))] if "database" in status else []),
        *((name, ", ".join(f"{k} {count}" for k, count in status[name].items())) for name in ("kinds", "collections")),
        *([("disk", _disk(status["bytes_per_chunk"]))] if status["bytes_per_chunk"] else []),
        *([("jobs", _jobs(status["jobs"]))] if "jobs" in status else []),
        *([("languages", _languages(status["languages"]))] if status["languages"] else []),
        *((name, _covered(signal)) for name, signal in status["signals"].items()),
        *_missing(status["signals"]),
        ("calibration", _calibrated(status["calibration"])),
    ]


def _database(state: dict[str, Any]) -> str:
    """The shared database of the registry, and how old what was pulled from it is."""
    pulled = f"pulled {ago(state['pulled'])}" if state["pulled"] else "never pulled: run `watersmeet pull`"
    return f"{state['place']}, {pulled}" + (f"; {state['problem']}" if state["problem"] else "")


def _disk(sizes: dict[str, float]) -> str:
    """Bytes of each part of the index."""
    return ", ".join(f"{part} {size:,.0f}" for part, size in sizes.items()) + " bytes a chunk"


def _jobs(counts: dict[str, int]) -> str:
    """The queue of an index on servers."""
    failed = f", {counts['failed']} failed before" if counts["failed"] else ""
    return f"{counts['waiting']} waiting{failed}, {counts['running']} running"


def _languages(shares: dict[str, float]) -> str:
    """Share of the passages in each of the most common languages."""
    return ", ".join(f"{named([language])} {share:.0%}" for language, share in list(shares.items())[:MAX_LANGUAGES])


def _missing(signals: dict[str, Any]) -> list[tuple[str, str]]:
    """A line on missing vectors, if there are any."""
    covered = {name: signal["coverage"] for name, signal in signals.items() if name in TIERS}
    if all(share >= 1 for share in covered.values()):
        return []
    words_only = TIERS[0] in covered and not any(covered.values())
    return [("missing", "no vectors yet: `watersmeet sync` makes them" if words_only else MISSING)]


def _calibrated(state: dict[str, Any]) -> str:
    if "problem" in state:
        return str(state["problem"])
    learnt = state["collections"].get("*")
    if not learnt:
        return "no evidence yet: the recipe's weights are used"
    weights = ", ".join(f"{name} {value:.2f}" for name, value in learnt["weights"].items())
    return f"{learnt['evidence']:g} pieces of evidence: {weights}"


def _covered(signal: dict[str, Any]) -> str:
    left = signal.get("seconds_left") or 0
    rest = f", {signal['rate']:.0f} chunks a second, about {left / 60:.0f} min left" if left > 0 else ""
    queries = QUERY_ENCODERS.get(signal.get("query_encoder", ""), "")
    return f"{percent(signal['coverage'])} covered, {signal['model']}{queries}{rest}"


@click.command("doctor", epilog="Example: watersmeet doctor")
@common
def doctor_command(index: str, as_json: bool, quiet: bool) -> None:
    """Check the index for problems; exit code 2 if there are any."""
    with opened(index) as engine:
        checks = engine.doctor()
    well = all(check.ok for check in checks)
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            if check.ok and quiet:
                continue
            print(f"{'ok' if check.ok else 'PROBLEM':<9}{check.name:<14} {check.detail}")
            if check.hint:
                print(f"{'':<9}  hint: {check.hint}")
    if not well:
        sys.exit(2)
