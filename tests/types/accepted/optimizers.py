"""Optimizers, minimizers and their trees keep their types and their brands."""

import functools
import operator
from functools import cache, singledispatch
from typing import Any, assert_type, reveal_type

from tinygrad import Tensor

from branded import grad, optim, scan, tree, vmap

x, w = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Tensor([1.0, 2.0])
rates = Tensor([0.1, 0.2, 0.3])
opt = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(1e-2))


# --- updates have the tree of the gradients
def fit(params: dict[str, Tensor]) -> dict[str, Tensor]:
    updates, state = opt.update(params, opt.init(params), params)
    updates, _ = opt.update(params, state, params)
    return optim.apply_updates(params, updates)


assert_type(opt.init(w), optim.OptState)
assert_type(opt.update(w, opt.init(w), w), tuple[Tensor, optim.OptState])
assert_type(fit({"w": w}), dict[str, Tensor])
assert_type(vmap(fit)({"w": x}), dict[str, Tensor])

# --- the pair of functions of an optimizer
init, update = optim.sgd(0.5, momentum=0.9)
vmap(lambda a: reveal_type(update(a, init(a))[0]))(x)  # N: Vec[a,

# --- updates vary over the learning rate
vmap(lambda r: reveal_type(optim.sgd(r).update(w, optim.sgd(r).init(w))[0]))(rates)  # N: Vec[r,
vmap(lambda r: reveal_type(optim.chain(optim.scale(2.0), optim.adam(r)).init(w)))(rates)  # N: OptState[r]


# --- updates vary over a schedule that does
def scheduled(rate: Tensor) -> Tensor:
    decayed = optim.sgd(optim.exponential_decay(rate, 10, 0.5))
    return optim.apply_updates(w, decayed.update(w, decayed.init(w))[0])


assert_type(vmap(scheduled)(rates), Tensor)
vmap(lambda r: reveal_type(optim.exponential_decay(r, 10, 0.5)(1)))(rates)  # N: Vec[r,


# --- a state is mapped
def one_step(p: Tensor, state: optim.OptState, target: Tensor) -> tuple[Tensor, optim.OptState]:
    grads = grad(lambda q: (q - target).square().sum())(p)
    updates, state = opt.update(grads, state, p)
    return optim.apply_updates(p, updates), state


states = vmap(opt.init)(x)
assert_type(states, optim.OptState)
assert_type(vmap(one_step)(x, states, x), tuple[Tensor, optim.OptState])
vmap(lambda p, s, t: reveal_type(one_step(p, s, t)[1]))(x, states, x)  # N: OptState[p]


# --- a state is the carry of a scan
def trained(start: Tensor) -> Tensor:
    def body(carry: tuple[Tensor, optim.OptState], _: None) -> tuple[tuple[Tensor, optim.OptState], Tensor]:
        p, state = carry
        updates, state = opt.update(grad(lambda q: q.square().sum())(p), state, p)
        return (optim.apply_updates(p, updates), state), p.sum()

    (p, _), losses = scan(body, (start, opt.init(start)), length=3)
    assert_type(losses, Tensor)
    return p


assert_type(vmap(trained)(x), Tensor)


# --- a user-defined optimizer with its own types
def scaled(rate: float) -> optim.GradientTransformation:
    def first(params: dict[str, Tensor]) -> dict[str, Tensor]:
        return params

    def step(
        updates: dict[str, Tensor], state: dict[str, Tensor], params: Any = None
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        return {k: u * rate for k, u in updates.items()}, state

    return optim.GradientTransformation(first, step)


assert_type(scaled(0.1).update({"w": w}, scaled(0.1).init({"w": w}))[0], dict[str, Tensor])

# --- a minimum for each example
found = vmap(lambda a: optim.minimize(lambda v: (v - a).square().sum(), a))(x)
assert_type(found.x, Tensor)
assert_type(found.success, Tensor)
assert_type(vmap(lambda r: r.x.sum() + r.fun)(found), Tensor)
vmap(lambda a: reveal_type(optim.minimize(lambda v: (v - a).square().sum(), w).x))(x)  # N: Vec[a,
vmap(lambda a: reveal_type(optim.minimize(lambda v, b: (v - b).square().sum(), w, (a,)).nit))(x)  # N: Vec[a,

# --- the minimum is a tree like the start
assert_type(optim.minimize(lambda p: (p["w"] - 1).square().sum(), {"w": w}).x, dict[str, Tensor])

# --- a root and a fixed point for each example
assert_type(vmap(lambda a: optim.root(lambda v: v * v - a, a).x)(x), Tensor)
vmap(lambda a: reveal_type(optim.fixed_point(lambda v: (v + a / v) / 2, w).success))(x)  # N: Vec[a,

# --- the leaves of a tree vary over all that the tree does
vmap(lambda a: reveal_type(tree.leaves({"x": a, "w": w})))(x)  # N: list[branded.vec.Vec[a,
vmap(lambda a: reveal_type(tree.flatten((a, w))[0]))(x)  # N: list[branded.vec.Vec[a,
assert_type(tree.leaves((1, 2.0, None)), list[int | float])
assert_type(vmap(lambda a: sum(v.sum() for v in tree.leaves([a, w])))(x), Tensor)

# --- tree.reduce has the result type of the function
vmap(lambda a: reveal_type(tree.reduce(lambda n, v: n + v.sum(), (a, w), 0.0)))(x)  # N: Vec[a,
assert_type(tree.reduce(lambda n, v: n + v.numel(), {"w": w}, 0), int)

# --- unravel gives a tree with the brands of the vector
vmap(lambda a: reveal_type(tree.ravel({"w": w})[1](a)))(x)  # N: dict[str, branded.vec.Vec[a,
assert_type(tree.ravel((w, [w]))[1](Tensor([1.0, 2.0, 3.0, 4.0])), tuple[Tensor, list[Tensor]])


# --- powers of ints
def doubling(k: int, a: Tensor) -> Tensor:
    return a * 2**k


assert_type(vmap(doubling, in_axes=(None, 0))(3, x), Tensor)
vmap(lambda a: [reveal_type(a * 2**k) for k in range(2)])(x)  # N: Vec[a,

# --- the functions of operator
vmap(lambda a: reveal_type(operator.add(a, w)))(x)  # N: Vec[a,
vmap(lambda a: reveal_type(operator.matmul(a, w)))(x)  # N: Vec[a,
vmap(lambda a: reveal_type(operator.neg(a)))(x)  # N: Vec[a,
vmap(lambda a: reveal_type(operator.gt(a, 0)))(x)  # N: Vec[a,
vmap(lambda a: reveal_type(operator.getitem(a, 0)))(x)  # N: Vec[a,
vmap(lambda a: reveal_type(tree.map(operator.sub, [w], [a])))(x)  # N: list[branded.vec.Vec[a,
assert_type(vmap(lambda a: functools.reduce(operator.mul, [a, w, a]))(x), Tensor)
assert_type(operator.add(1, 2), Any)


# --- a function with a cache
@cache
def basis(n: int) -> Tensor:
    return Tensor.ones(n)


assert_type(vmap(lambda a: a * basis(2))(x), Tensor)


# --- a function that dispatches on a class
@singledispatch
def double(a: object) -> Tensor:
    raise TypeError(a)


@double.register
def _(a: Tensor) -> Tensor:
    return a * 2


vmap(lambda a: reveal_type(double(a)))(x)  # N: Vec[a,
