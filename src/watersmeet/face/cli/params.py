"""Command-line flags generated from a dataclass of parameters, and the dataclass from parsed flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import click

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def flags(cls: type[Any], *, without: tuple[str, ...] = ()) -> Callable[[F], F]:
    """A decorator that adds a flag for each parameter, except those in `without`, such as the command's argument."""
    hints = get_type_hints(cls)
    parameters = [one for one in fields(cls) if "meaning" in one.metadata and one.name not in without]

    def add(function: F) -> F:
        for one in reversed(parameters):
            function = _flag(one, hints[one.name])(function)
        return function

    return add


def from_flags(cls: type[T], values: Mapping[str, Any], **more: Any) -> T:
    """The dataclass filled from parsed flags."""
    names = {one.name for one in fields(cls) if "meaning" in one.metadata}  # type: ignore[arg-type]
    return cls(**{name: value for name, value in values.items() if name in names}, **more)


def _flag(one: Field[Any], hint: Any) -> Callable[[F], F]:
    about = one.metadata
    names = _names(one)
    kind = _inner(hint)
    default = one.default_factory() if one.default_factory is not MISSING else one.default
    meaning = _sentence(about["meaning"])
    if kind is bool:
        return click.option(*names, one.name, is_flag=True, help=meaning)
    if kind in (int, float):
        limits = click.IntRange if kind is int else click.FloatRange
        return click.option(
            *names,
            one.name,
            type=limits(about["least"], about["most"]),
            default=default,
            show_default=bool(default),
            metavar=about["metavar"] or None,
            help=meaning,
        )
    if kind is str:
        choices = tuple(about["choices"]()) if about["choices"] else ()
        text = f"{meaning} One of: {', '.join(choices)}." if choices else meaning
        return click.option(
            *names, one.name, default=default, metavar=about["metavar"], shell_complete=_starting(choices), help=text
        )
    several = tuple(about["choices"]()) if about["choices"] else ()
    return click.option(
        *names,
        one.name,
        multiple=True,
        type=click.Choice(several) if several else None,
        metavar=None if several else about["metavar"],
        help=f"{meaning[:-1]}; may be repeated.",
    )


def _names(one: Field[Any]) -> list[str]:
    """The names of a flag: long, short, and those that other programs use."""
    declared = one.metadata["flags"]
    long = [flag for flag in declared if flag.startswith("--")] or [f"--{one.name.replace('_', '-')}"]
    others = [f"--{name.replace('_', '-')}" for name in one.metadata["aliases"] if name != one.name]
    return [*long, *(flag for flag in declared if not flag.startswith("--")), *others]


def _inner(hint: Any) -> Any:
    """The type without `None`; for a tuple or a mapping the flag is repeated."""
    if get_origin(hint) is UnionType:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    return hint if hint in (bool, int, float, str) else tuple


def _sentence(meaning: str) -> str:
    return f"{meaning[0].upper()}{meaning[1:]}."


def _starting(choices: tuple[str, ...]) -> Callable[..., list[str]]:
    return lambda ctx, param, start: [one for one in choices if one.startswith(start)]
