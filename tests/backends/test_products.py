"""Matrix products by BLAS: which kernels use it, and that the results match numpy.

The tests count products and kernels, and measure no times.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit, dtypes
from tinygrad.uop.ops import Ops

from branded import grad, jit, jvp, scan, vmap, while_loop
from branded.backends.cpu.gemm import blas, cost, match, recipe
from branded.backends.cpu.gemm.padding import padding_of
from branded.backends.cpu.runtime import native
from branded.tinygrad_compat import private_api
from tests.fuzz.products_fuzz import Program, always, found
from tests.support.examples import in_memory
from tests.support.profiles import amount

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]

R = np.random.default_rng(0)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return R.standard_normal(shape).astype(dtype)


def tensors(*xs: Any) -> list[Tensor]:
    return [in_memory(x) for x in xs]


def execute(t: Tensor) -> tuple[list[blas.Product], list[Any], Any]:
    """Return the products and the kernels of a value, and the value."""
    linear, values = t.linear_with_vars()
    kernels = [call for call in linear.src if call.src[0].op is Ops.SINK]
    private_api.run_linear(linear, values)
    return found(linear), kernels, t.numpy()


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * max(np.abs(want).max(), 1))


A, B = array(48, 32), array(32, 40)
AS, BS = array(6, 48, 32), array(6, 32, 40)

FORMS: list[tuple[str, Callable[..., Tensor], Callable[..., Any], list[Any], tuple[int, ...], tuple[int, ...]]] = [
    ("matmul", lambda a, b: a @ b, np.matmul, [A, B], (48, 40, 32), ()),
    ("left transposed", lambda a, b: a.T @ b, lambda a, b: a.T @ b, [A.T.copy(), B], (48, 40, 32), ()),
    ("right transposed", lambda a, b: a @ b.T, lambda a, b: a @ b.T, [array(96, 64), array(80, 64)], (96, 80, 64), ()),
    ("result transposed", lambda a, b: (a @ b).T.contiguous(), lambda a, b: (a @ b).T, [A, B], (40, 48, 32), ()),
    ("batched", lambda a, b: a @ b, np.matmul, [AS, BS], (48, 40, 32), (6,)),
    ("batch in rows", lambda a, b: a @ b, np.matmul, [AS, B], (6 * 48, 40, 32), ()),
    ("part", lambda a, b: a[8:, 4:20] @ b[4:20], lambda a, b: a[8:, 4:20] @ b[4:20], [A, B], (40, 40, 16), ()),
    ("matvec of columns", lambda a, x: a.T @ x, lambda a, x: a.T @ x, [array(96, 128), array(96)], (128, 1, 96), ()),
    (
        "vmapped matvec with shared weights",
        lambda w, xs: vmap(lambda x: w @ x)(xs),
        lambda w, xs: xs @ w.T,
        [array(96, 64), array(50, 64)],
        (50, 96, 64),
        (),
    ),
    (
        "vmapped matmul",
        lambda a, b: vmap(lambda a, b: a @ b)(a, b),
        np.matmul,
        [AS, BS],
        (48, 40, 32),
        (6,),
    ),
    (
        "sums over two axes",
        lambda a, b: Tensor.einsum("aik,akj->ij", a, b),
        lambda a, b: np.einsum("aik,akj->ij", a, b),
        [AS, BS],
        (48, 40, 32),
        (6,),
    ),
    ("doubles", lambda a, b: a @ b, np.matmul, [A.astype(np.float64), B.astype(np.float64)], (48, 40, 32), ()),
]


@pytest.mark.parametrize(("f", "want", "args", "sizes", "around"), [c[1:] for c in FORMS], ids=[c[0] for c in FORMS])
def test_form_is_one_product_and_no_kernel(
    f: Callable[..., Tensor], want: Callable[..., Any], args: list[Any], sizes: Any, around: Any
) -> None:
    made, kernels, got = execute(f(*tensors(*args)))
    assert [(p.m, p.n, p.k) for p in made] in ([sizes], [(sizes[1], sizes[0], sizes[2])])
    assert tuple(loop.size for loop in made[0].loops) == around
    assert not kernels
    close(got, want(*args))


@pytest.mark.parametrize("which", [0, 1])
def test_flipped_operand_is_copied_for_product(which: int) -> None:
    a, b = (x.flip(0) if i == which else x for i, x in enumerate(tensors(AS, BS)))
    made, kernels, got = execute(a @ b)
    assert (len(made), len(kernels)) == (1, 1)
    close(got, AS[::-1] @ BS if which == 0 else AS @ BS[::-1])


def test_elementwise_kernel_follows_product() -> None:
    made, kernels, got = execute((tensors(A)[0] @ tensors(B)[0] + 1).relu())
    assert (len(made), len(kernels)) == (1, 1)
    close(got, np.maximum(A @ B + 1, 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "products"), [(32, 0), (48, 1), (64, 1)])
def test_matvec_followed_by_tanh(n: int, products: int, dtype: Any) -> None:
    """An RNN step with a row as its state. Long columns use BLAS; short columns are unrolled in the kernel."""
    h, w = array(n).astype(dtype), array(n, n).astype(dtype)
    made, kernels, got = execute((lambda h, w: (h @ w + h).tanh())(*tensors(h, w)))
    assert (len(made), len(kernels)) == (products, 1)
    close(got, np.tanh(h @ w + h))


def test_scale_factor_is_part_of_product() -> None:
    a, b = array(64, 300), array(300, 48)
    made, kernels, got = execute(tensors(a)[0] @ tensors(b)[0] / 8)
    assert [p.alpha for p in made] == [0.125]
    assert not kernels
    close(got, a @ b / 8)
    made, kernels, got = execute((tensors(a)[0] @ tensors(b)[0] * 3 + 1).relu())
    assert ([p.alpha for p in made], len(kernels)) == ([3.0], 1)
    close(got, np.maximum(a @ b * 3 + 1, 0))
    x = tensors(a)[0] @ tensors(b)[0]
    made, kernels, got = execute(x * 3 + x)
    close(got, a @ b * 4)


def test_zero_times_product_with_nan_is_nan() -> None:
    a = A.copy()
    a[3, 4] = np.nan
    (ta, tb) = tensors(a, B)
    got = ((ta @ tb) * 0.0).numpy()
    with Context(BRANDED_CPU=0):
        want = ((ta @ tb) * 0.0).numpy()
    np.testing.assert_array_equal(got, want)


def test_computed_operand_is_stored_once() -> None:
    made, kernels, got = execute(tensors(A)[0].exp() @ tensors(B)[0])
    assert (len(made), len(kernels)) == (1, 1)
    close(got, np.exp(A) @ B)


def test_operand_scale_is_part_of_product() -> None:
    x, y, b = array(96, 96), array(96, 96), array(96, 96)
    products, kernels, got = execute((lambda x, y, b: (0.5 * x * (1 + y)) @ b)(*tensors(x, y, b)))
    assert len(products) == 1 and len(kernels) == 1
    close(got, (0.5 * x * (1 + y)) @ b)


def test_convolution_is_product_of_windows() -> None:
    x, w = array(4, 8, 20, 20), array(16, 8, 3, 3)
    f = lambda x, w: x.conv2d(w, padding=1)  # noqa: E731
    made, _, got = execute(f(*tensors(x, w)))
    with Context(BRANDED_CPU=0):
        none, _, want = execute(f(*tensors(x, w)))
    assert (len(made), len(none)) == (1, 0)
    assert not made[0].b_is_transposed  # the windows are laid out like the images
    close(got, want)


def test_windows_are_laid_out_if_product_pays() -> None:
    x, w = tensors(array(32, 8, 16, 16), array(8, 8, 3, 3))
    assert execute(x.conv2d(w))[0]
    x, w = tensors(array(32, 1, 16, 16), array(2, 1, 2, 2))
    assert not execute(x.conv2d(w))[0]


def _convolved(x: np.ndarray, w: np.ndarray, stride: int, padding: int, dilation: int) -> tuple[np.ndarray, ...]:
    """Return a convolution and the gradients of half its squared sum, computed offset by offset."""
    inside = slice(padding, -padding or None)
    p = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2)).astype(np.float64)
    n, m = ((s - dilation * (w.shape[-1] - 1) - 1) // stride + 1 for s in p.shape[2:])
    places = [
        (i, j, np.s_[:, :, i * dilation :: stride, j * dilation :: stride])
        for i in range(w.shape[2])
        for j in range(w.shape[3])
    ]
    out = sum(np.einsum("bcyx,oc->boyx", p[at][:, :, :n, :m], w[:, :, i, j]) for i, j, at in places)
    dx, dw = np.zeros_like(p), np.zeros(w.shape)
    for i, j, at in places:
        dx[at][:, :, :n, :m] += np.einsum("boyx,oc->bcyx", out, w[:, :, i, j])
        dw[:, :, i, j] = np.einsum("boyx,bcyx->oc", out, p[at][:, :, :n, :m])
    return out, dx[:, :, inside, inside], dw


WINDOWS = [
    (1, 0, 1, 3),
    (1, 1, 1, 3),
    (1, 2, 2, 3),
    (2, 0, 1, 3),
    (2, 1, 1, 5),
    (2, 0, 1, 2),
    (3, 1, 2, 3),
    (3, 0, 1, 2),
]
FEW = [(1, 0, 1, 3), (1, 2, 2, 3), (2, 0, 1, 2), (3, 1, 2, 3)]
"""Each stride, padding and dilation."""


@pytest.mark.parametrize(("stride", "padding", "dilation", "k"), amount(FEW, WINDOWS))
def test_gradients_of_convolutions(stride: int, padding: int, dilation: int, k: int) -> None:
    x, w = array(3, 2, 13, 16), array(5, 2, k, k)
    out, dx, dw = _convolved(x, w, stride, padding, dilation)

    def loss(x: Tensor, w: Tensor) -> Tensor:
        return x.conv2d(w, stride=stride, padding=padding, dilation=dilation).square().sum() / 2

    xs, ws = tensors(x, w)
    close(xs.conv2d(ws, stride=stride, padding=padding, dilation=dilation).numpy(), out)
    for got, expected in zip(grad(loss, argnums=(0, 1))(xs, ws), (dx, dw), strict=True):
        close(got.numpy(), expected)
    each = vmap(grad(lambda x, w: loss(x.unsqueeze(0), w)), in_axes=(0, None))(xs, ws)
    close(each.numpy(), dx)


def test_gradient_of_windows_is_one_product() -> None:
    """The cotangents of all windows are stored; each index sums over its windows."""
    x, w, g = array(2, 8, 16, 16), array(8, 8, 3, 3), array(2, 8, 14, 14)
    made, kernels, got = execute(grad(lambda x, w, g: (x.conv2d(w) * g).sum())(*tensors(x, w, g)))
    assert (len(made), len(kernels)) == (1, 1)
    want = np.zeros(x.shape)
    for i in range(3):
        for j in range(3):
            want[:, :, i : i + 14, j : j + 14] += np.einsum("boyx,oc->bcyx", g, w[:, :, i, j])
    close(got, want)


@pytest.mark.parametrize(("stride", "padding", "size"), [(1, 1, 3), (2, 1, 3), (2, 2, 5)])
def test_array_is_padded_before_windows_are_read(
    stride: int, padding: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel pads, and a product reads the windows."""
    match.recipe.cache_clear()  # another test may have the same kernel
    paddings: list[Any] = []
    monkeypatch.setattr(recipe, "padding_of", lambda u: paddings.append(padding_of(u)) or paddings[-1])
    x, w = array(4, 16, 32, 32), array(32, 16, size, size)
    made, kernels, got = execute(tensors(x)[0].conv2d(tensors(w)[0], stride=stride, padding=padding))
    assert len(made) == 1 and len(kernels) <= stride  # steps of 2 may need a copy of the windows
    assert any(paddings)
    close(got, _convolved(x, w, stride, padding, 1)[0])


