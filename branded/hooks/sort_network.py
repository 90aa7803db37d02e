"""`sort` by tinygrad's sorting network, for devices without numpy, with the same derivative as numpy's `sort`.

Differentiating the network makes a separate graph for each of its steps, which takes minutes to compile, and equal
elements share the derivative. Here each value has the derivative of the element at its index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor

from branded.linalg.primitive import MatrixOperation, call, one

Network = Callable[[Tensor, int, bool], tuple[Tensor, Tensor]]


class SortedByNetwork(MatrixOperation):
    """The sorted values along the last axis."""

    name = "sort"

    def __init__(self, network: Network, descending: bool) -> None:
        self.network, self.descending = network, descending

    def as_equation(self) -> Any:
        return None

    def run(self, *xs: Tensor) -> Sequence[Tensor]:
        return [self.network(xs[0], -1, self.descending)[0]]

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        (x,), (d,) = xs, dxs
        assert d is not None
        return [d.gather(-1, self.network(x, -1, self.descending)[1])]


def sort(network: Network, x: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """Return the sorted values along an axis and their original indices."""
    last = x.transpose(dim, -1)
    values = call(one(SortedByNetwork, network, descending), last)[0]
    return values.transpose(dim, -1), network(last, -1, descending)[1].transpose(dim, -1)
