"""`sort` by tinygrad's sorting network, for devices without numpy, with the same derivative as numpy's `sort`.

The derivative of the network has a separate graph for each of its steps, which takes minutes to compile, and divides
the cotangent among equal elements. Here each value has the derivative of the element at its index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor

from branded.linalg.primitive import MatrixOperation, apply_operation, one

Network = Callable[[Tensor, int, bool], tuple[Tensor, Tensor]]


class SortedByNetwork(MatrixOperation):
    """The sorted values along the last axis, and their original indices, which have no tangent."""

    name = "sort"

    def __init__(self, network: Network, descending: bool) -> None:
        self.network, self.descending = network, descending

    def as_equation(self) -> Any:
        return None

    def run(self, *xs: Tensor) -> Sequence[Tensor]:
        return self.network(xs[0], -1, self.descending)

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        (d,) = dxs
        assert d is not None
        return [d.gather(-1, ys[1])]


def sort(network: Network, x: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """Return the sorted values along an axis and their original indices."""
    values, indices = apply_operation(one(SortedByNetwork, network, descending), x.transpose(dim, -1))
    return values.transpose(dim, -1), indices.transpose(dim, -1)