def test_windows_of_a_concatenation_are_products() -> None:
    """The padded array has the index of the part outermost, so that the windows are read in order."""
    x, y, w = array(4, 16, 32, 32), array(4, 16, 32, 32), array(3, 32, 3, 3)

    def loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return x.cat(y, dim=1).conv2d(w, padding=1).square().sum() / 2

    made, _, got = execute(grad(loss)(*tensors(w, x, y)))
    assert [(p.m, p.n, p.k) for p in made] == [(3, 4096, 288), (3, 288, 1024)]
    close(got, _convolved(np.concatenate([x, y], 1), w, 1, 1, 1)[2])


@pytest.mark.parametrize("is_mapped", [False, True])
def test_tangent_of_product_is_two_products(is_mapped: bool) -> None:
    x, w, dx, dw = (array(*shape) for shape in ((64, 48), (48, 56), (64, 48), (48, 56)))
    f = vmap(lambda x, w: x @ w, in_axes=(0, None)) if is_mapped else Tensor.matmul
    _, tangent = jvp(f, tuple(tensors(x, w)), tuple(tensors(dx, dw)))
    products, _, got = execute(tangent)
    assert len(products) == 2
    close(got, dx @ w + x @ dw)


def test_per_example_gradients_are_products() -> None:
    """A linear layer on sequences needs one product forward and one for the weight gradients of all examples."""
    w, xs = array(32, 24), array(8, 20, 32)
    made, _, got = execute(vmap(grad(lambda w, x: (x @ w).square().sum()), in_axes=(None, 0))(*tensors(w, xs)))
    assert len(made) == 2
    close(got, np.einsum("bti,btj->bij", xs, 2 * (xs @ w)))


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda a, b: (a * b).sum(), [A, A]),
        (lambda a, b: a @ b, [array(4, 4), array(4, 4)]),
        (lambda a, x: a @ x, [array(128, 96), array(96)]),
        (lambda a, x: a @ x, [array(30, 40, 50), array(30, 50, 1)]),
        (lambda a, b: a @ b, [(A * 10).astype(np.int32), (B * 10).astype(np.int32)]),
        (lambda a, b: a.half() @ b.half(), [array(4, 4), array(4, 4)]),
        (lambda a, b: a.reshape(48, 1, 32) * b.reshape(1, 48, 32), [A, A]),
        (lambda a, b: (a.reshape(48, 1, 32) - b.reshape(1, 48, 32)).square().sum(2), [A, A]),
        (lambda a, b: (a.reshape(48, 1, 32) * b.reshape(1, 48, 32)).max(2), [A, A]),
        (lambda a, b: (a * 2).sum(1) + b.sum(), [A, B]),
    ],
    ids=["dot", "small", "matvec", "batched matvec", "integers", "half", "outer", "distances", "max", "sums"],
)
def test_other_kernels_are_not_products(f: Callable[..., Tensor], args: list[Any]) -> None:
    made, kernels, _ = execute(f(*tensors(*args)))
    assert not made
    assert kernels


