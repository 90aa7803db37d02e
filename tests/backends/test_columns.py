"""Column sums, products and maxima on the CPU: reduce groups of rows first, and then the partial results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tinygrad import Device, Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded import jit, vmap
from branded.backends import cpu
from branded.backends.cpu.gemm import blas
from branded.backends.cpu.renderer.kernel_marks import LOOPS
from branded.tinygrad_compat import private_api

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there(Device.DEFAULT), reason="kernels are replaced where BLAS is"),
]

rng = np.random.default_rng(0)


def whole(*shape: int) -> Tensor:
    """Return integers, whose sum is exact in any order."""
    return Tensor(rng.integers(-9, 9, shape).astype(np.float32)).realize()


X, Y, Z, TALL = whole(1000, 300), whole(7, 256, 64), whole(64, 20, 100), whole(4096, 256)
P, LONG, WIDE, CUBE = whole(1009, 101), whole(5003, 401), whole(37, 2003), whole(37, 41, 101)
FEW, SHORT = whole(90, 100), whole(509, 3, 9, 7)
V, AT = whole(300), Tensor(rng.integers(0, 4096, 64)).realize()
SUMS: dict[str, tuple[Callable[[], Tensor], int]] = {
    "of a matrix": (lambda: X.sum(0), 3),
    "in three steps": (lambda: TALL.sum(0), 3),
    "of the middle axis": (lambda: Y.sum(1), 2),
    "of two axes": (lambda: Z.sum((0, 1)), 4),
    "of an expression": (lambda: ((X - V) * (X + 1)).sum(0) * 2 + V, 3),
    "of where": (lambda: (X > 0).where(X, X * 2).sum(0), 3),
    "of integers": (lambda: X.cast("int").sum(0), 3),
    "times a maximum of all": (lambda: X.sum(0) * V.max(), 3),
    "of float64": (lambda: X.double().sum(0), 3),
    "of bools": (lambda: (X > 0).sum(0), 3),
    "of flipped rows": (lambda: X.flip(0).sum(0), 3),
    "the largest": (lambda: X.max(0), 3),
    "the least": (lambda: TALL.min(0) + 1, 3),
    "the largest of float64": (lambda: X.double().max(0), 3),
    "the largest of integers": (lambda: X.cast("int").max(0), 3),
    "of a prime number of rows": (lambda: P.sum(0), 3),
    "the largest of a prime number of rows": (lambda: P.max(0), 3),
    "of a prime number of rows in steps": (lambda: LONG.sum(0), 5),
    "of two groups and five rows": (lambda: WIDE.sum(0), 3),
    "of two axes of prime sizes": (lambda: CUBE.sum((0, 1)), 5),
    "products": (lambda: (X > 0).where(1.0, -1.0).prod(0), 3),
    "any": (lambda: (X > 8).any(0), 3),
    "of few elements": (lambda: FEW.sum(0), 2),
    "of short rows that follow each other": (lambda: SHORT.max(0), 3),
    "the largest of few": (lambda: FEW.max(0), 2),
    "of few examples": (lambda: vmap(lambda row: row + 1)(FEW).sum(0), 2),
    "of examples": (lambda: vmap(lambda row: row * V + 1)(X).sum(0), 3),
}
"""The number of kernels of each reduction."""
OTHERS: dict[str, Callable[[], Tensor]] = {
    "few numbers": lambda: whole(100, 80).sum(0),
    "products of few numbers": lambda: ((whole(40, 50).unsqueeze(2) * whole(50, 30)).int()).sum(1),
    "few rows": lambda: whole(32, 4096).sum(0),
    "rows, not columns": lambda: X.sum(1),
    "flipped columns": lambda: X.flip(1).sum(0),
    "a border": lambda: X.pad(((1, 1), (2, 2))).sum(0),
    "the largest of few": lambda: whole(100, 80).max(0),
    "the largest of rows": lambda: X.max(1),
    "many exponentials": lambda: sum(((X + i).exp() for i in range(20)), X).sum(0),
    "gathered rows": lambda: TALL[AT],
    "masked rows": lambda: (Tensor.arange(4096).reshape(-1, 1) < 3000).where(TALL, 0).sum(0),
    "rows of moved axes": lambda: CUBE.permute(1, 0, 2).sum(2),
    "few rows of moved axes": lambda: CUBE[:5].permute(2, 1, 0).sum(2),
    "columns of few numbers": lambda: whole(20000, 4).sum(0),
}


def kernels(x: Tensor) -> list[UOp]:
    return [call.src[0] for call in x.schedule_linear().src]


@pytest.mark.parametrize("name", SUMS)
def test_rows_are_reduced_in_groups(name: str) -> None:
    of, steps = SUMS[name]
    made = private_api.realize.compile_linear(of().schedule_linear()).src
    assert len(made) == steps and LOOPS in made[0].src[0].src[0].arg.applied_opts
    found = of().numpy()
    with cpu.plain():
        assert len(kernels(of())) == 1
        np.testing.assert_array_equal(found, of().numpy())


MOVED: dict[str, Callable[[], Tensor]] = {
    "of the middle axis": lambda: CUBE.permute(2, 0, 1).sum(2),
    "of the first axis": lambda: CUBE.permute(2, 1, 0).sum(2),
    "of the middle axis, and an operation": lambda: CUBE.permute(2, 1, 0).sum(1) * 2 - 1,
    "the largest": lambda: CUBE.permute(1, 2, 0).max(0),
    "of integers": lambda: CUBE.permute(1, 2, 0).int().sum(0),
    "of examples": lambda: vmap(lambda x: x.sum(1), in_axes=2)(CUBE),
}


@pytest.mark.parametrize("name", MOVED)
def test_rows_of_moved_axes_are_reduced_in_the_order_of_memory(name: str) -> None:
    made = private_api.realize.compile_linear(MOVED[name]().schedule_linear()).src
    assert len(made) > 2 and all(LOOPS in call.src[0].src[0].arg.applied_opts for call in made[:-1])
    found = MOVED[name]().numpy()
    with cpu.plain():
        assert len(kernels(MOVED[name]())) == 1
        np.testing.assert_array_equal(found, MOVED[name]().numpy())


@pytest.mark.parametrize(
    ("of", "steps"),
    [
        (lambda x: x.sum(0) + x.max(1), 2),
        (lambda x: x.sum(0) * x.abs().sum(0) - x.sum(1), 3),
        (lambda x: x.sum(1) * x.max(1), 1),
    ],
)
def test_columns_next_to_other_reductions(of: Callable[[Tensor], Tensor], steps: int) -> None:
    """`x.logsumexp(0) + x.logsumexp(1)` goes down the columns and along the rows in one kernel."""
    x = whole(300, 300)
    assert len(kernels(of(x))) == steps
    found = of(x).numpy()
    with cpu.plain():
        np.testing.assert_array_equal(found, of(x).numpy())


@pytest.mark.parametrize("name", OTHERS)
def test_other_reductions_stay_one_kernel(name: str) -> None:
    assert len(kernels(OTHERS[name]())) == 1


def test_sum_is_fused_with_addition() -> None:
    t = V.clone().realize()
    before, add = t.numpy(), X.numpy().sum(0)
    t.assign(t + X.sum(0))
    np.testing.assert_array_equal(t.numpy(), before + add)
    np.testing.assert_array_equal(jit(lambda x, t: t + x.sum(0))(X, V).numpy(), V.numpy() + add)


def test_float16_sum_accumulates_in_float32() -> None:
    x = whole(1000, 300).cast(dtypes.float16).realize()
    np.testing.assert_array_equal(x.sum(0).numpy(), x.numpy().astype(np.float32).sum(0).astype(np.float16))


def test_sum_propagates_nan_and_infinity() -> None:
    a = np.ones((256, 300), np.float32)
    a[17, 3], a[100, 5], a[[3, 200], 7] = np.nan, np.inf, (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(Tensor(a).realize().sum(0).numpy(), a.sum(0))


@pytest.mark.parametrize(("rows", "dtype"), [(256, dtypes.float16), (400, dtypes.float32), (256, dtypes.float64)])
def test_maximum_ignores_nan(rows: int, dtype: DType) -> None:
    """Row maxima ignore NaN too. A NaN in the first row of a group must not become the maximum of the group."""
    a = rng.integers(-99, 99, (rows, 300)).astype(np.float32)
    a[0, 0] = a[16, 1] = a[-1, 2] = a[::8, 3] = a[1:, 4] = np.nan
    a[3, 5], a[4, 6], a[:, 7], a[:, 8] = np.inf, -np.inf, -np.inf, -0.0
    x = Tensor(a).cast(dtype).realize()
    assert len(kernels(x.max(0))) == 2
    np.testing.assert_array_equal(x.max(0).numpy(), np.fmax.reduce(a))
    np.testing.assert_array_equal(x.min(0).numpy(), np.fmin.reduce(a))
    assert np.signbit(x.max(0).numpy()[8])
    assert Tensor(np.full((rows, 300), np.nan)).cast(dtype).max(0).numpy().max() == -np.inf


def test_product_propagates_nan() -> None:
    a = np.ones((256, 300), np.float32)
    a[17, 3], a[100, 5], a[[3, 200], 7], a[9, 8] = np.nan, np.inf, (np.inf, 0), -0.0
    with np.errstate(invalid="ignore"):
        want = a.prod(0)
    found = Tensor(a).realize().prod(0).numpy()
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found[8]), np.signbit(want[8]))


def test_chunks_with_sum_inside_each_example() -> None:
    xs = whole(1000, 64)
    f = lambda x: (x.reshape(64, 1) * x).contiguous().sin().sum(0)  # noqa: E731
    np.testing.assert_allclose(vmap(f, chunk_size=250)(xs).numpy(), vmap(f)(xs).numpy(), atol=1e-4)


def test_an_exp_is_dear_and_may_be_of_elements_that_all_columns_share() -> None:
    x, y = FEW[:64, :64].contiguous().realize(), V[:64].contiguous().realize()
    functions: tuple[Callable[[], Tensor], ...] = (
        lambda: (x / 9).exp().sum(0),
        lambda: ((y.unsqueeze(1) - x) / 9).exp().sum(0),
    )
    for of in functions:
        assert len(kernels(of())) == 2
        found = of().numpy()
        with cpu.plain():
            np.testing.assert_allclose(found, of().numpy(), rtol=1e-5)
