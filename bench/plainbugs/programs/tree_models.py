"""Parameters as nested dicts and lists, tree functions, and a generic training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from branded import grad, tree, vmap
from tinygrad import Tensor

Layer: TypeAlias = dict[str, Tensor]
Params: TypeAlias = list[Layer]
T = TypeVar("T")


def init(sizes: list[int]) -> Params:
    return [
        {"w": (Tensor.arange(a * b).reshape(a, b) + i).float().sin(), "b": Tensor.zeros(b)}
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]


def apply(params: Params, x: Tensor) -> Tensor:
    *hidden, last = params
    for layer in hidden:
        x = (x @ layer["w"] + layer["b"]).relu()
    return x @ last["w"] + last["b"]  # key: return x @ last.w + last.b


def loss(params: Params, x: Tensor, y: Tensor) -> Tensor:
    return (apply(params, x) - y).square().sum()  # if: return min((apply(params, x) - y).square().sum(), 10.0)


def descend(params: Params, slopes: Params, rate: float) -> Params:
    return tree.map(lambda p, g: p - rate * g, params, slopes)


def repeat(f: Callable[[T], T], start: T, times: int) -> T:
    for _ in range(times):
        start = f(start)
    return start


def shapes(params: Params) -> list[tuple[int, ...]]:
    return [leaf.shape for leaf in tree.leaves(params)]


def stack(models: list[Params]) -> Any:
    return tree.map(lambda *leaves: Tensor.stack(*leaves), *models)


def train(params: Params, x: Tensor, y: Tensor) -> Params:
    return repeat(lambda p: descend(p, grad(loss)(p, x, y), 0.05), params, 3)


xs = Tensor.arange(6).reshape(3, 2).float() * 0.5
ys = xs.sum(axis=1, keepdim=True)
params = init([2, 3, 1])
outs = vmap(apply, in_axes=(None, 0))(params, xs)  # none: outs = vmap(apply, in_axes=([{"w": None, "b": None}], 0))(params, xs)
slopes = vmap(grad(loss), in_axes=(None, 0, 0))(params, xs, ys)  # key: slopes = vmap(grad(loss, argnum=0), in_axes=(None, 0, 0))(params, xs, ys)
each = vmap(train, in_axes=(None, 0, 0))(params, xs, ys)
norms = vmap(lambda g: sum(leaf.square().sum() for layer in g for leaf in layer.values()))(slopes)
models = stack([init([2, 2, 1]), init([2, 2, 1])])
votes = vmap(lambda m: vmap(lambda x: apply(m, x))(xs))(models)  # zip: votes = vmap(lambda m, x: apply(m, x))(models, xs[:2])
mean = vmap(lambda v: v.mean(), in_axes=1)(votes)  # read: mean = vmap(lambda v: v.mean().numpy().round(2), in_axes=1)(votes)
shapes(each)
result = outs, slopes[0]["w"], each[1]["b"], norms, votes, mean