def test_products_can_be_switched_off() -> None:
    with Context(BRANDED_CPU=0):
        assert not execute(tensors(A)[0] @ tensors(B)[0])[0]
    assert execute(tensors(A)[0] @ tensors(B)[0])[0]


def test_without_blas_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "library", lambda: None)
    made, kernels, got = execute(tensors(A)[0] @ tensors(B)[0])
    assert (len(made), len(kernels)) == (0, 1)
    close(got, A @ B)


# ---- memory ----


def test_assign_to_operand() -> None:
    x = array(40, 40)
    (t,) = tensors(x)
    t.assign(t @ t).realize()
    close(t.numpy(), x @ x)
    t.assign(t + t @ t).realize()
    close(t.numpy(), x @ x + x @ x @ x @ x)


def test_donated_weight_is_written_in_place() -> None:
    """The product needs another buffer if its result replaces a weight that is read."""
    w, x, y = array(40, 24), array(30, 40), array(30, 24)
    update = lambda w, x, y: w - 0.1 * (x.T @ y)  # noqa: E731
    f = jit(update, donate_argnums=0)
    for _ in range(3):
        (tw, tx, ty) = tensors(w, x, y)
        at = tw.uop.base.buffer._buf.va_addr  # type: ignore[union-attr]
        got = f(tw, tx, ty)
        assert got.uop.base.buffer._buf.va_addr == at  # type: ignore[union-attr]
        close(got.numpy(), w - 0.1 * (x.T @ y))
    assert len(execute(update(*tensors(w, x, y)))[0]) == 1


