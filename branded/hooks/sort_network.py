"""`sort` by tinygrad's network of comparisons, where numpy does not serve, with the derivative of the call of numpy.

Through the network, a derivative is a graph of its own for each of its steps, which takes minutes to compile, and
entries that are equal share it.  Here each value has the derivative of the entry that its index names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor

from branded.linalg.primitive import MatrixOperation, call, one

Network = Callable[[Tensor, int, bool], tuple[Tensor, Tensor]]


class SortedByNetwork(MatrixOperation):
    """The values along the last axis, in order."""

    name = "sort"

    def __init__(self, network: Network, descending: bool) -> None:
        self.network, self.descending = network, descending

    def said(self) -> Any:
        return None

    def run(self, *xs: Tensor) -> Sequence[Tensor]:
        return [self.network(xs[0], -1, self.descending)[0]]

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        (x,), (d,) = xs, dxs
        assert d is not None
        return [d.gather(-1, self.network(x, -1, self.descending)[1])]


def sort(network: Network, x: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The values along an axis in order, and where they were."""
    last = x.transpose(dim, -1)
    values = call(one(SortedByNetwork, network, descending), last)[0]
    return values.transpose(dim, -1), network(last, -1, descending)[1].transpose(dim, -1)
