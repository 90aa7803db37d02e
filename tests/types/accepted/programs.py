"""jit keeps the type of a function; make_expr gives an Expr."""

from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, grad, jit, make_expr, vmap
from branded.ir import Expr

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


@jit
def scaled(v: Vec[S, Tensor], by: float) -> Vec[S, Tensor]:
    return v * by


@jit
def both(v: Vec[S, Tensor], w: Vec[S1, Tensor]) -> Vec[S | S1, Tensor]:
    return v + w


@jit(static_argnums=1, tune="fast")
def times(v: Vec[S, Tensor], by: int) -> Vec[S, Tensor]:
    return v * by


@jit(static_argnames=("by",), donate_argnames="v")
def powers(v: Vec[S, Tensor], by: int) -> Vec[S, Tensor]:
    return v**by


# --- a function that is jitted keeps its type
assert_type(scaled(x, 2.0), Tensor)
assert_type(powers(x + 0, by=2), Tensor)

# --- also with options, as a decorator and as a call
assert_type(times(x, 2), Tensor)
assert_type(vmap(times, in_axes=(0, None))(x, 2), Tensor)
assert_type(jit(vmap(scaled, in_axes=(0, None)), tune="best")(x, 2.0), Tensor)

# --- and is mapped as it was
assert_type(vmap(scaled, in_axes=(0, None))(x, 2.0), Tensor)

# --- at any depth
assert_type(vmap(lambda a: vmap(lambda b: both(a, b))(y))(x), Tensor)

# --- a mapped function is jitted
assert_type(jit(vmap(both))(x, y), Tensor)

# --- the derivative of a jitted function
assert_type(vmap(grad(lambda v: scaled(v, 2.0)))(x), Tensor)

# --- a typed program
expr = make_expr(vmap(both))(x, y)
assert_type(expr, Expr)
assert_type(expr.at("batched"), Expr)
