"""Real texts for an index in a cluster: the shared Markdown, and each text of the judged corpora as a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from _common import SHARED

IN_A_FOLDER = 1000


def write(folder: Path) -> None:
    shutil.copytree(SHARED / "data" / "markdown", folder / "markdown")
    for corpus in sorted((SHARED / "data" / "eval").glob("*/corpus.jsonl")):
        name = corpus.parent.name
        with open(corpus, encoding="utf8") as lines:
            for number, line in enumerate(lines):
                read = json.loads(line)
                place = folder / name / f"{number // IN_A_FOLDER:03}"
                place.mkdir(parents=True, exist_ok=True)
                text = f"# {read.get('title') or name}\n\n{read.get('text') or ''}\n"
                (place / f"{number:06}.md").write_text(text, "utf8", "surrogatepass")
