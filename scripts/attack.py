"""Attack watersmeet as a stranger's folder, document, client or disk would, and print what was tried and refused.

    python scripts/attack.py [--short] [--only AREA] [--json]

Each probe gets an empty folder and a home of its own. The end is 1 if any attack got through. `--short` leaves out the
slow ones; CI runs that.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import tempfile
import time
from pathlib import Path

import attacks
from attacks.probe import PROBES, Breach, Probe


def load() -> None:
    for found in pkgutil.iter_modules(attacks.__path__):
        importlib.import_module(f"attacks.{found.name}")


def attempt(one: Probe) -> dict[str, object]:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        try:
            outcome, ok = one.run(Path(folder)), True
        except Exception as error:  # noqa: BLE001 - whatever breaks is a row of the table
            outcome, ok = f"{'' if isinstance(error, Breach) else type(error).__name__ + ': '}{error}", False
    return {
        "area": one.area,
        "tried": one.tried,
        "held": ok,
        "outcome": " ".join(outcome.split())[:200],
        "seconds": round(time.monotonic() - start, 1),
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--short", action="store_true", help="without the slow probes")
    arguments.add_argument("--only", help="one area")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    load()
    rows = []
    for one in PROBES:
        if (options.short and one.slow) or (options.only and one.area != options.only):
            continue
        rows.append(attempt(one))
        if not options.json:
            row = rows[-1]
            print(f"| {row['area']} | {row['tried']} | {'held' if row['held'] else '**BREACH**'} | {row['outcome']} |")
            sys.stdout.flush()
    broken = sum(not row["held"] for row in rows)
    if options.json:
        print(json.dumps({"tried": len(rows), "breaches": broken, "probes": rows}, indent=1))
    else:
        print(f"{len(rows) - broken} passed, {broken} failed")
    return 1 if broken or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
