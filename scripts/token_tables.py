"""Writes the table of tokens beside a `tokenizer.json` (watersmeet.embed._token_table), for a quick start.

    python scripts/token_tables.py [FOLDER ...]

Without a folder: those of the two models that are in the packages. A folder of your own may have one too.
"""

from __future__ import annotations

import sys
from pathlib import Path

from watersmeet.embed._token_table import NAME, table_of

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = (
    ROOT / "src" / "watersmeet" / "embed" / "potion",
    ROOT / "models" / "granite-30m" / "src" / "watersmeet_granite_30m",
)

if __name__ == "__main__":
    for folder in [Path(name) for name in sys.argv[1:]] or SHIPPED:
        (folder / NAME).write_bytes(table_of((folder / "tokenizer.json").read_bytes()))
        print(folder / NAME)