def test_old_result_buffer_does_not_matter() -> None:
    for a, b in ((A, B), (array(128, 96), array(96))):
        (to,) = tensors(np.full((a @ b).shape, np.nan, np.float32))
        to.assign(tensors(a)[0] @ tensors(b)[0]).realize()
        close(to.numpy(), a @ b)


def test_nan_and_infinity_propagate() -> None:
    a, b = A.copy(), B.copy()
    a[3, 4], a[5, 6], b[6, 7], a[9, 0], b[1] = np.nan, np.inf, 0, -np.inf, 0
    with np.errstate(invalid="ignore"):
        want = a @ b
    made, _, got = execute(tensors(a)[0] @ tensors(b)[0])
    assert made
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))


# ---- compiled functions and loops ----


@pytest.fixture
def from_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[blas.Product]]:
    """Record the products that are laid out for C; a product run from Python fails the test."""
    laid_out: list[blas.Product] = []
    kernel = blas.kernel

    def noted(call: Any, *args: Any) -> native.KernelCall:
        laid_out.append(call.src[0].arg.product)
        return kernel(call, *args)

    monkeypatch.setattr(blas, "kernel", noted)
    monkeypatch.setattr(blas, "run", lambda *args: pytest.fail("a product was done by Python"))
    yield laid_out


