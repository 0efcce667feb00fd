"""Weights of a graph file mapped into memory instead of copied.

An ONNX file is a protobuf message with the weights inside. onnxruntime parses and copies them all, which takes longer
than a query. A graph may also name a file, an offset and a length for a weight, and such weights are mapped. So this
gives the graph with its large weights named that way: where they are in the same file. Nothing is written to disk.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

LEAST_BYTES = 1024
"""Smaller weights stay in the graph."""
_GRAPH, _INITIALIZER = 7, 5  # fields of ModelProto and GraphProto
_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14  # fields of TensorProto
_KEY, _VALUE = 1, 2
_EXTERNAL = 1
_FIXED_SIZES = {1: 8, 5: 4}
_BYTES = 2
_Field = tuple[int, int, int, int]
"""Number, start, start of the content and end."""


def mapped_graph(path: Path) -> bytes | None:
    """The graph of a file with references to its weights; None if it has none to map or is not understood."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _with_references(content, path.name)
    except (OSError, ValueError, IndexError):  # loading the file as it is says what is wrong
        return None


def _with_references(content: mmap.mmap, name: str) -> bytes | None:
    mapped = 0
    model: list[bytes] = []
    for number, start, inside, end in _fields(content, 0, len(content)):
        if number != _GRAPH:
            model.append(content[start:end])
            continue
        graph: list[bytes] = []
        for field in _fields(content, inside, end):
            tensor = _reference(content, field, name) if field[0] == _INITIALIZER else None
            mapped += tensor is not None
            graph.append(content[field[1] : field[3]] if tensor is None else _message(_INITIALIZER, tensor))
        model.append(_message(_GRAPH, b"".join(graph)))
    return b"".join(model) if mapped else None


def _reference(content: mmap.mmap, field: _Field, name: str) -> bytes | None:
    """A tensor whose data is named by its place in the file; None for one that is small or has other data."""
    _, _, inside, end = field
    if end - inside < LEAST_BYTES:
        return None
    parts, places = [], []
    for number, start, first, last in _fields(content, inside, end):
        if number == _EXTERNAL_DATA:
            return None
        if number == _RAW_DATA:
            places.append((first, last - first))
        elif number != _DATA_LOCATION:
            parts.append(content[start:last])
    if len(places) != 1:
        return None
    ((offset, length),) = places
    for key, value in (("location", name), ("offset", str(offset)), ("length", str(length))):
        parts.append(_message(_EXTERNAL_DATA, _message(_KEY, key.encode()) + _message(_VALUE, value.encode())))
    return b"".join((*parts, _varint(_DATA_LOCATION << 3), _varint(_EXTERNAL)))


def _fields(content: mmap.mmap, place: int, end: int) -> Iterator[_Field]:
    """The fields of a message; `ValueError` if it is none."""
    while place < end:
        start = place
        key, place = _read_varint(content, place)
        kind = key & 7
        if kind == 0:
            size = _read_varint(content, place)[1] - place
        elif kind == _BYTES:
            size, place = _read_varint(content, place)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise ValueError(f"field of kind {kind}")
        if place + size > end:
            raise ValueError("a field is longer than its message")
        yield key >> 3, start, place, place + size
        place += size


def _read_varint(content: mmap.mmap, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content
