"""vmap in vmap, of named functions."""

from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, unvec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])
X = Tensor.ones(2, 3)


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- every pair: vmap of vmap
assert_type(unvec(vmap(vmap(add, in_axes=(None, 0)), in_axes=(0, None))(x, y)), Tensor)


# --- a function over one brand calls a function mapped over another
def outer(a: Vec[S]) -> Vec[S]:
    return vmap(add, in_axes=(None, 0))(a, y)


assert_type(unvec(vmap(outer)(x)), Tensor)


# --- a vmap over a batched value
def total(r: Vec[S]) -> Vec[S]:
    return r.sum()


def rows(m: Vec[S]) -> Vec[S]:
    out = vmap(total)(m)
    assert_type(out, Vec[S])
    return out


assert_type(unvec(vmap(rows)(X.reshape(1, 2, 3))), Tensor)


# --- a recursive function
def deep(n: int, a: Vec[S]) -> Vec[S]:
    return a if n == 0 else deep(n - 1, a + 1)


assert_type(unvec(vmap(deep, in_axes=(None, 0))(3, x)), Tensor)
