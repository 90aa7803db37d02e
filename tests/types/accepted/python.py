"""Batched values together with Python values: numbers, objects of type Any, isinstance."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S_co = TypeVar("S_co", bound=Brand, covariant=True)
x = Tensor([[1.0, 2.0], [3.0, 4.0]])
settings: dict[str, Any] = {"scale": 2.0}


# --- a number to a power is a number
def scaled(a: Vec[S], n: int) -> Vec[S]:
    assert_type(n**-0.5, float)
    assert_type(2.0**n, float)
    return a * n**-0.5


out: Tensor = vmap(lambda a: scaled(a, 4))(x)
assert out.tolist() == [[0.5, 1.0], [1.5, 2.0]]


# --- an operand of type Any is taken for a number by methods
def clipped(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    assert_type(a.clip(0, settings["scale"]), Vec[S, Tensor])
    assert_type(a.maximum(settings["scale"]), Vec[S, Tensor])
    assert_type((a > 1).where(b, settings["scale"]), Vec[S | S1, Tensor])
    return a.minimum(settings["scale"]) + b


assert vmap(clipped, in_axes=(0, None))(x, Tensor([0.0, 0.0])).tolist() == [[1.0, 2.0], [2.0, 2.0]]


# --- isinstance keeps the row
def as_tensor(a: Vec[S] | float) -> Vec[S]:
    b = a if isinstance(a, Tensor) else Tensor(a)
    assert_type(b, Vec[S, Tensor])
    return b


def doubled(a: Vec[S] | list[float]) -> Vec[S]:
    if isinstance(a, (list, tuple)):
        return Tensor(a)
    assert_type(a, Vec[S, Tensor])
    return a * 2


def number(a: Vec[S] | float | int) -> Vec[S] | float:
    if isinstance(a, Tensor | int):
        return a * 2
    assert_type(a, float)
    return a


assert vmap(lambda a: as_tensor(a) + doubled(a) + number(a))(x).tolist() == [[5.0, 10.0], [15.0, 20.0]]


# --- isinstance of unbatched values is unchanged
def plain(a: Any, b: object, c: Tensor | float) -> None:
    assert isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(c, Tensor)
    assert_type(a, Tensor)
    assert_type(b, Tensor)
    assert_type(c, Tensor)


plain(x, x, x)


# --- a pattern keeps the row
def matched(a: Vec[S] | float) -> Vec[S]:
    match a:
        case Tensor():
            assert_type(a, Vec[S, Tensor])
            return a
        case _:
            assert_type(a, float)
            return Tensor(a)


def in_patterns(a: tuple[Vec[S], Vec[S1]] | dict[str, Vec[S]] | Vec[S]) -> Vec[S | S1]:
    match a:
        case (Tensor() as b, c):
            assert_type(b, Vec[S, Tensor])
            assert_type(c, Vec[S1, Tensor])
            return b + c
        case {"w": w}:
            return w
        case Tensor() as d:
            assert_type(d, Vec[S, Tensor])
            return d
    return Tensor(0.0)


def entry(a: dict[str, Vec[S]]) -> Vec[S]:
    match a:
        case {"w": Tensor(shape=(_,)) as w}:
            assert_type(w, Vec[S, Tensor])
            return w
    return Tensor(0.0)


class Scaled:
    def __init__(self, scale: Tensor | float) -> None:
        self.scale = scale

    def __call__(self, a: Vec[S] | float) -> Vec[S]:
        match a, self.scale:
            case Tensor() as b, Tensor() as s:
                return b * s
            case Tensor() as b, float() as t:
                return b * t
        return Tensor(0.0)


assert vmap(matched)(x).tolist() == x.tolist()
assert vmap(lambda a, b: in_patterns((a, b)) + entry({"w": a}) + in_patterns(b))(x, x)[0].tolist() == [4.0, 8.0]
assert vmap(Scaled(2.0))(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]


# --- patterns of unbatched values are unchanged
def plain_patterns(a: Any, b: object, c: Tensor | float) -> Tensor:
    match a:
        case Tensor():
            assert_type(a, Tensor)
    match b:
        case Tensor() as t:
            assert_type(t, Tensor)
    match c:
        case Tensor():
            assert_type(c, Tensor)
            return c
        case float():
            return Tensor(c)


plain_patterns(x, x, x)


# --- slices with bounds that all examples share
def sliced(a: Vec[S], n: int) -> Vec[S]:
    return a[:n].cat(a[n:], a[::-1], a[-n:n:1])


assert vmap(lambda a: sliced(a, 1))(x).shape == (2, 4)


# --- a value is kept in a container of the call itself
def kept(a: Vec[S]) -> Vec[S]:
    here: list[Any] = []
    here.append(a)
    own = {"a": a}
    own["b"] = a * 2
    return own["b"]


assert vmap(kept)(x).shape == (2, 2)


# --- functions of Python and math on numbers, in a mapped function
def of_numbers(a: Vec[S]) -> Vec[S]:
    assert_type(max(1, 2), int)
    assert_type(math.sqrt(2.0), float)
    assert_type(abs(-3) + round(2.5) + int("1"), int)
    return a * max(1, 2) * math.sqrt(4.0)


assert vmap(of_numbers)(x).tolist() == [[4.0, 8.0], [12.0, 16.0]]


# --- a value is stored in the result of a call
def fresh() -> list[Any]:
    return []


def kept_there(a: Vec[S]) -> Vec[S]:
    fresh().append(a)
    return a


assert vmap(kept_there)(x).shape == (2, 2)


# --- truth values of unbatched values next to batched ones
def optional(a: Vec[S], b: Vec[S] | None = None, n: int | None = None, name: str = "") -> Vec[S]:
    if n or name:
        return a
    if b is not None and b.ndim and not name:
        return a + b
    if b is None or n:
        return a
    return a if a.ndim and name else a * (n or 1)


def number_or_vec(a: Vec[S], k: Vec[S] | float) -> Vec[S]:
    if isinstance(k, float) and k:
        return a * k
    match k:
        case Tensor():
            return a * k
        case 0.0:
            return a
    return a


optional_out: Tensor = vmap(lambda a: optional(number_or_vec(a, 2.0), a))(x)


# --- texts of batched values without numbers
def text(a: Vec[S]) -> str:
    return f"{a} {a!r:>10} {a.shape} {a.ndim:3d} {format(a)} {f'{a}'}"


vmap(lambda a: a * len(text(a)))(x)


# --- comparisons of objects by a method of their own
@dataclass(frozen=True)
class Named(Generic[S_co]):
    v: Vec[S_co]
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name


vmap(lambda a: a if Named(a, "a") == Named(a, "b") else -a)(x)


# --- truth values that are the same for all examples
def chosen(a: Vec[S], b: Vec[S] | None, bs: list[Vec[S] | None], n: int) -> Vec[S]:
    if b is not None and b.ndim == n and len(bs):
        return a + b
    kept = [c for c in bs if c is not None and c.ndim]
    names = {i: c is None or bool(c.shape) for i, c in enumerate(bs)}
    match n, a:
        case 0, _:
            return a
        case 1, Tensor():
            return a * len(names)
    match b:
        case None:
            return a
    ordered = sorted(kept, key=lambda c: c.ndim)
    ordered.sort(key=id)
    seen = {a: 1}
    return max([a, *ordered], key=lambda c: len(c.shape)) * (a in seen) * (n in [1, 2]) * [1, 2].count(n)


vmap(lambda a: chosen(a, a, [a, None], 1))(x)
vmap(lambda a: chosen(a, None, [], 0) if True else chosen(a, None, [a], 1))(x)


# --- searches that find the same object compare no values
def searched(a: Vec[S], b: Vec[S]) -> Vec[S]:
    pair, ones = [a, b], [a, a]
    empty: list[Vec[S]] = []
    ones.append(b)
    alias = a
    found = (a in pair) + (alias in pair) + (pair[0] in pair) + pair.index(a) + (a not in pair) + (a in ones)
    return a * found * (a in empty) * (empty == []) + a * [a, a].count(a) * (pair == [a, b]) * (pair != [a])


def removed(a: Vec[S], b: Vec[S]) -> Vec[S]:
    pair = [a, b]
    pair.remove(a)
    keys, values = {a: 1, b: 2}, {a, b}
    return pair[0] * keys[a] * (b in keys) * (b in values)


vmap(searched)(x, x)
vmap(removed)(x, x)
vmap(lambda a, b: a if a in (a, b) else b)(x, x)


# --- fields that are replaced, with the brands of the new values
@dataclass
class Point(Generic[S]):
    x: Vec[S]
    y: Vec[S]


def moved(p: Point[S]) -> Point[S]:
    return dataclasses.replace(p, x=p.y * 2)


vmap(moved)(Point(x, x))
vmap(lambda p: dataclasses.replace(p, x=p.x + 1))(Point(x, x))
vmap(lambda a: dataclasses.replace(Point(x, x), y=a))(x)
