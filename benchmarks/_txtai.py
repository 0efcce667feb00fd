"""txtai's side of the comparison. Run by comparison.py with txtai's own interpreter: standard library, and txtai.

    python _txtai.py index FOLDER PLACE [MODEL]     index the sections of a folder of Markdown
    python _txtai.py search PLACE QUERIES [MODEL]   a query a line; prints the files of the best sections, best first

txtai is a library: what a document is, and how it is cut, its user decides. Here a section of Markdown is one. Without
MODEL it searches words (BM25); with the folder of an ONNX encoder, words and vectors together (its `hybrid`).
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from _peer import Granite

SECTIONS = 20
"""How many sections are looked at for the files of the best ones."""


def sections(folder: str) -> list[tuple[str, str, None]]:
    found = []
    for path in sorted(Path(folder).rglob("*.md")):
        name = path.relative_to(folder).as_posix()
        for number, part in enumerate(re.split(r"^(?=#{1,6} )", path.read_text("utf8"), flags=re.MULTILINE)):
            if part.strip():
                found.append((f"{name}\t{number}", f"{path.stem}\n{part}", None))
    return found


def main() -> None:
    verb, first, second, *model = sys.argv[1:]
    kind = importlib.import_module("txtai.embeddings").Embeddings
    own = {"transform": Granite(model[0]).function} if model else {}
    if verb == "index":
        index = kind(**({"hybrid": True, "method": "external", **own} if model else {"keyword": True}))
        index.index(sections(first))
        index.save(second)
        return
    index = kind()
    index.load(first, config=own)
    answers = []
    for query in second.splitlines():
        names = [name.rpartition("\t")[0] for name, _ in index.search(query, SECTIONS)]
        answers.append("\n".join(dict.fromkeys(names)))
    print("\n\n".join(answers))


if __name__ == "__main__":
    main()
