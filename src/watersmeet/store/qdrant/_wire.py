"""Messages to write points over gRPC, encoded by hand: Qdrant's own client takes 3 CPU seconds to import.

A field of a protobuf message is a tag (its number and kind) and its content; numbers are varints, seven bits a byte.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watersmeet.store.qdrant.points import Point

UPSERT = "/qdrant.Points/Upsert"
VECTOR = "v"
"""Name of the one vector of each point."""
_BITS = 7
_DENSE, _SPARSE = 101, 102
"""Fields of the message `Vector`."""


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= _BITS
    found.append(value)
    return bytes(found)


def _field(number: int, content: bytes) -> bytes:
    """A field with a length: a text, a message, or packed numbers."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def _text(number: int, value: str) -> bytes:
    return _field(number, value.encode())


def varints(values: Any, counts: Sequence[int]) -> list[bytes]:
    """Numbers of several arrays, which are given as one, encoded for each of them."""
    import numpy as np

    numbers = np.asarray(values, dtype=np.uint64)
    shifted = numbers[:, None] >> np.arange(0, 35, _BITS, dtype=np.uint64)
    used = shifted > 0
    used[:, 0] = True
    encoded = (shifted & np.uint64(127)).astype(np.uint8)
    encoded[:, :-1][used[:, 1:]] |= 128
    sizes = used.sum(axis=1)
    ends = np.concatenate(([0], np.cumsum(sizes)))[np.concatenate(([0], np.cumsum(counts)))]
    whole = encoded[used].tobytes()
    return [whole[start:end] for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def upsert(collection: str, points: Sequence[Point]) -> bytes:
    """`UpsertPoints`, acknowledged once it is applied."""
    found = [_text(1, collection), b"\x10\x01"]
    found += [_field(3, one) for one in _points(points)]
    return b"".join(found)


def _points(points: Sequence[Point]) -> list[bytes]:
    import numpy as np

    sparse = [point.vector for point in points if isinstance(point.vector, tuple)]
    indices = iter(
        varints(np.concatenate([terms for terms, _ in sparse]), [len(terms) for terms, _ in sparse]) if sparse else ()
    )
    found = []
    for point in points:
        if isinstance(point.vector, tuple):
            weights = np.asarray(point.vector[1], dtype="<f4").tobytes()
            vector = _field(_SPARSE, _field(1, weights) + _field(2, next(indices)))
        else:
            vector = _field(_DENSE, _field(1, np.asarray(point.vector, dtype="<f4").tobytes()))
        entry = _field(1, _text(1, VECTOR) + _field(2, vector))
        payload = b"".join(_field(3, _text(1, key) + _field(2, _value(value))) for key, value in point.payload.items())
        found.append(_field(1, b"\x08" + varint(point.row)) + payload + _field(4, _field(2, entry)))
    return found


def _value(value: Any) -> bytes:
    if isinstance(value, float):
        return b"\x11" + struct.pack("<d", value)
    if isinstance(value, str):
        return _text(4, value)
    return _field(7, b"".join(_field(1, _text(4, one)) for one in value))
