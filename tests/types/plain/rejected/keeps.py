"""A `Vec` stored where a `Tensor` is declared, and writes."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


# --- a variable of Tensor
def variable(a: Vec[S]) -> Vec[S]:
    out: Tensor = a + 1  # E
    return out


# --- a typed list outside
kept: list[Tensor] = []


def keep(a: Vec[S]) -> Vec[S]:
    kept.append(a)  # E
    return a


# --- a typed dict outside
table: dict[str, Tensor] = {}


def keep_by_key(a: Vec[S]) -> Vec[S]:
    table["a"] = a  # E
    return a


# --- nonlocal
def outside() -> Tensor:
    last: Tensor = x

    def body(a: Vec[S]) -> Vec[S]:
        nonlocal last
        last = a  # E
        return a

    body(x)
    return last  # E


# --- an attribute
class Store:
    def __init__(self) -> None:
        self.value: Tensor = x

    def body(self, a: Vec[S]) -> Vec[S]:
        self.value = a  # E
        return a


# --- Tensor.assign
def assign(a: Vec[S]) -> Vec[S]:
    y.assign(a)  # E
    return a


# --- a write by index
def write(a: Vec[S]) -> Vec[S]:
    y[0] = a  # E
    return a


# --- an in-place operator that adds a brand
def in_place(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    out: Vec[S1] = a * 2
    out += b  # E
    return out
