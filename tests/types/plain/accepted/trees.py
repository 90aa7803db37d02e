"""Pytrees that are generic in their brands, as arguments and results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, Never, TypedDict, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, unvec, vmap

S = TypeVar("S", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


class Point(NamedTuple, Generic[S]):
    u: Vec[S]
    v: Vec[S]


@dataclass(frozen=True)
class State(Generic[S]):
    position: Vec[S]
    speed: Vec[S]


class Params(TypedDict, Generic[S]):
    w: Vec[S]
    b: Vec[S]


# --- a NamedTuple
def swap(p: Point[S]) -> Point[S]:
    return Point(p.v, p.u)


point: Point[Never] = Point(x, y)
assert_type(unvec(vmap(swap)(point).u), Tensor)


# --- a dataclass
def move(s: State[S]) -> State[S]:
    return State(s.position + s.speed, s.speed)


state: State[Never] = State(x, y)
assert_type(unvec(vmap(move)(state).position), Tensor)


# --- a TypedDict
def init(a: Vec[S]) -> Params[S]:
    return {"w": a, "b": a + 1}


assert_type(unvec(vmap(init)(x)["w"]), Tensor)


# --- a tuple
def halves(t: tuple[Vec[S], Vec[S]]) -> tuple[Vec[S], Vec[S]]:
    a, b = t
    return b, a + b


pair: tuple[Vec[Never], Vec[Never]] = (x, y)
assert_type(unvec(vmap(halves)(pair)[0]), Tensor)


# --- a dict
def by_key(d: Mapping[str, Vec[S]]) -> dict[str, Vec[S]]:
    return {"sum": d["a"] + d["b"]}


assert_type(unvec(vmap(by_key)({"a": x, "b": y})["sum"]), Tensor)
