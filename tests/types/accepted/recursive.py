"""Classes that contain themselves, with brands."""

from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Never, TypedDict, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
X = Tensor.ones(3, 4)


# --- dataclasses
@dataclass
class Tree(Generic[S]):
    x: Vec[S]
    children: list["Tree[S]"] = field(default_factory=list)


def total(t: Tree[S]) -> Vec[S]:
    return t.x * 2


assert_type(vmap(total)(Tree(X, [Tree(X)])), Tensor)
assert_type(vmap(lambda x: Tree(x, [Tree(x)]))(X).children[0].x, Tensor)


# --- NamedTuples and TypedDicts
class Pair(NamedTuple, Generic[S]):
    x: Vec[S]
    more: tuple["Pair[S]", ...] = ()


class Keyed(TypedDict, Generic[S]):
    x: Vec[S]
    parts: list["Keyed[S]"]


def first(p: Pair[S], k: Keyed[S]) -> Vec[S]:
    return p.x + k["x"]


keyed: Keyed[Never] = {"x": X, "parts": [{"x": X, "parts": []}]}
assert_type(vmap(first)(Pair(X, (Pair(X),)), keyed), Tensor)
