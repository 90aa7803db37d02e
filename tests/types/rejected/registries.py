"""Mistakes with functions that have no name where they are called."""

from collections.abc import Callable
from enum import Enum
from typing import NotRequired, Protocol, TypedDict

from tinygrad import Tensor

from branded import jit, tree, vmap

x = Tensor([1.0, 2.0])
OPS: dict[str, Callable[[Tensor], Tensor]] = {"sin": lambda a: a.sin(), "unit": lambda a: a / 2}


# --- a read in an entry of a registry
READERS: dict[str, Callable[[Tensor], Tensor]] = {
    "unit": lambda a: a / a.item(),  # E: item: a value that varies over "a" has no single value to read
}
vmap(lambda a: READERS["unit"](a))(x)


# --- an entry of a registry with a read, a condition or a wrong number of arguments
vmap(lambda a: a if OPS["sin"](a) > 0 else -a)(x)  # E: bool: a value that varies over "a" has no single truth value
vmap(lambda a: OPS["sin"](a, a))(x)  # E: No overload variant matches argument types "Vec[a, Tensor]", "Vec[a, Tensor]"

# --- a lambda that jit compiles
shrunk = jit(lambda a: a.shrinks(2))  # E: "Tensor" has no attribute "shrinks"
shrunk(x)
summed = jit(lambda d: d["a"] + d["b"])
summed({"a": x, "b": x}).shrinks(2)  # E: "Tensor" has no attribute "shrinks"
summed()  # E: Too few arguments

# --- a stored lambda of trees
halved = vmap(lambda p, r: tree.map(lambda leaf: leaf * r, p))
halved({"a": x}, x)["b"].shrinks(2)  # E: "Tensor" has no attribute "shrinks"
halved({"a": x})  # E: Too few arguments


# --- a function in a registry that a key selects, in a variable and in a nested function
def to_unit(a: Tensor) -> Tensor:
    return a / a.max().item()  # E: item: a value that varies over "a" has no single value to read


def plain(a: Tensor) -> Tensor:
    return a


NORMS = {"unit": to_unit, "plain": plain}


def normed(key: str, a: Tensor) -> Tensor:
    norm = NORMS[key]

    def half(a: Tensor) -> Tensor:
        halved = norm(a)
        return halved / 2

    return vmap(half)(a)


# --- the same of a Protocol, with an enum as the key
class Distance(Protocol):
    def __call__(self, a: Tensor, b: Tensor, /) -> Tensor: ...


class Kind(Enum):
    L1 = 1
    L2 = 2


def l1(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).abs()


def l2(a: Tensor, b: Tensor) -> Tensor:
    return (a - b) if (a - b) > 0 else b - a  # E: bool: a value that varies over "a" has no single truth value


DISTANCES: dict[Kind, Distance] = {Kind.L1: l1, Kind.L2: l2}


def distances(kind: Kind, a: Tensor) -> Tensor:
    return vmap(lambda a: DISTANCES[kind](a, a))(a)


# --- an axis that fits no entry of a registry, whose key is unknown
def difference(a: Tensor, b: Tensor) -> Tensor:
    return a - b  # E: -: `4` differs from `2` at axis -1


def product(a: Tensor, b: Tensor) -> Tensor:
    return a * b


PAIRS = {"difference": difference, "product": product}


def scored(key: str, table: Tensor, query: Tensor) -> Tensor:
    return vmap(lambda row: PAIRS[key](row, query), in_axes=1)(table)


def main(key: str) -> None:
    scored(key, Tensor.ones(4, 2), Tensor.ones(2))


# --- a key that a dict does not have, in a function that mypy checks after the statements of the file
class Layer(TypedDict):
    w: Tensor
    b: NotRequired[Tensor]


def layers(layer: Layer) -> None:
    vmap(lambda p: p["weight"])({"w": x})  # E: dict: there is no key 'weight'
    vmap(lambda p, b: p["weight"] + b, in_axes=({"w": 0}, None))({"w": x}, x)  # E: dict: there is no key 'weight'
    vmap(lambda p: p["weight"])(layer)  # E: TypedDict "Layer" has no key "weight"
    one: Layer = {"w": x}
    for each in [one]:
        each["weight"]  # E: TypedDict "Layer" has no key "weight"


layers({"w": x})
