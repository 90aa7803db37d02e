"""Derivatives: the tree of the argument, and the rows of all that the result depends on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, Never, TypedDict, TypeVar, assert_type, reveal_type

import numpy as np
from tinygrad import Tensor

import branded as br
from branded import (
    Brand,
    Vec,
    brand,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    psum,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
w, x = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor([[1.0, 0.0], [0.0, 1.0]])


class Users(Brand): ...


class Params(TypedDict):
    w: Tensor
    b: Tensor


class Point(NamedTuple, Generic[S]):
    u: Vec[S]
    v: Vec[S]


@dataclass
class State(Generic[S]):
    position: Vec[S]
    speed: Vec[S]


def loss(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    return (w * x).sum().square()


def norm(a: Vec[S]) -> Vec[S]:
    return a.square().sum()


params: Params = {"w": w, "b": Tensor(1.0)}

# --- grad of plain tensors is plain
assert_type(grad(loss)(w, x), Tensor)
assert_type(grad(norm)(w).realize(), Tensor)

# --- per-example gradients with respect to shared values
assert_type(vmap(grad(loss), in_axes=(None, 0))(w, X), Tensor)
vmap(lambda a: reveal_type(grad(loss)(w, a)))(X)  # N: Vec[a,

# --- a gradient has the rows of all arguments
vmap(lambda a: vmap(lambda b: reveal_type(grad(loss)(a, b)))(X))(X)  # N: Vec[a | b,

# --- a gradient without batched values is plain and may leave
assert_type(vmap(lambda a: grad(norm)(w), out_axes=None, axis_size=2)(x), Tensor)
assert_type(vmap(lambda a: (a, grad(loss)(w, x)), out_axes=(0, None))(x)[1], Tensor)

# --- a gradient varies over the values in the closure
vmap(lambda a: reveal_type(grad(lambda v: (v * a).sum())(w)))(X)  # N: Vec[a,

# --- grad of a lambda, called at once
assert_type(grad(lambda v: v.square().sum())(w), Tensor)
assert_type(vmap(grad(lambda v, a: (v * a).sum()), in_axes=(None, 0))(w, X), Tensor)

# --- the parameter of a lambda has the type of the argument
grad(lambda v: reveal_type(v).sum())(w)  # N: "tinygrad

# --- grad, stored
slope = grad(loss)
assert_type(slope(w, x), Tensor)
assert_type(vmap(slope, in_axes=(None, 0))(w, X), Tensor)

# --- grad of a lambda, stored
slope_of_square = grad(lambda v: v * v)
assert_type(slope_of_square(Tensor(3.0)), Tensor)
assert_type(slope_of_square(3.0), Tensor)
assert_type(vmap(slope_of_square)(x), Tensor)

# --- grad of a lambda over a tree, stored
slope_of_tree = grad(lambda p: (p["w"] * x).sum())
assert_type(slope_of_tree({"w": w}), dict[str, Tensor])


# --- grad as a decorator
@grad
def descent(v: Vec[S]) -> Vec[S]:
    return v.square().sum()


assert_type(descent(w), Tensor)
assert_type(vmap(descent)(X), Tensor)

# --- grad of grad
assert_type(grad(grad(lambda v: v * v * v))(2.0), Tensor)
assert_type(grad(lambda v: grad(lambda u: u * u * v)(v))(Tensor(2.0)), Tensor)
assert_type(vmap(grad(grad(lambda v: v * v * v)))(x), Tensor)

# --- grad of vmap within
assert_type(grad(lambda v: vmap(lambda a: (v * a).sum())(X).sum())(w), Tensor)

# --- vmap of grad of vmap
inside = vmap(lambda v: grad(lambda u: vmap(lambda a: (u * a).sum())(X).sum())(v))
assert_type(inside(X), Tensor)

# --- argnums of another argument
assert_type(grad(loss, argnums=1)(w, x), Tensor)
assert_type(grad(lambda n, v: v.sum() * n, argnums=1)(2, w), Tensor)
assert_type(grad(loss, -1)(w, x), Tensor)

# --- argnums of several
assert_type(grad(loss, argnums=(0, 1))(w, x), tuple[Tensor, Tensor])
assert_type(grad(loss, (0,))(w, x), tuple[Tensor])
assert_type(vmap(grad(loss, argnums=(0, 1)), in_axes=(None, 0))(w, X), tuple[Tensor, Tensor])

# --- each of several has the rows of both
vmap(lambda a: reveal_type(grad(loss, (0, 1))(w, a)))(X)  # N: tuple[branded.vec.Vec[a, tinygrad.tensor.Tensor], branded

# --- argnums that are not known here
which = len(x.shape)
unknown = grad(loss, argnums=which - 1)(w, x)

# --- trees: a dict
assert_type(grad(lambda p: (p["w"] * x).sum() + p["b"])({"w": w, "b": Tensor(1.0)}), dict[str, Tensor])


def of_dict(p: dict[str, Vec[S]], a: Vec[S1]) -> Vec[S | S1]:
    return (p["w"] * a).sum() + p["b"]


weights = {"w": w, "b": Tensor(1.0)}
assert_type(grad(of_dict)(weights, x), dict[str, Tensor])
assert_type(vmap(lambda a: grad(of_dict)(weights, a))(X), dict[str, Tensor])
assert_type(vmap(grad(of_dict), in_axes=(None, 0))(weights, X), dict[str, Tensor])

# --- trees: a tuple
assert_type(grad(lambda p: (p[0] * p[1]).sum())((w, x)), tuple[Tensor, Tensor])

# --- trees: a list
assert_type(grad(lambda p: (p[0] * p[1]).sum())([w, x]), list[Tensor])

# --- trees: a TypedDict
assert_type(grad(lambda p: (p["w"] * x).sum() + p["b"])(params)["w"], Tensor)
assert_type(vmap(lambda a: grad(lambda p: (p["w"] * a).sum() + p["b"])(params)["w"])(X), Tensor)

# --- trees: a NamedTuple
assert_type(grad(lambda p: (p.u * p.v).sum())(Point(w, x)).u, Tensor)

# --- trees: a dataclass
assert_type(grad(lambda s: (s.position * s.speed).sum())(State(w, x)), State[Never])
vmap(lambda a: reveal_type(grad(lambda s: (s.position * a).sum())(State(w, x))))(X)  # N: State[a]


def energy(s: State[S]) -> Vec[S]:
    return (s.position * s.speed).sum()


assert_type(grad(energy)(State(w, x)).speed, Tensor)
assert_type(vmap(grad(energy))(State(X, X)).speed, Tensor)

# --- numbers: a float is a tensor in the function, and its gradient is one
assert_type(grad(lambda v: v * v)(2.0), Tensor)
assert_type(grad(norm)(2.0), Tensor)
assert_type(vmap(lambda a: grad(lambda v: (v * a).sum())(2.0))(X), Tensor)

# --- numbers: in a tree
assert_type(grad(lambda p: (p["w"] * x).sum() * p["b"])({"w": w, "b": Tensor(2.0)}), dict[str, Tensor])
assert_type(grad(lambda p: p[0] * p[1])((2.0, Tensor(3.0))), tuple[Tensor, Tensor])

# --- numbers: an array of numpy
assert_type(grad(lambda v: v.sum())(np.ones(2, dtype=np.float32)), Tensor)

# --- an int that is not differentiated
assert_type(grad(lambda v, n: (v * n).sum())(w, 3), Tensor)


# --- has_aux: a pair of the gradient and the auxiliary value
def with_aux(v: Vec[S], a: Vec[S1]) -> tuple[Vec[S | S1], dict[str, Vec[S1]]]:
    return (v * a).sum(), {"a": a}


assert_type(grad(with_aux, has_aux=True)(w, x), tuple[Tensor, dict[str, Tensor]])
assert_type(grad(lambda v: (v.sum(), "text"), has_aux=True)(w)[1], str)
assert_type(value_and_grad(with_aux, has_aux=True)(w, x), tuple[tuple[Tensor, dict[str, Tensor]], Tensor])
assert_type(vmap(grad(with_aux, has_aux=True), in_axes=(None, 0))(w, X), tuple[Tensor, dict[str, Tensor]])

# --- value_and_grad
assert_type(value_and_grad(loss)(w, x), tuple[Tensor, Tensor])
assert_type(vmap(value_and_grad(loss), in_axes=(None, 0))(w, X), tuple[Tensor, Tensor])
assert_type(value_and_grad(lambda p: (p["w"] * x).sum())({"w": w}), tuple[Tensor, dict[str, Tensor]])

# --- a step of training in a loop
weight = w
for _ in range(2):
    value, gradient = value_and_grad(loss)(weight, x)
    weight = (weight - 0.1 * gradient).realize()
assert_type(weight, Tensor)

# --- Jacobians
assert_type(jacfwd(lambda v: v * v)(w), Tensor)
assert_type(jacrev(lambda v: v * v)(w), Tensor)
assert_type(vmap(jacfwd(lambda v: v * v))(X), Tensor)
vmap(lambda a: reveal_type(jacrev(lambda v: v * a)(w)))(X)  # N: Vec[a,


# --- Jacobians of a named function
def squares(v: Vec[S]) -> Vec[S]:
    return v * v


assert_type(jacfwd(squares)(w), Tensor)
assert_type(vmap(jacrev(squares))(X), Tensor)

# --- Jacobians of a tree with respect to a tree
assert_type(jacfwd(lambda v: {"a": v, "b": v * v})(w), dict[str, Tensor])
assert_type(jacrev(lambda p: p[0] * p[1])((w, x)), tuple[Tensor, Tensor])
assert_type(jacrev(lambda p: (p[0] * p[1], p[0]))((w, x)), tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]])
assert_type(jacfwd(loss, argnums=(0, 1))(w, x), tuple[Tensor, Tensor])

# --- Jacobians with has_aux
assert_type(jacfwd(lambda v: (v * v, v), has_aux=True)(w), tuple[Tensor, Tensor])

# --- Hessians
assert_type(hessian(norm)(w), Tensor)
assert_type(vmap(hessian(lambda v: (v * v * v).sum()))(X), Tensor)
assert_type(hessian(lambda p: (p[0] * p[1]).sum())((w, x)), tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]])

# --- vjp: the value, and a function of a cotangent
out, pullback = vjp(loss, w, x)
assert_type(out, Tensor)
assert_type(pullback(Tensor(1.0)), tuple[Tensor, Tensor])
assert_type(pullback(1.0), tuple[Tensor, Tensor])

# --- vjp of a lambda
cotangents = vjp(lambda v: v * v, w)[1](x)
assert_type(cotangents, tuple[Tensor])

# --- vjp: the cotangents vary over the brands of value and cotangent
vmap(lambda a: reveal_type(vjp(loss, w, a)[1](Tensor(1.0))))(X)  # N: tuple[branded.vec.Vec[a, tinygrad.tensor.Tensor],
vmap(lambda a: reveal_type(vjp(lambda v: v * v, w)[1](a)[0]))(X)  # N: Vec[a,

# --- vjp of a tree
assert_type(vjp(lambda p: (p["w"] * x).sum(), {"w": w})[1](Tensor(1.0)), tuple[dict[str, Tensor]])

# --- vjp with has_aux
assert_type(vjp(lambda v: (v.sum(), "text"), w, has_aux=True)[2], str)

# --- jvp: the value and its tangent
assert_type(jvp(loss, (w, x), (w, x)), tuple[Tensor, Tensor])
assert_type(jvp(lambda v: v * v, (w,), (x,)), tuple[Tensor, Tensor])
assert_type(jvp(lambda v: (v * v, v), (w,), (x,), has_aux=True), tuple[Tensor, Tensor, Tensor])

# --- jvp: only the tangent varies over the brands of the tangents
vmap(lambda a: reveal_type(jvp(lambda v: v * v, (w,), (a,))))(X)  # N: tuple[tinygrad.tensor.Tensor, branded.vec.Vec[a,

# --- jvp of a tree
assert_type(jvp(lambda p: {"y": p["w"] * x}, ({"w": w},), ({"w": x},)), tuple[dict[str, Tensor], dict[str, Tensor]])

# --- jvp of grad: a product with the Hessian
assert_type(jvp(grad(norm), (w,), (x,))[1], Tensor)
assert_type(vmap(lambda a: jvp(grad(norm), (w,), (a,))[1])(X), Tensor)

# --- functools.partial
assert_type(grad(partial(loss, w))(x), Tensor)
assert_type(vmap(grad(partial(loss, w)))(X), Tensor)


# --- a method
class Model:
    def __init__(self) -> None:
        self.x = x

    def loss(self, v: Vec[S]) -> Vec[S]:
        return (v * self.x).sum()

    def step(self, v: Tensor) -> Tensor:
        return v - grad(self.loss)(v)


assert_type(grad(Model().loss)(w), Tensor)
assert_type(vmap(grad(Model().loss))(X), Tensor)
assert_type(Model().step(w), Tensor)


# --- a function of plain tensors
def plain_loss(v: Tensor, a: Tensor) -> Tensor:
    return (v * a).sum()


assert_type(grad(plain_loss)(w, x), Tensor)
assert_type(value_and_grad(plain_loss, argnums=1)(w, x), tuple[Tensor, Tensor])


# --- a function of rows calls a derivative
def newton(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    assert_type(grad(loss)(a, b), Vec[S | S1])
    return a - grad(loss)(a, b)


assert_type(vmap(lambda a: newton(w, a))(X), Tensor)


# --- a derivative as an argument
def apply(f: Callable[[Tensor], Tensor], a: Tensor) -> Tensor:
    return f(a)


assert_type(apply(grad(norm), w), Tensor)
assert_type(apply(grad(lambda v: v.sum()), w), Tensor)


# --- a function of functions
def minimize(f: Callable[[Tensor], Tensor], a: Tensor) -> Tensor:
    return a - grad(f)(a)


assert_type(minimize(lambda a: a.square().sum(), w), Tensor)

# --- keyword arguments
assert_type(grad(loss)(w, x=x), Tensor)
assert_type(grad(lambda v, a: (v * a).sum())(w, a=x), Tensor)
assert_type(grad(f=norm)(w), Tensor)

# --- stop_gradient keeps the type
assert_type(stop_gradient(w), Tensor)
assert_type(stop_gradient({"w": w}), dict[str, Tensor])
vmap(lambda a: reveal_type(stop_gradient(a)))(X)  # N: Vec[a,
assert_type(vmap(grad(lambda v: (v * stop_gradient(v)).sum()))(X), Tensor)

# --- by the module
assert_type(br.grad(norm)(w), Tensor)
assert_type(br.vmap(br.grad(norm))(X), Tensor)

# --- within `with brand(...)`
with brand(Users, 2) as users:
    assert_type(grad(loss)(w, users.vec(X)), Vec[Users])
    assert_type(users.unvec(grad(loss)(w, users.vec(X))), Tensor)

# --- a shared loss of batched values
vmap(lambda v: reveal_type(grad(lambda u: psum(u.sum(), "i"))(v)), axis_name="i")(X)  # N: Vec[i,
vmap(lambda a: reveal_type(grad(lambda u: psum((u * a).sum(), "j"))(w)), axis_name="j")(X)  # N: Vec[j,


# --- functions without annotations are not checked
def untyped(v):  # type: ignore[no-untyped-def]
    return v.sum()


anything = grad(untyped)(w)  # N: checked

# --- at two depths, of trees
table = vmap(lambda a: vmap(lambda b: grad(lambda p: (p["w"] * a * b).sum())({"w": w}))(X))(X)
assert_type(table, dict[str, Tensor])


# --- a step within a step: the gradient of a loss after a step of gradient descent
def after_a_step(w: Vec[S], a: Vec[S1]) -> Vec[S | S1]:
    return loss(w - 0.1 * grad(loss)(w, a), a)


assert_type(vmap(grad(after_a_step), in_axes=(None, 0))(w, X), Tensor)
assert_type(grad(lambda v: vmap(after_a_step, in_axes=(None, 0))(v, X).sum())(w), Tensor)

# --- gradients of a tree in a step
gradients = grad(of_dict)(weights, x)
stepped: dict[str, Tensor] = {k: v - 0.1 * gradients[k] for k, v in weights.items()}


# --- keyword-only and optional parameters
def with_options(v: Vec[S], *, by: Vec[S1], times: int = 2) -> Vec[S | S1]:
    return (v * by).sum() * times


assert_type(grad(with_options)(w, by=x, times=3), Tensor)
assert_type(vmap(lambda a: grad(with_options)(w, by=a))(X), Tensor)


# --- a function of star-parameters
def first(*vs: Vec[S]) -> Vec[S]:
    return vs[0].sum()


assert_type(grad(first)(w, x), Tensor)


# --- a function of a float
def of_float(n: float) -> Tensor:
    return x.sum() * n


assert_type(grad(of_float)(2.0), Tensor)

# --- collectives inside of a differentiated function
assert_type(grad(lambda v: vmap(lambda a: a * psum(a, "i"), axis_name="i")(v).sum())(w), Tensor)
assert_type(vmap(grad(lambda a: a * psum(a, "i")), axis_name="i")(x), Tensor)

# --- checkpoint is the function itself to types
assert_type(br.checkpoint(norm, policy="dots")(x), Tensor)
assert_type(vmap(lambda a: grad(br.checkpoint(norm))(a))(X), Tensor)
