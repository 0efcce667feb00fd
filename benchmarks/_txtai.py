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
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCH = 32
SECTIONS = 20
"""How many sections are looked at for the files of the best ones."""


def encoder(folder: str) -> Callable[[list[Any]], Any]:
    """The vectors of texts, by an ONNX file with its tokenizer."""
    numpy, runtime = importlib.import_module("numpy"), importlib.import_module("onnxruntime")
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.enable_truncation(512)
    tokenizer.enable_padding(pad_id=1)
    session = runtime.InferenceSession(f"{folder}/model.onnx")

    def embed(texts: list[Any]) -> Any:
        vectors: dict[int, Any] = {}
        order = sorted(range(len(texts)), key=lambda at: len(str(texts[at])))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            read = tokenizer.encode_batch([str(texts[at]) for at in batch])
            given = {"input_ids": [each.ids for each in read], "attention_mask": [each.attention_mask for each in read]}
            made = session.run(None, {name: numpy.array(value, dtype="int64") for name, value in given.items()})[0]
            vectors.update(zip(batch, made, strict=True))
        return numpy.array([vectors[at] for at in range(len(texts))])

    return embed


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
    own = {"transform": encoder(model[0])} if model else {}
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
