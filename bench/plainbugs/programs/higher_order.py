"""Functions of functions: Callable types, partial, decorators with ParamSpec, and a table of losses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from branded import Vec, lift, vmap
from branded.typing import S, S1
from tinygrad import Tensor

P = ParamSpec("P")


def counted(f: Callable[P, Tensor]) -> Callable[P, Tensor]:
    @functools.wraps(f)
    def counting(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        name = getattr(f, "__name__", "function")
        counts[name] = counts.get(name, 0) + 1
        return f(*args, **kwargs)

    return counting


counts: dict[str, int] = {}


@counted
def squared(prediction: Tensor, target: Tensor) -> Tensor:
    return (prediction - target).square().sum()


@counted
def absolute(prediction: Tensor, target: Tensor) -> Tensor:
    return (prediction - target).abs().sum()


def power(x: Tensor, n: int, *, scale: float = 1.0) -> Tensor:
    return scale * x**n


def polynomial(x: Vec[S], degree: int) -> Vec[S]:
    terms = [lift(power)(x, n=i, scale=0.5) for i in range(degree)]  # read: terms = [lift(power)(x, n=i, scale=0.5).item() for i in range(degree)]
    return sum(terms[1:], terms[0])


def compose(f: Callable[[Vec[S]], Vec[S]], g: Callable[[Vec[S]], Vec[S]], x: Vec[S]) -> Vec[S]:
    return f(g(x))  # brand: return f(g)(x)


def scaled(x: Vec[S], by: Vec[S1]) -> Vec[S | S1]:  # brand: def scaled(x: Vec[S], by: Vec[S1]) -> Vec[S]:
    return x * by


def shift(x: Vec[S]) -> Vec[S]:
    return x + 1  # read: return x + float(x.mean())


losses: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"l2": squared, "l1": absolute}
predictions = Tensor.arange(6).reshape(3, 2).float()
targets = Tensor.ones(3, 2)
shared = Tensor([0.5, 2.0])
by_name = {name: vmap(f)(predictions, targets) for name, f in losses.items()}
to_shared = {name: vmap(f, in_axes=(0, None))(predictions, shared) for name, f in losses.items()}  # none: to_shared = {name: vmap(f, in_axes=0)(predictions, shared) for name, f in losses.items()}
cubes = vmap(functools.partial(power, n=3))(predictions)
curves = vmap(functools.partial(polynomial, degree=3))(predictions)
twice = vmap(lambda x: compose(shift, shift, x))(predictions)
stretched = vmap(vmap(scaled, in_axes=(None, 0)), in_axes=(0, None))(predictions, shared)  # zip: stretched = vmap(vmap(scaled))(predictions, shared.reshape(1, 2).expand(3, 2))
sines = vmap(Tensor.sin)(predictions)
result = by_name["l2"] + to_shared["l1"], cubes, curves, twice, stretched, sines  # key: result = by_name["l2"] + to_shared["l1"], cubes, curves, twise, stretched, sines
