"""The derivative of a loop stores the matrix products of its steps, and does not compute them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import Ops

from branded import grad, scan, vmap
from branded.control_flow.scan import Scan
from branded.graph.primitive import primitive_of

pytestmark = pytest.mark.by_numpy
N, T = 24, 4
W = Tensor([[((7 * i + 3 * j) % 11 - 5) / N for j in range(N)] for i in range(N)])
X = Tensor([(i % 5 - 2) / 4 for i in range(N)])
C = Tensor([0.5, -1.0, 2.0, 0.25])

Step = Callable[[Any, Any], Any]
STEPS: dict[str, tuple[Step, int]] = {
    "the product is the next carry": (lambda c, k: (W @ c, k * (W @ c)), 1),
    "the product is an output": (lambda c, k: (c * 0.5, W @ (c * k)), 2),
    "a function of the product is the next carry": (lambda c, k: ((W @ c + k).tanh(), c), 2),
    "the product is inside": (lambda c, k: ((W @ (c * k)).sin() + c, c.sum()), 2),
}
"""The steps, and the number of products in the step and its transpose together."""


def _loss(step: Step, unroll: bool) -> Callable[[Tensor], Tensor]:
    def loss(c: Tensor) -> Tensor:
        last, ys = scan(step, X, c, unroll=unroll)
        return (last * last).sum() + (ys * ys).sum()

    return loss


def _products_in_loops(x: Tensor) -> int:
    loops = {u for u in x.uop.toposort() if isinstance(primitive_of(u), Scan)}
    sums = [r for u in loops for r in u.src[0].toposort() if r.op is Ops.REDUCE and r.src[0].max_numel() == N * N]
    return len(sums)


@pytest.mark.parametrize("name", STEPS)
def test_products_are_stored(name: str) -> None:
    step, products = STEPS[name]
    slopes = grad(_loss(step, False))(C)
    assert _products_in_loops(slopes) == products
    want = grad(_loss(step, True))(C)
    assert slopes.tolist() == pytest.approx(want.tolist(), rel=1e-4)


@pytest.mark.parametrize("name", STEPS)
def test_derivatives_of_batches_and_of_second_order(name: str) -> None:
    step, _ = STEPS[name]
    batch = Tensor.stack(C, C * 0.5, C - 1)
    loop, unrolled = (vmap(_slope_of_slopes(_loss(step, u)))(batch) for u in (False, True))
    assert loop.flatten().tolist() == pytest.approx(unrolled.flatten().tolist(), rel=1e-3, abs=1e-3)


def _slope_of_slopes(f: Callable[[Tensor], Tensor]) -> Callable[[Any], Any]:
    return grad(lambda c: (grad(f)(c) ** 2).sum())
