"""Calls of vmap: `vmap(f)` has the type of `f`, so the result is a `Vec[Never]`, and `unvec` makes a `Tensor` of it."""

from functools import partial
from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, lift, unvec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor.ones(2, 2)


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- a named function, called at once
assert_type(unvec(vmap(double)(x)), Tensor)

# --- a function of two type variables
assert_type(unvec(vmap(add)(x, y)), Tensor)

# --- in_axes and out_axes
assert_type(unvec(vmap(add, in_axes=(0, None))(X, y)), Tensor)
assert_type(unvec(vmap(double, in_axes=1, out_axes=-1)(X)), Tensor)

# --- stored, and called more than once
stored = vmap(double)
assert_type(unvec(stored(x)), Tensor)
assert_type(unvec(stored(y)), Tensor)


# --- a decorator
@vmap
def zipped(a: Vec[S], b: Vec[S]) -> Vec[S]:
    return a * b


assert_type(unvec(zipped(x, y)), Tensor)


# --- a decorator with options
@vmap(in_axes=(0, None))
def shifted(a: Vec[S], b: Tensor) -> Vec[S]:
    return (a + b).sum()


assert_type(unvec(shifted(X, x)), Tensor)


# --- a keyword argument
def scaled(a: Vec[S], *, by: Vec[S]) -> Vec[S]:
    return a * by


assert_type(unvec(vmap(scaled)(x, by=y)), Tensor)


# --- a method
class Model:
    def __init__(self) -> None:
        self.w = Tensor([3.0, 4.0])

    def step(self, a: Vec[S]) -> Vec[S]:
        return (a * self.w).sum()


assert_type(unvec(vmap(Model().step)(X)), Tensor)

# --- functools.partial
assert_type(unvec(vmap(partial(add, x))(y)), Tensor)


# --- lift of a function of tensors, with numbers and keywords
def power(a: Tensor, n: int) -> Tensor:
    return a**n


def affine(a: Tensor, k: float = 2.0, shift: Tensor | None = None) -> Tensor:
    return a * k if shift is None else a * k + shift


def by_lift(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    by_keyword: Vec[S] = lift(power)(a, n=2)
    by_position: Vec[S] = lift(power)(a, 2)
    by_default: Vec[S] = lift(affine)(a)
    return by_keyword + by_position + by_default + lift(affine)(a, k=3.0, shift=b)


assert_type(unvec(vmap(by_lift)(x, y)), Tensor)


# --- lift of a function with options by keyword alone, and with a tuple
def reduced(a: Tensor, b: Tensor, *, n: int, axis: tuple[int, ...] = (0,)) -> Tensor:
    return (a + b).sum(axis) * n


def lifted(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return lift(reduced)(a, b, n=8, axis=(0,))


# --- a lambda that takes a tree, or gives a pair
vmap(lambda p: p["w"] + p["w"].sum())({"w": x})
halves, doubles = vmap(lambda a: (a / 2, a * 2))(x)
