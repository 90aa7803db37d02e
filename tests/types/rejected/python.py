"""Batched values passed to functions of Python, math and numpy."""

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Generic, NamedTuple, Never, TypedDict, TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, psum, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]])


# --- isinstance does not take the row away
def escapes(a: Vec[S]) -> Tensor:
    assert isinstance(a, Tensor)
    return a  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")


# --- a pattern does not take the row away
def matched(a: Vec[S] | float) -> Tensor:
    match a:
        case Tensor():
            return a  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")
        case _:
            return Tensor(a)


# --- a pattern in a pattern does not take the row away
def in_pattern(p: dict[str, Vec[S]]) -> Tensor:
    match p:
        case {"w": Tensor() as w}:
            return w  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")
    return x


# --- a slice with a bound that varies
def first(a: Vec[S], n: Vec[S1]) -> Vec[S]:
    return a[:n]  # E: slice: a bound that varies over "S1" would give each example another size


# --- a slice with a bound that varies, of a plain tensor
vmap(lambda n: x[0, n : n + 1])(Tensor([0, 1]))  # E: slice: a bound that varies over "n"

# --- max() of Python
vmap(lambda a: max(a, y))(x)  # E: max: a value that varies over "a" has no single truth value

# --- round() of Python; abs() is a method
vmap(lambda a: round(a))(x)  # E: round: a value that varies over "a" is not a scalar
vmap(lambda a: abs(a))(x)

# --- a function of math
vmap(lambda a: a * math.sqrt(a.sum()))(x)  # E: math.sqrt: a value that varies over "a" is not a scalar

# --- functions of numpy
vmap(lambda a: np.sqrt(a))(x)  # E: numpy.sqrt: a value that varies over "a" cannot be read by numpy
vmap(lambda a: float(np.linalg.norm(a)))(x)  # E: numpy.linalg.norm: a value
vmap(lambda a: a + np.asarray(a)[0])(x)  # E: numpy.asarray: a value  N: vmap: the brands are lost here, because `np.asa


# --- tuples that are compared
def same(a: Vec[S], b: Vec[S]) -> bool:
    return (a, 1) == (b, 1)  # E: bool: a value that varies over "S" has no single truth value


# --- a batched value is added to an unbatched tensor in place
def total(a: Vec[S]) -> Vec[S]:
    sums = Tensor.zeros(2)
    sums += a  # E: +=: a value that varies over "S" cannot be written into `sums`, which varies over less
    return sums + a


# --- the arguments in the place of the options
vmap(lambda a: a * 2, x).tolist()  # E: vmap: vmap(f, x) is a function, which has no attribute "tolist"

# --- a name that is not open
vmap(lambda a: psum(a, "nosuch"))(x)  # E: psum: no brand 'nosuch' is open here
vmap(lambda a: psum(a, "b"), axis_name="batch")(x)  # E: psum: no brand 'b' is open here

# --- a value that is kept in a global variable
last: Any = None


def remembers(a: Vec[S]) -> Vec[S]:
    global last
    last = a  # E: escape: a value that varies is kept in `last`, which outlives vmap
    return a


vmap(remembers)(x)

# --- a value that is kept in a list
seen: list[Any] = []


def collects(a: Vec[S]) -> Vec[S]:
    seen.append(a)  # E: escape: a value that varies is kept in `seen`, which outlives vmap
    return a


vmap(collects)(x)
vmap(lambda a: seen.append(a))(x)  # E: escape: a value that varies is kept in `seen`


# --- a value that is kept in an argument
class Log:
    last: Any


def logs(a: Vec[S], log: Log) -> Vec[S]:
    log.last = a  # E: escape: a value that varies is kept in `log.last`, which outlives vmap
    return a


vmap(logs, in_axes=(0, None))(x, Log())


# --- a value that is kept in a list that a function around it has, or is given
def outer() -> None:
    log: list[Any] = []

    def inner(a: Vec[S]) -> Vec[S]:
        mine: list[Any] = []
        mine.append(a)
        log.extend([a, x])  # E: escape: a value that varies is kept in `log`, which outlives vmap
        return a

    vmap(inner)(x)
    vmap(lambda a: log.append(a))(x)  # E: escape: a value that varies is kept in `log`


def puts(a: Vec[S], log: list[Any]) -> Vec[S]:
    log.append(a)  # E: escape: a value that varies is kept in `log`, which outlives vmap
    return a


vmap(lambda a: puts(a, seen))(x)


# --- a value stored by the object whose method is mapped
class Layer:
    def __init__(self) -> None:
        self.seen: Any = None

    def forward(self, a: Vec[S]) -> Vec[S]:
        self.seen = a  # E: escape: a value that varies is kept in `self.seen`, which outlives vmap
        return a


layer = Layer()
vmap(layer.forward)(x)


# --- an entry of a dict or a list that varies
vmap(lambda a: x * {0: 1.0}[a])(Tensor([0]))  # E: Invalid index type "Vec[a, Tensor]" for "dict[int, float]"
vmap(lambda a: x * [1.0, 2.0][a])(Tensor([0]))  # E: "__getitem__" of "list" matches argument type "Vec[a, Tensor]"


# --- a tuple with an invariant type variable
class Pair(NamedTuple, Generic[S]):
    a: Vec[S]
    b: Vec[S]


shared: Pair[Never] = Pair(x, y)


def of_all(a: Vec[S]) -> Pair[S]:
    return shared  # E: Incompatible return value type (got "Pair[Never]", expected "Pair[S]")


# --- a list of batched values where a list of tensors is expected
def plain_total(values: list[Tensor]) -> Tensor:
    return values[0]


vmap(lambda a: plain_total([a, a]))(x)  # E: List item 0 has incompatible type


# --- mypy's own checks of dataclasses.replace, TypedDict and singledispatch
@dataclass(frozen=True)
class Sized:
    value: Tensor
    size: int


class Options(TypedDict, total=False):
    size: int


@singledispatch
def size_of(x: object) -> int:
    return 1


def resized(s: Sized, options: Options) -> Sized:
    replace(s, sise=2)  # E: Unexpected keyword argument "sise" for "replace" of "Sized"
    options.setdefault("size", "2")  # E: Argument 2 to "setdefault" of "TypedDict"
    size_of()  # E: Missing positional argument "x" in call to "size_of"
    return replace(s, size="2")  # E: Argument "size" to "replace" of "Sized" has incompatible type
