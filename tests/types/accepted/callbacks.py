"""Callbacks: results vary over the brands of all arguments."""

from typing import TypeVar, assert_type

import numpy as np
from tinygrad import Tensor

from branded import Brand, ShapeDtypeStruct, Vec, debug, io_callback, jit, pure_callback, scan, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])
one = ShapeDtypeStruct((), "float32")


# --- the result of two arguments varies over the brands of both
def added(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return assert_type(pure_callback(np.add, one, a, b, vmap_method="expand_dims"), Vec[S | S1, Tensor])


# --- under two vmaps it is a tensor again
assert_type(vmap(lambda a: vmap(lambda b: added(a, b))(y))(x), Tensor)


# --- a number next to a tensor
def scaled(a: Vec[S]) -> Vec[S]:
    return pure_callback(np.multiply, a, a, 2.0, vmap_method="sequential")


# --- two results
def both(a: Vec[S], b: Vec[S1]) -> tuple[Vec[S | S1], Vec[S | S1]]:
    return pure_callback(np.divmod, (one, one), a, b, vmap_method="expand_dims")


# --- in a compiled function, and with a result that is a tensor by example
assert_type(jit(vmap(lambda a: pure_callback(np.sin, a, a, vmap_method="expand_dims")))(x), Tensor)


# --- callbacks with effects
def numbered(a: Vec[S]) -> Vec[S]:
    return io_callback(float, one, a)


assert_type(vmap(numbered)(x), Tensor)


# --- printing in the body of a loop
def total(xs: Vec[S]) -> Vec[S]:
    def step(c: Vec[S], a: Vec[S]) -> tuple[Vec[S], None]:
        debug.print("{} {a}", c, a=a)
        debug.callback(print, c)
        return c + a, None

    return scan(step, xs[0], xs)[0]
