"""Batch statistics inside of a mapped function: pmean, all_gather, axis_index, and names as strings."""

from __future__ import annotations

from typing import Final

from branded import Brand, Vec, all_gather, axis_index, axis_size, pmax, pmean, psum, vmap
from branded.typing import S
from tinygrad import Tensor


class Batch(Brand):
    """One example each."""


class Shard(Brand):
    """One part of the model each."""


EPS: Final = 1e-5


def batch_norm(x: Vec[Batch]) -> Vec[Batch]:
    mean = pmean(x, Batch)  # name: mean = pmean(x, Shard)
    var = pmean((x - mean).square(), Batch)
    return (x - mean) / (var + EPS).sqrt()  # read: return (x - mean) / (var + EPS).item() ** 0.5


def contrast(x: Vec[Batch]) -> Vec[Batch]:
    every = all_gather(x, Batch)
    return (every @ x).log_softmax()[0] - x.sum()


def share(x: Vec[Batch | Shard]) -> Vec[Batch]:
    return psum(x.square().sum(), Shard)  # brand: return x.square().sum()


def largest(x: Vec[Batch | Shard]) -> Vec[Shard]:
    return pmax(x.max(), Batch)  # name: return pmax(x.max(), Shard)


def numbered(x: Vec[Batch]) -> Vec[Batch]:
    return x + axis_index(Batch) / axis_size(Batch)


def softmax_by_name(x: Tensor) -> Tensor:
    top = pmax(x, "i")
    raised = (x - top).exp()
    return raised / psum(raised, "i")  # key: return raised / psum(raised, "i", "j", 1)


def residual(x: Vec[S], y: Vec[Batch]) -> Vec[S | Batch]:  # brand: def residual(x: Vec[S], y: Vec[Batch]) -> Vec[S]:
    return x - y


def both(x: Vec[Batch | Shard]) -> Vec[Batch | Shard]:
    return x / (share(x) + 1) + largest(x)  # brand: return x / share(largest(x) + 1)


xs = Tensor.arange(12).reshape(4, 3).float() * 0.25
normed = vmap(batch_norm, axis_name=Batch)(xs)
contrasts = vmap(contrast, axis_name=Batch)(normed)
counted = vmap(numbered, axis_name=Batch)(xs)
weights = vmap(softmax_by_name, axis_name="i")(xs)
grid = vmap(vmap(both, axis_name=Shard), axis_name=Batch)(xs.reshape(4, 3, 1))
rest = vmap(lambda y: residual(xs[0], y), axis_name=Batch)(xs)
top = vmap(lambda x: pmax(x, "rows"), axis_name="rows", out_axes=None)(xs)
result = normed, contrasts, counted, weights, grid, rest, top