def test_product_in_jit(from_c: list[blas.Product]) -> None:
    f = jit(lambda a, b: (a @ b).relu())
    for _ in range(3):
        a = array(48, 32)
        close(f(*tensors(a, B)).numpy(), np.maximum(a @ B, 0))
    assert len(from_c) == 1


def test_product_is_computed_before_its_merged_axes_are_padded(from_c: list[blas.Product]) -> None:
    a, b = array(8, 48, 64), array(8, 64, 32)
    got = jit(lambda x, y: Tensor.cat((x @ y).reshape(384, 32), Tensor.ones(1, 32)))(*tensors(a, b))
    assert len(from_c) == 1
    close(got.numpy(), np.concatenate([(a @ b).reshape(384, 32), np.ones((1, 32))]))


def test_product_in_tinyjit() -> None:
    f = TinyJit(lambda a, b: (a @ b).relu().realize())
    for _ in range(4):
        a = array(48, 32)
        close(f(*tensors(a, B)).numpy(), np.maximum(a @ B, 0))


def test_product_in_scan(from_c: list[blas.Product]) -> None:
    w, xs = array(32, 32) * np.float32(0.2), array(7, 12, 32)
    hs, h = [], np.zeros((12, 32), np.float32)
    for x in xs:
        h = np.tanh(h @ w + x)
        hs.append(h)
    (tw, txs) = tensors(w, xs)

    def step(h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        h = (h @ tw + x).tanh()
        return h, h

    close(scan(step, Tensor.zeros(12, 32), txs)[1].numpy(), np.stack(hs))
    close(jit(lambda xs: scan(step, Tensor.zeros(12, 32), xs)[1])(txs).numpy(), np.stack(hs))
    each = vmap(lambda xs: scan(step, Tensor.zeros(32), xs)[1], in_axes=1, out_axes=1)(txs)
    close(each.numpy(), np.stack(hs))
    assert len(from_c) == 3


def test_each_step_has_its_own_operand(from_c: list[blas.Product]) -> None:
    ws, x = array(9, 40, 40) * np.float32(0.2), array(40, 24)
    want = x
    for w in ws:
        want = w @ want
    for reverse in (False, True):
        (tws, tx) = tensors(ws[::-1].copy() if reverse else ws, x)
        got = scan(lambda c, w: (w @ c, None), tx, tws, reverse=reverse)[0]
        close(got.numpy(), want)
    assert {p.a.by_variable + p.b.by_variable for p in from_c} == {40 * 40}


def test_product_in_while_loop(from_c: list[blas.Product]) -> None:
    w, x = array(40, 40) * np.float32(0.1), array(40, 24)
    (tw, tx) = tensors(w, x)
    got = while_loop(lambda c: c.square().sum() > 1e-3, lambda c: tw @ c, tx).numpy()
    want = x
    while np.square(want).sum() > 1e-3:
        want = w @ want
    close(got, want)
    assert from_c


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda a, b: a @ b, [array(300, 200), array(200, 150)]),
        (lambda a, b: a @ b, [array(150, 200), array(200, 300)]),
        (lambda a, b: a @ b, [array(7, 90, 80), array(7, 80, 100)]),
        (lambda a, x: a.T @ x, [array(2100, 2000), array(2100)]),
        (lambda a, x: a.T @ x, [array(2000, 2100), array(2000)]),
        (lambda a, b: a.T @ b.T, [array(200, 300), array(150, 200)]),
    ],
    ids=["rows", "columns", "batch", "long vector", "vector of columns", "transposed"],
)
def test_large_product_is_split_over_threads(
    f: Callable[..., Any], args: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas, "_WORTH", 1 << 20)
    made, _, got = execute(f(*tensors(*args)))
    threads, where = blas._shared(made[0])
    if os.cpu_count() != 1:
        assert threads >> 8 > 1 or not where
    np.testing.assert_allclose(got, f(*args), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("way", ["late", "never"])
def test_caller_does_not_wait_for_late_threads(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller runs all parts; a thread that starts later finds none left."""
    address, kept, _ = blas._system()
    if not address:
        pytest.skip("there are no threads here")
    begun: list[tuple[int, int]] = []

    def create(thread: int, attributes: int, f: int, job: int) -> int:
        begun.append((f, job))
        return int(way == "never")

    number, function = ctypes.c_uint64, ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint64] * 4)
    mine, nothing = function(create), ctypes.CFUNCTYPE(ctypes.c_int, number)(lambda thread: 0)
    where = [ctypes.cast(f, ctypes.c_void_p).value for f in (mine, nothing)]
    table = (number * len(kept))(kept[0], *where, *kept[3:])
    monkeypatch.setattr(blas, "_system", lambda: (ctypes.addressof(table), table, 3))
    monkeypatch.setattr(blas, "_WORTH", 1 << 20)
    a, b = array(300, 200), array(200, 150)
    made, _, got = execute(tensors(a)[0] @ tensors(b)[0])
    assert blas._shared(made[0])[0] >> 8 == 3
    close(got, a @ b)
    assert len(begun) == 2
    if way == "late":
        for f, job in begun:
            ctypes.CFUNCTYPE(ctypes.c_void_p, number)(f)(job)
        close(got, a @ b)


def test_openblas_thread_count_is_restored() -> None:
    library: Any = blas.library()
    before = library.scipy_openblas_get_num_threads64_()
    x = array(300, 300)
    execute(tensors(x)[0] @ tensors(x)[0])
    assert library.scipy_openblas_get_num_threads64_() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_after_a_fork() -> None:
    """A forked child has none of the parent's threads."""
    x = array(300, 300)
    (t,) = tensors(x)
    f = jit(lambda t: t @ t)
    close(f(t).numpy(), x @ x)
    if (child := os.fork()) == 0:
        ok = False
        try:
            ok = np.allclose(f(t).numpy(), x @ x, atol=1e-2)
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    close(f(t).numpy(), x @ x)


# ---- random programs ----


def test_random_programs() -> None:
    with always():
        ran = [(seed, *Program(seed).run()) for seed in range(amount(12, 30))]
    with always(parted=True):
        ran += [(seed, *Program(seed).run()) for seed in range(30, amount(42, 60))]
    assert not [(seed, wrong) for seed, _, wrong in ran if wrong]
    assert sum(n > 0 for _, n, _ in ran) >= len(ran) / 3


def test_fuzz_detects_a_wrong_product(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = blas.Product.numbers
    monkeypatch.setattr(blas.Product, "numbers", lambda p: numbers(p._replace(alpha=p.alpha * 1.001)))
    with always():
        assert any(Program(seed).run()[1] for seed in range(10))


def test_product_can_be_pickled() -> None:
    import pickle

    (p,) = execute(tensors(A)[0] @ tensors(B)[0])[0]
    name = blas.ProductName(p)
    assert pickle.loads(pickle.dumps(name)).product == p
    assert p.dtype == dtypes.float32


# ---- operations after sums in loops ----


@pytest.mark.parametrize(
    ("f", "kernels"),
    [
        (lambda w, x, y: (w @ x + y).tanh(), 2),
        (lambda w, x, y: (w @ x + y).relu(), 1),
        (lambda w, x, y: w @ x, 1),
    ],
)
def test_slow_operation_runs_after_the_sums(f: Callable[..., Tensor], kernels: int) -> None:
    w, x, y = array(96, 80) / 9, array(80), array(96)
    products, made, got = execute(f(*tensors(w, x, y)))
    assert (len(products), len(made)) == (0, kernels)
    wants = np.tanh(w @ x + y), np.maximum(w @ x + y, 0), w @ x
    assert min(np.abs(got - want).max() for want in wants) < 1e-5


def test_few_sums_and_tanh_are_one_kernel() -> None:
    w, x = tensors(array(8, 80), array(80))
    assert len(execute((w @ x).tanh())[1]) == 1


def test_split_sum_may_overwrite_its_operand() -> None:
    w, h = array(96, 96) / 9, array(96)
    t = Tensor(h).realize()
    t.assign((Tensor(w).realize() @ t).tanh()).realize()
    close(t.numpy(), np.tanh(w @ h))
    steps = scan(lambda h, _: ((Tensor(w) @ h).tanh(), h), Tensor(h), None, length=3)
    want = [h, np.tanh(w @ h), np.tanh(w @ np.tanh(w @ h))]
    close(steps[1].numpy(), np.stack(want))


# ---- float16 and bfloat16 ----


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16], ids=["half", "bfloat16"])
def test_float16_products_accumulate_in_float32(dtype: Any) -> None:
    """Only the final sum is rounded."""
    a, b = (Tensor(array(48, 48)).cast(dtype).realize() for _ in range(2))
    right = a.float().numpy() @ b.float().numpy()
    unit = 2.0 ** (-10 if dtype == dtypes.float16 else -7)
    rounded = Tensor(right).cast(dtype).realize().float().numpy()
    for y in (a @ b, vmap(Tensor.matmul)(a.unsqueeze(0), b.unsqueeze(0))[0], jit(Tensor.matmul)(a, b)):
        assert y.dtype == dtype
        np.testing.assert_allclose(y.contiguous().realize().float().numpy(), rounded, rtol=unit, atol=unit)
    (p,), *_ = execute((a @ b).contiguous())
    assert (p.m, p.n, p.k, p.dtype) == (48, 48, 48, dtypes.float32)


def test_kernel_of_many_products_limits_arguments() -> None:
    """Each product computed before the kernel is one more argument of the kernel."""
    rows = np.random.RandomState(0).randn(20, 3).astype(np.float32)
    by = np.array([0.3, 0.2, 0.1], np.float32)
    ts, c, out = [Tensor(x).realize() for x in rows], Tensor(by).realize(), Tensor(0.0)
    for k in range(80):
        out = out + ((ts[k % 20] * (1 + k // 20)).sin() * c).sum().sin()
    wanted = sum(np.sin((np.sin(rows[k % 20] * (1 + k // 20)) * by).sum()) for k in range(80))
    np.testing.assert_allclose((out * Tensor([1.0, 2.0])).numpy(), [wanted, 2 * wanted], rtol=1e-5)


def test_scalar_factor_is_multiplied_after_product() -> None:
    """In the body of a loop, constants are values in memory."""
    a, x, s = tensors(array(96, 64), array(96), array(1))
    products, kernels, value = execute(a.T @ (x * s.reshape(())))
    assert (len(products), len(kernels)) == (1, 1)
    close(value, a.numpy().T @ (x.numpy() * s.numpy()))


@pytest.mark.parametrize(("m", "k", "n"), [(64, 96, 48), (61, 97, 43)])
def test_product_within_sum_of_all_elements(m: int, k: int, n: int) -> None:
    a, b, c = tensors(array(m, k), array(k, n), array(m, n))
    products, _, value = execute(((a @ b - c) * c).sum())
    assert len(products) == 1
    close(value, ((a.numpy() @ b.numpy() - c.numpy()) * c.numpy()).sum())


@pytest.mark.parametrize(("batch", "m", "n"), [(8, 64, 64), (5, 61, 53)])
def test_sum_of_three_factors_down_columns_is_product(batch: int, m: int, n: int) -> None:
    a, x, y = tensors(array(batch, m, n), array(batch, m), array(batch, m))
    products, _, value = execute(vmap(lambda a, x, y: 1 / ((x * y) @ a).square().add(1))(a, x, y))
    assert len(products) == 1
    want = np.einsum("bm,bm,bmn->bn", x.numpy(), y.numpy(), a.numpy())
    close(value, 1 / (want**2 + 1))


def test_few_columns_of_selected_rows_stay_in_kernel() -> None:
    """A kernel sums few adjacent columns together, so a precomputed operand costs more than it saves."""
    index, x = tensors(np.arange(4 * 300, dtype=np.int32).reshape(4, 300) * 7 % 3, array(300, 2))
    products, kernels, value = execute(vmap(lambda i: i.one_hot(3).float().T @ x)(index))
    assert (len(products), len(kernels)) == (0, 1)
    close(value, np.eye(3, dtype=np.float32)[index.numpy()].transpose(0, 2, 1) @ x.numpy())


def test_few_columns_of_stacked_sums_are_products() -> None:
    """The innermost loop of the kernel is the new axis, so the sums do not share their loop over columns."""
    xs, ys = tensors(*(array(251, 32) for _ in range(3))), tensors(*(array(251, 8) for _ in range(3)))
    products, _, value = execute(Tensor.stack(*((x > 0).where(x, 0).T @ y for x, y in zip(xs, ys, strict=True)), dim=2))
    assert len(products) == 3
    want = [np.maximum(x.numpy(), 0).T @ y.numpy() for x, y in zip(xs, ys, strict=True)]
    close(value, np.stack(want, 2))


@pytest.mark.parametrize(
    ("count", "dtype", "product"),
    [
        (1024, np.int8, dtypes.float32),  # the largest sum is 2 ** 24
        (1025, np.int8, dtypes.float64),
        (64, np.uint8, dtypes.float32),
        (300, np.uint8, dtypes.float64),
        (64, np.int32, None),
    ],
)
def test_ints_in_exact_floats(count: int, dtype: Any, product: Any) -> None:
    limits = np.iinfo(dtype)
    a = R.choice([limits.min, limits.max], (64, count)).astype(dtype)
    b = R.choice([limits.min, limits.max], (count, 48)).astype(dtype)
    a[0] = b[:, 0] = limits.min or limits.max  # the largest sum
    x, y = tensors(a, b)
    products, _, values = execute(vmap(lambda r: r.cast("int32") @ y.cast("int32"))(x))
    assert [p.dtype for p in products] == ([] if product is None else [product])
    np.testing.assert_array_equal(values, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("sizes", [(4, 4, 2), (8, 60, 5), (30, 40, 20), (48, 40, 32), (300, 1, 50), (2000, 3, 64)])
def test_skipped_plans_would_not_use_blas(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    m, n, k = sizes
    plan, skipped = recipe.plan, 0

    def checked(*args: Any) -> Any:
        nonlocal skipped
        found = plan(*args)
        with monkeypatch.context() as here:
            here.setattr(cost, "_max_saving", lambda *_: np.inf)
            assert plan(*args) == found
        skipped += found is None
        return found

    monkeypatch.setattr(recipe, "plan", checked)
    match.recipe.cache_clear()
    for a, b in ((array(m, k), array(k, n)), (array(k, m).T, array(n, k).T)):
        x, y = tensors(a, b)
        for out in (x @ y, (x @ y).exp(), (x.exp() @ y), x.pad(((0, 0), (1, 1)))[:, 2:] @ y):
            execute(out)
    assert skipped or m * n * k >= 30 * 40 * 20
