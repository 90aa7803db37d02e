"""LAPACK called from C matches numpy for every matrix of a batch, and no Python runs."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes

from branded import jit, linalg, scan, vmap
from branded.backends.cpu.linalg import batches
from branded.backends.cpu.linalg import lapack as drivers
from branded.backends.cpu.runtime import cores, host_calls, native
from branded.backends.cpu.runtime.host_calls import ArrayType
from branded.errors import OutOfMemoryError
from branded.linalg import lapack
from tests.support.profiles import pairs

Arrays = list[np.ndarray[Any, Any]]
R = np.random.default_rng(0)

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(
        not native.can_run("CPU") or drivers._table(dtypes.float32) is None, reason="numpy has another LAPACK"
    ),
]


def normals(*shape: int) -> Any:
    return R.standard_normal(shape)


def by_c(kind: str, option: int, shapes: list[tuple[int, ...]], xs: Arrays) -> Arrays:
    """Return arrays of the given shapes, written by C."""
    dtype = dtypes.float32 if xs[0].dtype == np.float32 else dtypes.float64
    ys: Arrays = [np.full(shape, 7, xs[0].dtype) for shape in shapes]
    work = drivers.in_c(kind, option)
    assert work is not None
    found = work([ArrayType(y.shape, dtype) for y in ys], [ArrayType(x.shape, dtype) for x in xs])
    assert found is not None
    found.run("it", [x.ctypes.data for x in (*ys, *xs)])
    return ys


def compare(kind: str, f: Callable[..., Arrays], *xs: Any, option: int = 0) -> None:
    for dtype, places in ((np.float32, 1e-3), (np.float64, 1e-8)):
        given = [np.ascontiguousarray(x, dtype) for x in xs]
        wanted = f(*given)
        got = by_c(kind, option, [w.shape for w in wanted], given)
        for x, y in zip(got, wanted, strict=True):
            if kind in ("eigh", "svd"):  # signs depend on the last bits
                x, y = abs(x), abs(y)
            np.testing.assert_allclose(x, y, rtol=places, atol=places)


@pytest.mark.parametrize(("n", "batch"), pairs([1, 2, 5, 19, 40, 70], [(), (3,), (2, 3)]))
def test_drivers_match_numpy(n: int, batch: tuple[int, ...]) -> None:
    a, b = normals(*batch, n, n) / n**0.5 + 2 * np.eye(n), normals(*batch, n, 3)
    symmetric = a + a.swapaxes(-1, -2) + np.diag(np.arange(n))
    compare("cholesky", lapack.cholesky, a @ a.swapaxes(-1, -2))
    for right in (b, b[..., :1]):
        compare("solve", lapack.solve, a, right)
        for option in range(4):
            f = lapack.solve_triangular(bool(option & 1), bool(option & 2))
            compare("solve_triangular", f, a, right, option=option)
    compare("inv", lapack.inv, a)
    compare("det", lapack.det, a)
    compare("slogdet", lapack.slogdet, -a)
    compare("eigh", lapack.eigh, symmetric)
    compare("eigvalsh", lapack.eigvalsh, symmetric)
    for m in (n, n + 2):
        for x in (normals(*batch, m, n), normals(*batch, n, m)):
            compare("svdvals", lapack.svdvals, x)
            compare("qr", lapack.qr(False), x)
            compare("qr", lapack.qr(True), x)
            compare("svd", lapack.svd(False), x)
            u, s, vt = by_c("svd", 0, [y.shape for y in lapack.svd(True)(x)], [x])
            k = s.shape[-1]
            np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vt[..., :k, :], x, atol=1e-12)
            for q in (u, vt):
                np.testing.assert_allclose(
                    q @ q.swapaxes(-1, -2), np.broadcast_to(np.eye(q.shape[-1]), q.shape), atol=1e-12
                )


def test_operands_broadcast() -> None:
    well = 3 * np.eye(5)
    for first, second in (((2, 1), (3,)), ((3,), (2, 1)), ((), (2, 3)), ((2, 3), ()), ((2, 1, 3, 1), (4, 1, 2))):
        a, b = normals(*first, 5, 5) + well, normals(*second, 5, 2)
        compare("solve", lapack.solve, a, b)
        compare("solve_triangular", lapack.solve_triangular(True, False), a, b, option=1)


def test_failed_example_is_nan_alone() -> None:
    eye = np.eye(6)
    hole = np.diag([1.0, 2, 3, 0, 5, 6])
    bad = np.stack([eye, -eye, 0 * eye, eye * math.nan, hole, eye])
    for name in ("cholesky", "inv", "det", "slogdet", "eigvalsh", "svdvals", "eigh"):
        compare(name, getattr(lapack, name), bad)
    compare("solve", lapack.solve, bad, normals(6, 6, 2))
    compare("svd", lapack.svd(False), bad)


def test_determinant_with_partial_overflow() -> None:
    sizes = np.array([1e200, 1e200, 1e-200, 1e-200, 7.0])
    (found,) = by_c("det", 0, [(2,)], [np.stack([np.diag(sizes), np.diag(sizes[::-1])])])
    np.testing.assert_allclose(found, [7, 7])


def test_very_large_and_small_entries() -> None:
    x = normals(4, 3)
    for size in (1e-160, 1e160):  # their squares overflow or underflow
        q, r = by_c("qr", 0, [(4, 3), (3, 3)], [x * size])
        np.testing.assert_allclose(q @ (r / size), x, rtol=1e-9)
        np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-12)
    small = np.float32([[1e-40, 1], [1e-40, 3]])  # the reciprocal of the pivot overflows
    (found,) = by_c("det", 0, [()], [small])
    np.testing.assert_allclose(found, 2e-40, rtol=1e-4)


FORMS: list[tuple[str, Callable[..., Tensor]]] = [
    ("cholesky", lambda a, b: linalg.cholesky(a)),
    ("solve_triangular", lambda a, b: linalg.solve_triangular(a, b)),
    ("solve", linalg.solve),
    ("inv", lambda a, b: linalg.inv(a)),
    ("det", lambda a, b: linalg.det(a)),
    ("slogdet", lambda a, b: linalg.slogdet(a).logabsdet),
    ("qr", lambda a, b: linalg.qr(a).R),
    ("eigh", lambda a, b: linalg.eigh(a).eigenvalues),
    ("eigvalsh", lambda a, b: linalg.eigvalsh(a)),
    ("svd", lambda a, b: linalg.svd(a).S),
    ("svdvals", lambda a, b: linalg.svd(a, compute_uv=False)),
]


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: host_calls.HostName, memory: Any) -> None:
        raise AssertionError(f"{self} ran in Python")

    monkeypatch.setattr(host_calls.HostName, "run", fails)


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("f", [f for _, f in FORMS], ids=[name for name, _ in FORMS])
def test_no_python_runs(f: Callable[..., Tensor]) -> None:
    """This holds for a single call, in a compiled function, and in a loop."""
    x = normals(3, 5, 5)
    a, b = Tensor(x @ x.swapaxes(-1, -2) + np.eye(5)), Tensor(normals(3, 5))
    once = vmap(f)(a, b).numpy()
    compiled = jit(vmap(f))
    for _ in range(3):
        np.testing.assert_allclose(compiled(a, b).numpy(), once, rtol=1e-12)
    np.testing.assert_allclose(scan(lambda c, x: (c, f(*x)), Tensor(0.0), (a, b))[1].numpy(), once, rtol=1e-12)


@pytest.mark.parametrize("least", [1e-150, 1e-310, 1e-131])
@pytest.mark.parametrize("most", [1.0, 1e200, 1e-100])
def test_qr_of_entries_with_very_different_sizes(least: float, most: float) -> None:
    """The square of a column's first entry used to overflow if the entries below are tiny, and gave NaN."""
    a = np.array([[most, 0.5], [least, 1.0]])
    q, r = by_c("qr", 0, [(2, 2), (2, 2)], [a])
    wanted = np.linalg.qr(a)
    np.testing.assert_allclose(q, wanted[0], rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(r, wanted[1], rtol=1e-12)


def test_numpy_is_used_if_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "_table", drivers._table.__wrapped__)
    work, x = drivers.in_c("inv"), ArrayType((7, 7), dtypes.float32)
    assert work is not None and work([x], [x]) is not None
    monkeypatch.setenv("BRANDED_LAPACK", "0")
    assert work([x], [x]) is None
    a = normals(7, 7)
    np.testing.assert_array_equal(linalg.inv(Tensor(a)).numpy(), np.linalg.inv(a))


