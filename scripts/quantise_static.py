"""Make the static model that ships in the package: a model2vec folder in, int8 rows with a scale each out.

python scripts/quantise_static.py ../shared/models/potion-base-8M src/watersmeet/embed/potion
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from watersmeet.embed._token_table import NAME, table_of


def read_table(path: Path) -> NDArray[np.float32]:
    """The one tensor of a safetensors file: a length, a JSON header, then the bytes."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    tensor = header["embeddings"]
    if tensor["dtype"] != "F32":
        raise SystemExit(f"{path}: expected float32 rows, found {tensor['dtype']}")
    start, end = (8 + length + offset for offset in tensor["data_offsets"])
    return np.frombuffer(data[start:end], dtype="<f4").reshape(tensor["shape"])


def quantise(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    scales = (np.abs(table).max(axis=1) / 127).astype(np.float32)
    codes = np.rint(table / np.where(scales == 0, 1, scales)[:, None]).astype(np.int8)
    return codes, scales


def main(source: Path, target: Path) -> None:
    table = read_table(source / "model.safetensors")
    codes, scales = quantise(table)
    target.mkdir(parents=True, exist_ok=True)
    np.save(target / "rows.npy", codes)
    np.save(target / "scales.npy", scales)
    tokenizer = (source / "tokenizer.json").read_bytes()
    (target / "tokenizer.json").write_bytes(tokenizer)
    (target / NAME).write_bytes(table_of(tokenizer))
    back = codes * scales[:, None]
    norms = np.linalg.norm(table, axis=1) * np.linalg.norm(back, axis=1)
    cosines = (table * back).sum(axis=1)[norms > 0] / norms[norms > 0]
    print(f"{codes.shape[0]} rows of {codes.shape[1]}; cosine of a row with its original: min {cosines.min():.5f}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
