"""Dataclasses with methods that are made later: in all that a program can see they are those of the library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any, ClassVar

import pytest

from watersmeet.core.lazy_dataclass import UNCOMPILED, dataclass

DECORATORS: dict[str, Callable[..., Any]] = {"library": dataclasses.dataclass, "lazy": dataclass}


def point(decorator: Callable[..., Any]) -> Any:
    class Point:
        axes: ClassVar[int] = 2
        x: int
        y: int = 0
        names: list[str] = field(default_factory=list)
        hidden: int = field(default=7, repr=False, compare=False)
        sum: int = field(init=False)
        scale: float = field(default=1.5, init=False)
        unit: str = field(default="mm", kw_only=True)
        owner: str = field(kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "sum", self.x + self.y)

    return decorator(Point)


@pytest.fixture(params=[{}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}], ids=str)
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    made = [
        point(lambda cls, decorator=decorator: decorator(**request.param)(cls)) for decorator in DECORATORS.values()
    ]
    return made[0], made[1]


CALLS: list[Callable[[Any], Any]] = [
    lambda cls: cls(1, owner="a"),
    lambda cls: cls(1, 2, ["n"], 3, owner="a", unit="cm"),
    lambda cls: cls(x=1, y=5, owner="b"),
    lambda cls: cls(owner="a"),
    lambda cls: cls(1, 2, [], 3, 4, 5, owner="a"),
    lambda cls: cls(1, 2),
    lambda cls: cls(1, owner="a", wrong=1),
    lambda cls: cls(1, owner="a").names is cls(1, owner="a").names,
    lambda cls: cls(1, owner="a") == cls(1, hidden=9, owner="a"),
    lambda cls: cls(1, owner="a") == cls(2, owner="a"),
    lambda cls: cls(1, owner="a") == 1,
    lambda cls: replace(cls(1, owner="a"), y=4),
    lambda cls: asdict(cls(1, owner="a")),
    lambda cls: [f.name for f in fields(cls)],
    lambda cls: cls.__match_args__,
    lambda cls: copy.deepcopy(cls(1, 2, ["n"], owner="a")),
    lambda cls: copy.copy(cls(1, 2, ["n"], owner="a")),
    lambda cls: hash(replace(cls(1, owner="a"), names=())),
    lambda cls: setattr(cls(1, owner="a"), "x", 3),
    lambda cls: delattr(cls(1, owner="a"), "x"),
    lambda cls: cls.__slots__,
]


@pytest.mark.parametrize("call", CALLS)
def test_it_does_what_the_librarys_does(both: tuple[Any, Any], call: Callable[[Any], Any]) -> None:
    def outcome(cls: Any) -> object:
        try:
            return repr(call(cls))
        except (TypeError, AttributeError) as error:
            return type(error), str(error)

    library, lazy = both
    expected = outcome(library)
    assert [outcome(lazy) for _ in range(UNCOMPILED + 2)] == [expected] * (UNCOMPILED + 2)  # compiled in the end


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    next: Word | None = None

    def __hash__(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Longer(Word):
    length: int = 0


def test_what_a_class_writes_itself_stays() -> None:
    assert hash(Word("a")) == 1
    assert hash(Longer("a")) == hash(("a", None, 0))


@pytest.mark.parametrize("made", DECORATORS.values(), ids=DECORATORS)
def test_a_class_with_an_equality_of_its_own_has_a_hash_of_its_fields(made: Callable[..., Any]) -> None:
    class Folded:
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Folded) and self.text.lower() == other.text.lower()

    Folded.__annotations__ = {"text": str}
    cls = made(frozen=True)(Folded)
    assert hash(cls("a")) == hash(("a",))


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("above", DECORATORS.values(), ids=DECORATORS)
@pytest.mark.parametrize("made", DECORATORS.values(), ids=DECORATORS)
def test_a_class_inherits_from_frozen_ones_as_in_the_library(
    made: Callable[..., Any], above: Callable[..., Any], frozen: bool, below: bool
) -> None:
    base = above(frozen=frozen)(type("Base", (), {"__annotations__": {"x": int}}))
    derived = type("Derived", (base,), {"__annotations__": {"y": int}})
    if frozen is not below:
        with pytest.raises(TypeError, match="frozen"):
            made(frozen=below)(derived)
        return
    cls = made(frozen=below)(derived)
    for one in [cls(1, 2) for _ in range(UNCOMPILED + 2)]:
        assert (one.x, one.y) == (1, 2)
        for change in (lambda one: setattr(one, "x", 3), lambda one: delattr(one, "y")):
            if frozen:
                with pytest.raises(FrozenInstanceError):
                    change(one)
            else:
                change(one)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_field_may_have_any_name(frozen: bool) -> None:
    names = ("_missing", "_set", "_0", "_1", "cls", "args", "self")
    fields: Any = [("first", list, field(default_factory=list)), *((name, Any, field(default=1)) for name in names)]
    library = dataclasses.make_dataclass("Any", fields, frozen=frozen)
    lazy = dataclass(frozen=frozen)(
        type("Any", (), {"__annotations__": {name: kind for name, kind, _ in fields}, **{n: f for n, _, f in fields}})
    )
    for _ in range(UNCOMPILED + 2):
        for given in ({}, {"_missing": 5}, {"_0": 3, "_set": 4}, dict.fromkeys(names, 2)):
            assert asdict(lazy(**given)) == asdict(library(**given))
        assert asdict(replace(lazy(), _missing=7)) == asdict(replace(library(), _missing=7))


def test_a_class_of_another_with_all_its_fields() -> None:
    made = Longer("a", Word("b"), 3)
    assert (made.text, made.next, made.length) == ("a", Word("b"), 3)
    assert repr(made) == "Longer(text='a', next=Word(text='b', next=None), length=3)"
    assert made != Word("a", Word("b"))
    with pytest.raises(FrozenInstanceError):
        made.text = "c"  # type: ignore[misc]


def test_pickled() -> None:
    assert pickle.loads(pickle.dumps(Longer("a", Word("b"), 3))) == Longer("a", Word("b"), 3)  # noqa: S301 - our own


def test_first_instances_in_many_threads() -> None:
    made: list[Any] = []

    def make(cls: Any) -> None:
        made.append(cls(1, 2, owner="a"))

    for _ in range(50):
        cls = point(dataclass(frozen=True))
        threads = [threading.Thread(target=make, args=[cls]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [one.sum for one in made] == [3] * 200


def test_an_initialiser_is_compiled_for_classes_with_several_instances() -> None:
    cls = point(dataclass)
    before = cls.__init__
    for _ in range(UNCOMPILED):
        assert cls(1, owner="a").sum == 1
        assert cls.__init__ is before
    assert cls(1, owner="a").sum == 1
    assert cls.__init__ is not before


def test_no_class_that_a_search_loads_is_compiled_at_its_import() -> None:
    """`watersmeet.face.cli.search` brings all of a search but models, signals and stages."""
    program = (
        "import dataclasses\n"
        "def refuse(*_, **__): raise SystemExit('compiled at import')\n"
        "dataclasses._create_fn = refuse\n"
        "if hasattr(dataclasses, '_FuncBuilder'): dataclasses._FuncBuilder.add_fn = refuse\n"
        "import watersmeet.face.cli.search, watersmeet.engine.engine, watersmeet.store.local.index\n"
        "import watersmeet.embed.onnx, watersmeet.embed.static, watersmeet.signal.dense, watersmeet.signal.lexical\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
