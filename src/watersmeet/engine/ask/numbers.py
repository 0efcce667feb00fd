"""Numbers and units of a text in one form each: 1,000 and 1000 are the same, three and 3, daily and day."""

from __future__ import annotations

import re
from collections import Counter

_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
    if word != "one"  # which is rarely a number
} | {
    word: str(value)
    for value, word in zip(
        (30, 40, 50, 60, 70, 80, 90, 100, 1000, 2, 1, 2, 3),
        "thirty forty fifty sixty seventy eighty ninety hundred thousand twice once double triple".split(),
        strict=True,
    )
    if word != "once"  # which is rarely a number
}
_UNITS = {
    form: unit
    for unit, forms in {
        "second": "second seconds secondly",
        "minute": "minute minutes",
        "hour": "hour hours hourly",
        "day": "day days daily nightly night nights",
        "week": "week weeks weekly",
        "month": "month months monthly",
        "quarter": "quarter quarters quarterly",
        "year": "year years yearly annual annually",
        "millisecond": "millisecond milliseconds ms",
        "kilobyte": "kilobyte kilobytes kb kib",
        "megabyte": "megabyte megabytes mb mib",
        "gigabyte": "gigabyte gigabytes gb gib",
        "percent": "percent percentage",
    }.items()
    for form in forms.split()
}
_NUMBER = re.compile(r"(?<![\w.,/-])[-+]?(\d+(?:[.,]\d+)*)(?=$|[^\w]|[a-zA-Z%])(?!\.\d)")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_LETTERS = re.compile(r"[a-z]+")


def numbers(text: str) -> Counter[str]:
    """Numbers of a text, written as digits or as words; those inside of identifiers are left out."""
    found = Counter(_digits(match[1]) for match in _NUMBER.finditer(text))
    found.update(_WORDS[word] for word in _LETTERS.findall(text.lower()) if word in _WORDS)
    return found


def _digits(written: str) -> str:
    """`1,000` as 1000, `007` as 7, `2.50` as 2.5."""
    if _THOUSANDS.fullmatch(written):
        written = written.replace(",", "")
    whole, dot, rest = written.partition(".")
    if not rest.isdigit():
        return (whole.lstrip("0") or "0") + dot + rest
    fraction = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def units(text: str) -> frozenset[str]:
    """Units of time and size that a text names."""
    return frozenset(_UNITS[word] for word in _LETTERS.findall(text.lower()) if word in _UNITS)
