"""`watersmeet status` and `doctor`."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.place import find_index
from watersmeet.face.cli.common import common, opened, print_json, table


@click.command("status", epilog="Example: watersmeet status --json")
@common
def status_command(index: str, as_json: bool, quiet: bool) -> None:
    """Show what the index holds and how far each signal has come."""
    with opened(index) as engine:
        status = engine.status()
    if as_json:
        print_json(status)
        return
    print(f"{status['documents']} documents, {status['chunks']} chunks, {status['size_bytes'] / 1e6:.1f} MB")
    print(f"index: {status['index']}")
    for root in status["roots"]:
        print(f"folder: {root}")
    for name in ("kinds", "collections"):
        print(f"{name}: " + ", ".join(f"{key} {count}" for key, count in status[name].items()))
    for name, signal in status["signals"].items():
        print(f"signal {name}: {signal['coverage']:.0%} covered, {signal['model']}")


@click.command("doctor", epilog="Example: watersmeet doctor")
@common
def doctor_command(index: str, as_json: bool, quiet: bool) -> None:
    """Look for anything wrong with the index; exit code 2 if something is."""
    with Engine(find_index(index)) as engine:
        checks = engine.doctor()
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        rows = [["ok" if check.ok else "PROBLEM", check.name, check.detail, check.hint] for check in checks]
        table(["", "check", "found", "what to do"], rows)
    if not all(check.ok for check in checks):
        sys.exit(2)