def test_qr_signs_match_lapack_for_leading_zero() -> None:
    for first in (0.0, -0.0):
        a = np.array([[first, 2.0], [3.0, 4.0]])
        np.testing.assert_allclose(by_c("qr", 0, [(2, 2), (2, 2)], [a])[1], np.linalg.qr(a)[1], rtol=1e-12)


kept: list[Any] = []


@pytest.mark.parametrize("kind", [k for k in drivers.KINDS if k not in ("cholesky", "solve_triangular")])
def test_failed_allocation_raises_an_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C used to continue with a null pointer, which crashed the process."""
    table = drivers._table(dtypes.float32)
    none = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)(lambda size: None)
    given = (ctypes.c_uint64 * len(table))(*table)
    kept.append((given, none))  # programs are cached with this address
    given[drivers.SYSTEM.index("malloc")] = ctypes.cast(none, ctypes.c_void_p).value or 0
    f = dict(FORMS)[kind]
    a, b = Tensor(np.float32(normals(2, 31, 31))), Tensor(np.float32(normals(2, 31)))
    programs = [
        lambda a, b: vmap(f)(a, b),
        jit(vmap(f)),
        lambda a, b: scan(lambda c, x: (c, f(*x)), a.sum(), (a, b))[1],
    ]
    with monkeypatch.context() as m:
        m.setattr(drivers, "_table", lambda dtype: given)
        for program in programs:
            with pytest.raises(OutOfMemoryError, match=rf"linalg\.{kind}: no memory is left for scratch buffers"):
                program(a, b).numpy()
    assert np.isfinite(vmap(f)(a[:, 1:, 1:], b[:, 1:]).numpy()).all()


# ---- several threads ----


@pytest.mark.skipif(not cores.address(), reason="one core, or no threads")
@pytest.mark.parametrize("kind", sorted(drivers.KINDS))
@pytest.mark.parametrize("batch", [(5,), (1, 3), (3, 2)])
def test_batch_split_over_threads(kind: str, batch: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The results equal one thread bit for bit, and only examples without a solution are NaN."""
    n = 4
    a = normals(*batch, n, n).astype(np.float32)
    a = a @ a.swapaxes(-1, -2) + np.eye(n, dtype=np.float32)
    a[(0,) * len(batch)] = 0
    b = normals(batch[-1], n, 2).astype(np.float32)
    xs = [a, b] if kind.startswith("solve") else [a]
    tails = {"det": [()], "slogdet": [(), ()], "eigh": [(n,), (n, n)], "eigvalsh": [(n,)], "svdvals": [(n,)]}
    tails |= {"qr": [(n, n)] * 2, "svd": [(n, n), (n,), (n, n)], "solve": [(n, 2)], "solve_triangular": [(n, 2)]}
    shapes = [(*batch, *tail) for tail in tails.get(kind, [(n, n)])]
    native._replay()
    alone = by_c(kind, 0, shapes, xs)
    seen: list[Any] = []
    original = batches.shared
    monkeypatch.setattr(batches, "shared", lambda *given: seen.append(original(*given)) or seen[-1])
    monkeypatch.setattr(cores, "LARGE", 0)
    with Context(NUM_CPU_THREADS=2):
        parted = by_c(kind, 0, shapes, xs)
    assert 1 < seen[0][2] <= 4
    for x, y in zip(parted, alone, strict=True):
        assert np.array_equal(x, y, equal_nan=True)
    with Context(NUM_CPU_THREADS=1):
        by_c(kind, 0, shapes, xs)
    assert seen[1] == batches.BY_ONE
