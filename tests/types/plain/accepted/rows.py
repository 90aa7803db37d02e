"""Subtyping is broadcasting: a value is accepted where more brands are expected."""

from collections.abc import Callable, Sequence
from typing import Generic, Never, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, unvec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


# --- a Vec where more brands are expected
def wider(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a if b.ndim else b


# --- the order of brands does not matter
def commutes(a: Vec[S1 | S2]) -> Vec[S2 | S1]:
    return a


# --- a Tensor where a Vec is wanted
def constant(a: Vec[S]) -> Vec[S]:
    return y


assert_type(unvec(vmap(constant)(x)), Tensor)

# --- a Tensor is a Vec without brands
empty: Vec[Never] = x
again: Tensor = unvec(empty)

# --- tensors in a list and in a dict of Vec[Never]
values: list[Vec[Never]] = [x, y]
table: dict[str, Vec[Never]] = {"x": x, "y": y}


# --- a list of values of one brand
def mean(values: Sequence[Vec[S]]) -> Vec[S]:
    out = values[0]
    for v in values[1:]:
        out = out + v
    return out / len(values)


# --- a function of functions
def twice(f: Callable[[Vec[S]], Vec[S]], a: Vec[S]) -> Vec[S]:
    return f(f(a))


# --- a class that is generic in its brands
class Layer(Generic[S1]):
    def __init__(self, w: Vec[S1]) -> None:
        self.w = w

    def __call__(self, a: Vec[S2]) -> Vec[S1 | S2]:
        return a * self.w


def ensemble(w: Vec[S1], a: Vec[S2]) -> Vec[S1 | S2]:
    return Layer(w)(a)


assert_type(unvec(vmap(vmap(ensemble, in_axes=(None, 0)), in_axes=(0, None))(x, y)), Tensor)


# --- unvec of a Vec without brands
def shared(w: Vec[Never]) -> Tensor:
    return unvec(w * 2).realize()


assert_type(shared(x), Tensor)
