"""Weights of a graph file mapped into memory instead of copied.

An ONNX file is a protobuf message with the weights inside. onnxruntime parses and copies them all, which takes longer
than a query. A graph may also name a file, an offset and a length for a weight, and such weights are mapped. So this
gives the graph with its large weights named that way: where they are in the same file. Nothing is written to disk.

onnxruntime refuses a file to which a link leads in another folder, as in the hub's cache. So the references name the
files to which the links lead, in the folder of the graph's own.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from watersmeet.core.lazy_dataclass import dataclass

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
    """The graph of a file with references to weights, by their names in the folder of the file itself, where links end;
    None if there is nothing to change in it, or if it is not understood."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _with_references(content, path)
    except (OSError, ValueError, IndexError):  # loading the file as it is says what is wrong
        return None


def _with_references(content: mmap.mmap, path: Path) -> bytes | None:
    real, mapped = path.resolve(), 0
    links = _Links(path.parent, real.parent, {})
    model: list[bytes] = []
    for number, start, inside, end in _fields(content, 0, len(content)):
        if number != _GRAPH:
            model.append(content[start:end])
            continue
        graph: list[bytes] = []
        for field in _fields(content, inside, end):
            tensor = _reference(content, field, real.name, links) if field[0] == _INITIALIZER else None
            mapped += tensor is not None
            graph.append(content[field[1] : field[3]] if tensor is None else _message(_INITIALIZER, tensor))
        model.append(_message(_GRAPH, b"".join(graph)))
    return b"".join(model) if mapped else None


@dataclass(slots=True)
class _Links:
    """Files beside a graph that are links, by the names of what they lead to."""

    folder: Path
    real_folder: Path
    names: dict[bytes, bytes]

    def end(self, name: bytes) -> bytes:
        """The name of the file itself, if it is in the folder of the graph's own."""
        if name not in self.names:
            path = self.folder / os.fsdecode(name)
            real = path.resolve() if path.is_symlink() else path
            self.names[name] = os.fsencode(real.name) if real.parent == self.real_folder else name
        return self.names[name]


def _reference(content: mmap.mmap, field: _Field, name: str, links: _Links) -> bytes | None:
    """A tensor whose data is named by its place in the file; None for one that is small, or stays as it is."""
    _, _, inside, end = field
    parts, places = [], []
    for number, start, first, last in _fields(content, inside, end):
        if number == _EXTERNAL_DATA:
            return _without_links(content, field, links)
        if number == _RAW_DATA:
            if last - first < LEAST_BYTES:
                return None
            places.append((first, last - first))
        elif number != _DATA_LOCATION:
            parts.append(content[start:last])
    if len(places) != 1:
        return None
    ((offset, length),) = places
    for key, value in (("location", name), ("offset", str(offset)), ("length", str(length))):
        parts.append(_message(_EXTERNAL_DATA, _message(_KEY, key.encode()) + _message(_VALUE, value.encode())))
    return b"".join((*parts, _varint(_DATA_LOCATION << 3), _varint(_EXTERNAL)))


def _without_links(content: mmap.mmap, field: _Field, links: _Links) -> bytes | None:
    """A tensor in another file, named by what the link leads to; None if it is no link."""
    parts, changed = [], False
    for number, start, inside, end in _fields(content, field[2], field[3]):
        part = content[start:end]
        if number == _EXTERNAL_DATA:
            entry = {key: content[first:last] for key, _, first, last in _fields(content, inside, end)}
            name = entry.get(_VALUE, b"")
            if entry.get(_KEY) == b"location" and links.end(name) != name:
                changed = True
                part = _message(_EXTERNAL_DATA, _message(_KEY, b"location") + _message(_VALUE, links.end(name)))
        parts.append(part)
    return b"".join(parts) if changed else None


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
