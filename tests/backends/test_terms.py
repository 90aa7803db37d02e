"""Slow and gathered terms get a kernel of their own where clang does not vectorize the kernel that needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import Ops

from branded import jit, segment_sum, vmap
from branded.backends import cpu
from branded.backends.cpu.gemm import blas
from branded.tinygrad_compat import private_api
from tests.backends.test_cpu import is_loops, programs_of
from tests.fuzz.products_fuzz import found
from tests.support.examples import in_memory

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]
R = np.random.default_rng(0)


def array(*shape: int) -> Any:
    return in_memory(R.standard_normal(shape).astype(np.float32))


def ints(high: int, *shape: int) -> Any:
    return in_memory(R.integers(0, high, shape).astype(np.int32))


def kernels(t: Tensor) -> list[Any]:
    linear, values = t.linear_with_vars()
    private_api.run_linear(linear, values)
    return [call for call in linear.src if call.src[0].op is Ops.SINK]


def check(f: Callable[..., Tensor], *xs: Any) -> None:
    """Check that vmap equals the loop and tinygrad's own kernels."""
    got = jit(vmap(f))(*xs).numpy()
    with cpu.plain():
        want = np.stack([f(*(x[i] for x in xs)).numpy() for i in range(xs[0].shape[0])])
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5 * max(1.0, np.abs(want).max()))


SUMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "down columns": lambda x, i, j: (x[i, j] * (i > 3).where(2.0, j.float())).sum(0),
    "along rows": lambda x, i, j: (x[i, j] * (i > 3).where(2.0, j.float())).sum(1),
    "of all": lambda x, i, j: (x[i, j] - x[j, i]).sum(),
    "the largest": lambda x, i, j: (x[i, j] * j).max(0),
    "of an entry that is added": lambda x, i, j: (x[i, j].exp() + x[0, 0]).sum(0) + x[1, :1],
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("n", [17, 40])
def test_gathered_terms(name: str, n: int) -> None:
    check(SUMS[name], array(3, n, n), ints(n, 3, 53, 47), ints(n, 3, 53, 47))


def test_terms_gathered_down_columns_are_stored() -> None:
    x, i, j = array(40, 40), ints(40, 53, 47), ints(40, 53, 47)
    assert len(kernels((x[i, j] * j).sum(0))) > 1
    rows = ints(40, 300)  # each row is read contiguously
    assert len(kernels(x[rows].sum(0))) == 1


def test_slow_values_of_scatter() -> None:
    """A value that a scatter adds is computed in a kernel of its own if it is slow."""
    x, i = array(5, 700), ints(31, 5, 700)
    check(lambda x, i: segment_sum(x.sigmoid() - x, i, 31), x, i)
    check(lambda x, i: segment_sum((x.exp() + 1) / (x * x + 2), i, 31), x, i)
    shared = array(700)
    steps = [len(kernels(vmap(lambda i, f=f: segment_sum(f(shared), i, 31))(i))) for f in (Tensor.exp, Tensor.relu)]
    assert steps[0] == steps[1] + 1


def test_slow_operands_of_a_product() -> None:
    """A kernel would compute the few columns of the operand again for each row of the result."""
    a, b, c = array(256, 32), array(256, 8), array(256, 8)
    linear, values = (a.relu().T @ ((b.exp() + 1).log() * b.sin() - c)).linear_with_vars()
    private_api.run_linear(linear, values)
    assert len(found(linear)) == 1 or sum(call.src[0].op is Ops.SINK for call in linear.src) > 1
    masked = (b[:, :4].exp() + 1.0).pad(((0, 0), (0, 4))) + c
    want = np.maximum(a.numpy(), 0).T @ (np.pad(np.exp(b.numpy()[:, :4]) + 1, ((0, 0), (0, 4))) + c.numpy())
    np.testing.assert_allclose(jit(lambda a: a.relu().T @ masked)(a).numpy(), want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("b", [16, 19])
def test_slow_operations_on_distant_elements_are_plain_loops(b: int) -> None:
    x = array(b, 64)
    f = vmap(lambda x: vmap(lambda y: vmap(lambda z: ((y - z).sigmoid() + 1).log())(x))(x), out_axes=2)
    (program,) = programs_of(f(x).contiguous())
    assert is_loops(program)
    diff = x.numpy()[:, :, None] - x.numpy()[:, None]
    np.testing.assert_allclose(f(x).numpy(), np.log(1 / (1 + np.exp(-diff)) + 1).transpose(1, 2, 0), rtol=1e-5)
