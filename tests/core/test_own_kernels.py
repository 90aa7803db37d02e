"""Custom kernels and user-made `UOp.range`s: where they run, and the errors elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import KernelInfo, Ops, UOp

from branded import (
    cond,
    custom_vmap,
    errors,
    fori_loop,
    grad,
    jit,
    jvp,
    make_expr,
    map,
    scan,
    sequential_vmap,
    vmap,
    while_loop,
)
from tests.support.examples import in_memory

pytestmark = pytest.mark.enabled("cpu")

A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
B = np.array([11.0, 21.0], np.float32)
X, W = in_memory(A), in_memory(B - 1)


def _kernel(name: str, value: Callable[[UOp, UOp], UOp]) -> Callable[[UOp, UOp], UOp]:
    def written(out: UOp, x: UOp) -> UOp:
        at = [UOp.range(n, i) for i, n in enumerate(x.shape)]
        kernel: UOp = out[*at].store(value(out[*at], x[*at])).end(*at).sink(arg=KernelInfo(name=name))
        return kernel

    return written


def plus_one(x: Tensor) -> Tensor:
    return Tensor.empty(*x.shape).custom_kernel(x, fxn=_kernel("plus_one", lambda _, x: x + 1))[0]


def added_to(out: Tensor, x: Tensor) -> Tensor:
    """Add `x` to `out` in place."""
    return out.custom_kernel(x, fxn=_kernel("added_to", lambda out, x: out + x))[0]


@custom_vmap
def plus_one_batch(x: Tensor) -> Tensor:
    return plus_one(x)


@plus_one_batch.def_vmap
def _rule(axis_size: int, in_batched: list[bool], x: Tensor) -> tuple[Tensor, bool]:
    return plus_one(x), True


KERNELS: dict[str, tuple[Callable[[], Tensor], Any]] = {
    "in the rule of a custom_vmap": (lambda: vmap(plus_one_batch)(X), A + 1),
    "among other operations": (lambda: vmap(lambda x: plus_one_batch(x * 2).sum())(X), (A * 2 + 1).sum(1)),
    "in sequential_vmap": (lambda: vmap(sequential_vmap(plus_one))(X), A + 1),
    "unbatched": (lambda: vmap(lambda x: x + plus_one(W))(X), A + B),
    "jit": (lambda: jit(lambda x: plus_one(x * 2).sum())(X), (A * 2 + 1).sum()),
    "scan": (lambda: scan(lambda c, x: (c + plus_one(x), None), Tensor([0.0, 0.0]), X)[0], (A + 1).sum(0)),
    "a carry": (lambda: fori_loop(0, 3, lambda i, x: plus_one(x), Tensor([0.0, 1.0])), [3, 4]),
    "while_loop": (lambda: while_loop(lambda x: x.sum() < 10, plus_one, Tensor([0.0, 0.0])), [5, 5]),
    "cond": (lambda: cond(X.sum() > 0, plus_one, lambda x: x, W), [11, 21]),
    "into new zeros in each step": (lambda: map(lambda x: added_to(Tensor.zeros(2).contiguous(), x), X), A),
    "into a new copy in each step": (lambda: map(lambda x: added_to((W * 2).contiguous(), x), X), A + 2 * B - 2),
    "into zeros, one after the other": (
        lambda: vmap(sequential_vmap(lambda x: added_to(Tensor.zeros(2).contiguous(), x)))(X),
        A,
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_custom_kernels(name: str) -> None:
    call, wanted = KERNELS[name]
    np.testing.assert_allclose(call().numpy(), wanted)


def own_sum(x: Tensor, by: Callable[[UOp, UOp], UOp] = lambda x, r: x.index(r), op: Ops = Ops.ADD) -> Tensor:
    r = UOp.range(2, 5)
    return Tensor(by(x.uop, r).reduce(r, arg=op))


RANGES: dict[str, tuple[Callable[[], Tensor], Any]] = {
    "zip": (lambda: vmap(lambda x, y: own_sum(x * y))(X, X), (A * A).sum(1)),
    "nested": (lambda: vmap(lambda x: vmap(lambda y: own_sum(x * y))(X))(X), A @ A.T),
    "read twice": (lambda: vmap(lambda x: own_sum(x, lambda x, r: x.index(r) * x.index(r)))(X), (A * A).sum(1)),
    "max": (lambda: vmap(lambda x: own_sum(x, op=Ops.MAX))(X), A.max(1)),
    "a number": (lambda: vmap(lambda x: own_sum(x, lambda x, r: x * (r + 1)))(X), A * 3),
    "jit": (lambda: jit(vmap(own_sum))(X), A.sum(1)),
    "scan under vmap": (
        lambda: vmap(lambda m: scan(lambda c, x: (c + own_sum(x), None), Tensor(0.0), m)[0])(X.reshape(1, 3, 2)),
        [A.sum()],
    ),
    "jvp": (lambda: vmap(lambda x: jvp(lambda x: own_sum(x * x), (x,), (x,))[1])(X), 2 * (A * A).sum(1)),
}


@pytest.mark.parametrize("name", RANGES)
def test_user_made_ranges(name: str) -> None:
    call, wanted = RANGES[name]
    np.testing.assert_allclose(call().numpy(), wanted)


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "vmap in a loop": (
        lambda: vmap(lambda x: fori_loop(0, 2, lambda i, x: plus_one(x), x))(X),
        errors.UnsupportedError,
        "custom_kernel: a hand-written kernel has no batching rule\n  value: Vec[x:3, f32[2]]\n"
        "  try:   wrap the call in sequential_vmap, or in a custom_vmap whose rule runs it on the batch",
    ),
    "gradient of a kernel": (
        lambda: grad(lambda x: plus_one(x).sum())(W),
        errors.UnsupportedError,
        "gradient: a hand-written kernel has no derivative\n  try: custom_kernel(..., grad_fxn=...)",
    ),
    "jvp of a kernel": (
        lambda: jvp(plus_one, (W,), (W,)),
        errors.UnsupportedError,
        "jvp: a hand-written kernel has no derivative\n  try: wrap the call in custom_jvp",
    ),
    "make_expr of a kernel": (
        lambda: str(make_expr(plus_one)(W)),
        errors.ProgramTypeError,
        "make_expr: a hand-written kernel has no primitive\n  try: use operations of Tensor instead",
    ),
    "gradient of a range": (
        lambda: vmap(grad(own_sum))(X),
        errors.UnsupportedError,
        "gradient: there is no derivative rule for ADD over a UOp.range of your own\n"
        "  value: Vec[x:3, f32[]]\n  try:   use an operation over an axis: x.sum(0)",
    ),
    "make_expr of a range": (
        lambda: str(make_expr(vmap(own_sum))(X)),
        errors.ProgramTypeError,
        "make_expr: a UOp.range of your own has no primitive\n  try: use an operation over an axis: x.sum(0)",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_error_messages(name: str) -> None:
    call, error, text = MISTAKES[name]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text
