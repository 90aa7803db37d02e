"""Check `branded.linalg`: values against numpy, vmap against the loop, derivatives against finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes

from branded import errors, grad, jacfwd, jit, jvp, linalg, make_expr, scan, vjp, vmap
from branded.backends import cpu
from branded.callbacks.host import Host
from branded.linalg import lapack, primitive
from branded.tinygrad_compat import private_api
from tests.support.by_numpy import looped, read
from tests.support.linalg_cases import CASES, Array, Case, some

Function = Callable[..., Tensor]


def value(f: Function, *xs: Array | Tensor) -> Array:
    return read(f(*(x if isinstance(x, Tensor) else Tensor(x) for x in xs)))


@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_match_numpy(case: Case, n: int) -> None:
    """LAPACK computes the values, except for small systems."""
    xs = case.draw(n)
    np.testing.assert_allclose(value(vmap(case.f), *xs), case.by_numpy(*xs), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_tinygrad_fallback_matches_numpy(case: Case, n: int) -> None:
    xs = case.draw(n)
    with cpu.plain():
        got = value(vmap(case.f), *xs)
    np.testing.assert_allclose(got, case.by_numpy(*xs), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_vmap_matches_the_loop(case: Case) -> None:
    """Also if only one of the operands is batched."""
    f, xs = case.f, case.draw(3)
    np.testing.assert_allclose(value(vmap(f), *xs), np.stack(looped(f, *xs)), rtol=1e-9, atol=1e-12)
    if len(xs) == 2:
        a, b = map(Tensor, xs)
        shared = np.stack(looped(lambda b: f(a[0], b), xs[1]))
        np.testing.assert_allclose(read(vmap(lambda b: f(a[0], b))(b)), shared, rtol=1e-9)
        pairs = np.stack(looped(f, xs[0].repeat(2, 0), np.concatenate([xs[1]] * 2)))
        every = pairs.reshape(2, 2, *pairs.shape[1:])
        np.testing.assert_allclose(read(vmap(lambda a: vmap(lambda b: f(a, b))(b))(a)), every, rtol=1e-9)
        turned = read(vmap(lambda b: vmap(lambda a: f(a, b))(a))(b))
        np.testing.assert_allclose(turned, every.swapaxes(0, 1), rtol=1e-9)


def derivatives(f: Function, xs: list[np.ndarray], seed: int = 7) -> None:
    """Check both modes against differences and against each other, and the second derivative."""
    ts = [some(*x.shape, seed=seed + i) for i, x in enumerate(xs)]
    primals, tangents = tuple(map(Tensor, xs)), tuple(map(Tensor, ts))

    def around(f: Function, step: float) -> list[Array]:
        """Evaluate `f` here, and one step ahead and back."""
        return looped(f, *(np.stack([x, x + step * t, x - step * t]) for x, t in zip(xs, ts, strict=True)))

    y, dy = jvp(f, primals, tangents)
    _, ahead, back = around(f, 1e-6)
    np.testing.assert_allclose(read(dy), (ahead - back) / 2e-6, rtol=1e-5, atol=1e-6)
    ct = Tensor(some(*y.shape, seed=seed + 5))

    def along(*xs: Tensor) -> Tensor:
        grads = vjp(f, *xs)[1](ct)
        return Tensor.stack(*((g * t).sum() for g, t in zip(grads, tangents, strict=True))).sum()

    here, ahead, back = around(along, 1e-5)
    np.testing.assert_allclose(here, read((dy * ct).sum()), rtol=1e-9)
    np.testing.assert_allclose(read(jvp(along, primals, tangents)[1]), (ahead - back) / 2e-5, rtol=1e-5, atol=1e-6)
    again = grad(lambda x: (jvp(f, (x, *primals[1:]), tangents)[1] * ct).sum())(primals[0])
    by_first = read(jvp(lambda x: along(x, *primals[1:]), primals[:1], tangents[:1])[1])
    np.testing.assert_allclose(read((again * tangents[0]).sum()), by_first, rtol=1e-7)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.has_derivative])
def test_derivatives(name: str) -> None:
    derivatives(CASES[name].f, [x[0] for x in CASES[name].draw(3)])


@pytest.mark.parametrize("name", ["solve", "lower", "factor"])
def test_derivatives_with_a_shared_operand(name: str) -> None:
    f = CASES[name].f
    a, b = CASES[name].draw(3)
    derivatives(lambda a, b: vmap(lambda b: f(a, b))(b), [a[0], b])
    derivatives(lambda a, b: vmap(lambda a: f(a, b))(a), [a, b[0]])


def test_derivative_of_zero_determinant() -> None:
    """JAX returns zeros for a matrix whose rank is one too low."""
    for n in (2, 3, 4, 6):
        flat = np.arange(n, dtype=float)
        wanted = np.diag([math.factorial(n - 1), *[0.0] * (n - 1)])
        np.testing.assert_allclose(value(grad(linalg.det), np.diag(flat)), wanted, atol=1e-9)
        with cpu.plain():
            np.testing.assert_allclose(value(grad(linalg.det), np.diag(flat)), wanted, atol=1e-9)
        assert (value(grad(linalg.det), np.zeros((n, n))) == 0).all()
    derivatives(linalg.det, [some(5, 5) + np.eye(5)])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.has_derivative])
def test_ir_of_a_derivative_runs(name: str) -> None:
    case = CASES[name]
    xs = [Tensor(x[0]) for x in case.draw(5)]
    f = grad(lambda *xs: case.f(*xs).sum())
    program = make_expr(f)(*xs)
    assert "FUNCTION" not in str(program)
    np.testing.assert_allclose(read(program(*xs)), read(f(*xs)), rtol=1e-9, atol=1e-12)


def test_in_scan_and_jit() -> None:
    a, b = some(5, 5) + 3 * np.eye(5), some(3, 5)

    @jit
    def f(a: Tensor, bs: Tensor) -> Tensor:
        return scan(lambda x, b: (linalg.solve(a, x + b), None), bs[0] * 0, bs)[0]

    x = np.zeros(5)
    for row in b:
        x = np.linalg.solve(a, x + row)
    for _ in range(3):
        np.testing.assert_allclose(f(Tensor(a), Tensor(b)).numpy(), x, rtol=1e-9)


def test_with_compiled_kernels() -> None:
    """Compile kernels; the other tests evaluate graphs by numpy."""
    a = some(2, 3, 3)
    h = a + a.swapaxes(-1, -2)
    with cpu.plain(), Context(NOOPT=1):
        w, s = linalg.eigvalsh(Tensor(h)), linalg.svd(Tensor(a), compute_uv=False)
        x = linalg.solve(Tensor(a), Tensor(h))
        np.testing.assert_allclose(w.numpy(), np.linalg.eigvalsh(h), rtol=1e-9)
        np.testing.assert_allclose(s.numpy(), np.linalg.svd(a, compute_uv=False), rtol=1e-9)
        np.testing.assert_allclose(x.numpy(), np.linalg.solve(a, h), rtol=1e-9)
    np.testing.assert_allclose(linalg.eigvalsh(Tensor(h)).numpy(), np.linalg.eigvalsh(h), rtol=1e-9)
    np.testing.assert_allclose(linalg.inv(Tensor(a)).numpy(), np.linalg.inv(a), rtol=1e-9)


def sizes_of(name: str, monkeypatch: pytest.MonkeyPatch, f: Callable[[], Tensor]) -> list[list[tuple[int, ...]]]:
    """Return the shapes that LAPACK receives in the calls of a function."""
    seen: list[list[tuple[int, ...]]] = []
    work = getattr(lapack, name)

    def spied(*xs: Array) -> list[Array]:
        seen.append([x.shape for x in xs])
        return list(work(*xs))

    monkeypatch.setattr(lapack, name, spied)
    primitive._body.cache_clear()
    read(f())
    primitive._body.cache_clear()
    return seen


def test_factors_share_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(Host, "in_c", lambda self, results, args: None)  # calls of numpy can be counted
    monkeypatch.setattr(np.linalg, "eigh", lambda a: (calls.append(a.shape), eigh(a))[1])
    w, v = vmap(linalg.eigh)(Tensor(np.stack([np.eye(3), 2 * np.eye(3)])))
    assert w.tolist() == [[1.0] * 3, [2.0] * 3] and (v * 1.0).abs().sum().item() == 6
    assert calls == [(2, 3, 3)]


def test_shared_matrix_is_factored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = Tensor(some(5, 5)), Tensor(some(7, 5))
    both = sizes_of("solve", monkeypatch, lambda: vmap(lambda b: linalg.solve(a, b))(b))
    assert both == [[(5, 5), (1, 5, 7)]]
    many = Tensor(some(3, 5, 5))
    nested = vmap(lambda a: vmap(lambda b: linalg.solve(a, b))(b))
    assert sizes_of("solve", monkeypatch, lambda: nested(many)) == [[(3, 1, 5, 5), (1, 1, 5, 7)]]
    assert sizes_of("cholesky", monkeypatch, lambda: vmap(lambda b: linalg.cholesky(a) @ b)(b)) == [[(5, 5)]]


@pytest.mark.parametrize("name", ["cholesky", "eigh", "svd", "qr"])
def test_derivative_reuses_the_factorization(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = Tensor(CASES["cholesky"].draw(5)[0][0])
    f: Function = {
        "cholesky": linalg.cholesky,
        "eigh": lambda a: linalg.eigh(a).eigenvectors,
        "svd": lambda a: linalg.svd(a, False).U,
        "qr": lambda a: linalg.qr(a).Q,
    }[name]
    counted: list[str] = []
    each = lapack._each
    monkeypatch.setattr(lapack, "_each", lambda *args: counted.append(name) or each(*args))
    read(Tensor.stack(f(a), jvp(f, (a,), (a,))[1], grad(lambda a: f(a).sum())(a)).sum())
    assert counted == [name]


def test_failed_factorization_affects_one_example() -> None:
    for n in (2, 5):
        good = np.diag(np.arange(n) + 1.0) ** 2
        bad = good.copy()
        bad[-1, -1] = -1
        low = value(vmap(linalg.cholesky), np.stack([bad, good]))
        assert np.isnan(low[0][np.tril_indices(n)]).all() and (low[0][np.triu_indices(n, 1)] == 0).all()
        np.testing.assert_array_equal(low[1], np.sqrt(good))
        bad[-1, -1] = 0
        inverses = value(vmap(linalg.inv), np.stack([bad, good]))
        assert not np.isfinite(inverses[0]).all()
        np.testing.assert_array_equal(inverses[1], np.diag(1 / np.diag(good)))
        assert value(linalg.det, bad) == 0
        sign, log = linalg.slogdet(Tensor(bad))
        assert (read(sign), read(log)) == (0, -math.inf)
        nan = good * math.nan
        for f in (lambda a: linalg.eigh(a).eigenvectors, lambda a: linalg.svd(a).U, linalg.pinv):
            found = value(vmap(f), np.stack([nan, good]))
            assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()


def test_tangent_of_eigh_with_equal_eigenvalues() -> None:
    eye, change = Tensor.eye(3), Tensor.ones(3, 3)
    _, (values, vectors) = jvp(lambda a: tuple(linalg.eigh(a)), (eye,), (change,))
    assert np.isfinite(read(values)).all() and not np.isfinite(read(vectors)).any()


@pytest.mark.parametrize(
    "a", [np.diag([1.0, -3.0, 1e-4]), np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 5.0], [0.0, 5.0, -4.0]])]
)
def test_symmetric_matrices(a: Array) -> None:
    """`hermitian` takes the mean with the transpose, and `rcond` is another name of `rtol`."""
    tilted = Tensor(a + np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0]]))
    u, s, vh = (read(x) for x in linalg.svd(tilted, hermitian=True))
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False, hermitian=True), atol=1e-8)
    np.testing.assert_allclose(u * s @ vh, a, atol=1e-8)
    for found in (linalg.pinv(tilted, 1e-3, hermitian=True), linalg.pinv(tilted, hermitian=True, rcond=1e-3)):
        np.testing.assert_allclose(read(found), np.linalg.pinv(a, rcond=1e-3, hermitian=True), atol=1e-8)
    wanted = np.linalg.matrix_rank(a, rtol=1e-3, hermitian=True)
    assert linalg.matrix_rank(tilted, rtol=1e-3, hermitian=True).item() == wanted


def test_empty_matrices() -> None:
    none = Tensor.zeros(0, 0)
    assert linalg.det(none).item() == 1
    assert linalg.cholesky(none).shape == linalg.inv(none).shape == linalg.expm(none).shape == (0, 0)
    assert linalg.solve(none, Tensor.zeros(0, 3)).shape == (0, 3)
    assert [x.shape for x in linalg.eigh(none)] == [(0,), (0, 0)]
    assert [x.shape for x in linalg.svd(Tensor.zeros(0, 2))] == [(0, 0), (0,), (2, 2)]
    assert [x.shape for x in linalg.qr(Tensor.zeros(2, 0))] == [(2, 0), (0, 0)]
    assert linalg.pinv(Tensor.zeros(2, 0)).shape == (0, 2)
    assert linalg.lstsq(Tensor.zeros(2, 0), Tensor([3.0, 4.0])).residuals.tolist() == [25.0]
    assert vmap(linalg.inv)(Tensor.zeros(0, 2, 2)).shape == (0, 2, 2)
    assert vmap(linalg.det)(Tensor.zeros(0, 2, 2)).shape == (0,)


def test_leading_axes_are_a_batch() -> None:
    a, b = some(2, 1, 5, 5), some(3, 5, 2)
    np.testing.assert_allclose(value(linalg.solve, a, b), np.linalg.solve(a, b), rtol=1e-9)
    np.testing.assert_allclose(value(linalg.solve, a, b[0, :, 0]), np.linalg.solve(a, b[:1, :, :1])[..., 0], rtol=1e-9)
    np.testing.assert_allclose(value(linalg.det, a), np.linalg.det(a), rtol=1e-9)


def test_dtypes() -> None:
    a = Tensor([[2, 1], [1, 2]])
    assert linalg.inv(a).dtype == linalg.cholesky(a).dtype == linalg.eigvalsh(a).dtype == dtypes.float32
    assert linalg.solve(a.double(), Tensor([1, 2])).dtype == dtypes.float64
    assert linalg.trace(a).dtype == dtypes.int32
    large = np.diag([1e30, 1.0, 1e10]).astype(np.float32)
    with cpu.plain():  # their squares overflow float32
        assert value(lambda a: linalg.svd(a).S, large).tolist() == np.float32([1e30, 1e10, 1]).tolist()


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
@pytest.mark.parametrize("keepdims", [True, False])
def test_matrix_norms(order: float | str | None, keepdims: bool) -> None:
    x = some(3, 4, 2)
    for axes in ((0, 1), (2, 0), (-1, -2)):
        got = value(lambda x, axes=axes: linalg.norm(x, order, axes, keepdims), x)
        np.testing.assert_allclose(got, np.linalg.norm(x, order, axes, keepdims), rtol=1e-9)


@pytest.mark.parametrize("order", [None, 0, 1, -1, 2, -2, 3, 0.5, math.inf, -math.inf])
def test_vector_norms(order: float | None) -> None:
    x = some(3, 4)
    np.testing.assert_allclose(value(lambda x: linalg.norm(x, order, 1), x), np.linalg.norm(x, order, 1), rtol=1e-9)
    np.testing.assert_allclose(value(lambda x: linalg.norm(x, order), x[0]), np.linalg.norm(x[0], order), rtol=1e-9)


def test_norms_of_nan_and_empty_axes() -> None:
    holes = np.array([[1.0, math.nan], [0.0, 1.0]])
    for order, axis in ((math.inf, 1), (-math.inf, 0), (1, (0, 1)), (-1, (0, 1)), (math.inf, (0, 1)), (2, (0, 1))):
        for x in (holes, holes[:, ::-1].copy(), holes[::-1].copy()):  # `Tensor.max` finds only some of them
            np.testing.assert_array_equal(
                value(lambda x, order=order, axis=axis: linalg.norm(x, order, axis), x),
                np.linalg.norm(x, order, axis) if order != 2 else math.nan,
            )
    for order in (None, 1, 2, math.inf):
        assert value(lambda x, order=order: linalg.norm(x, order, 1), np.zeros((2, 0))).tolist() == [0, 0]
    assert value(lambda x: linalg.norm(x, 2), np.zeros((0, 3))) == 0


def test_float16_and_int_without_factorization() -> None:
    half = Tensor([[300.0, 400.0], [0.0, 0.0]], dtype=dtypes.half)
    length = linalg.norm(half)
    assert length.dtype == dtypes.half and length.numpy() == 500  # the squares overflow float16
    assert linalg.multi_dot([half / 100, half / 100]).dtype == dtypes.half
    step = Tensor([[1, 1], [1, 0]])
    assert linalg.matrix_power(step, 40).tolist() == [[165580141, 102334155], [102334155, 63245986]]
    assert linalg.multi_dot([step, step, step[0]]).tolist() == [3, 2]
    assert linalg.matrix_power(step, -1).dtype == dtypes.float32
    with pytest.raises(errors.MatrixTypeError, match="matrices are factored in float32 or float64"):
        linalg.matrix_power(half, -1)


def test_multi_dot() -> None:
    xs = [some(4), some(4, 30), some(30, 2), some(2, 20), some(20)]
    for part in (xs, xs[1:], xs[:-1], xs[1:-1], xs[:2]):
        got = value(lambda *xs: linalg.multi_dot(xs), *part)
        np.testing.assert_allclose(got, np.linalg.multi_dot(part), rtol=1e-9)


def test_expm_with_squarings() -> None:
    a = some(4, 4)
    np.testing.assert_allclose(value(linalg.expm, 10 * a), CASES["expm"].by_numpy(10 * a), rtol=1e-6)
    np.testing.assert_allclose(value(linalg.expm, 0 * a), np.eye(4), atol=1e-15)
    assert np.isnan(value(lambda a: linalg.expm(a, max_squarings=2), 1000 * a)).all()


def test_least_squares() -> None:
    a, b = some(6, 3), some(6, 2)
    a[:, 2] = a[:, 0] + a[:, 1]
    got, wanted = linalg.lstsq(Tensor(a), Tensor(b)), np.linalg.lstsq(a, b)
    np.testing.assert_allclose(read(got.x), wanted[0], rtol=1e-9)
    assert read(got.rank) == wanted[2] == 2
    np.testing.assert_allclose(read(got.s)[:2], wanted[3][:2], rtol=1e-9)
    np.testing.assert_allclose(read(got.residuals), ((b - a @ wanted[0]) ** 2).sum(0), rtol=1e-9)


def tangent_of_pinv(a: Array, da: Array) -> Array:
    """The formula of Golub and Pereyra, with explicit projectors."""
    p = np.linalg.pinv(a, rcond=1e-9)
    rows, columns = np.eye(len(a)) - a @ p, np.eye(len(p)) - p @ a
    out: Array = -p @ da @ p + p @ p.T @ da.T @ rows + columns @ da.T @ p.T @ p
    return out


@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 4)])
def test_derivatives_of_pinv_of_any_rank(m: int, n: int) -> None:
    a, da, w = some(m, n), some(m, n), some(n, m)
    a[-1], a[:, -1] = a[0], a[:, 0]
    a[-1, -1] = a[0, 0]
    by_jvp = read(jvp(linalg.pinv, (Tensor(a),), (Tensor(da),))[1])
    np.testing.assert_allclose(by_jvp, tangent_of_pinv(a, da), rtol=1e-8, atol=1e-9)
    slope = read(grad(lambda a: (linalg.pinv(a) * Tensor(w)).sum())(Tensor(a)))
    np.testing.assert_allclose((slope * da).sum(), (w * tangent_of_pinv(a, da)).sum(), rtol=1e-8)


@pytest.mark.parametrize("shape", [(500, 2), (2, 500)])
def test_size_of_pinv_and_lstsq_derivatives(shape: tuple[int, int]) -> None:
    a, b, w = Tensor(some(*shape)), Tensor(some(shape[0])), Tensor(some(*shape[::-1]))
    for f in (lambda a: (linalg.pinv(a) * w).sum(), lambda a: linalg.lstsq(a, b).x.square().sum()):
        first, second = grad(f)(a), jvp(grad(f), (a,), (a + 1,))[1]
        for y in (first, second, jvp(f, (a,), (a,))[1]):
            assert (
                max(math.prod(s) for u in y.uop.toposort() if (s := private_api.known_shape(u)) is not None) <= 16 * 500
            )


@pytest.mark.parametrize("outer", [grad, jacfwd])
@pytest.mark.parametrize("inner", [grad, jacfwd])
def test_second_derivatives_at_deficient_rank(outer: Any, inner: Any) -> None:
    """For a = u vᵀ, the solution is v (u · b) / (|u|² |v|²)."""
    u, du, v, b = some(4), some(4), some(3), some(4)

    def f(t: Tensor) -> Tensor:
        return linalg.lstsq((Tensor(u) + t * Tensor(du)).unsqueeze(1) * Tensor(v), Tensor(b)).x.sum()

    top, square = np.poly1d([du @ b, u @ b]), np.poly1d([du @ du, 2 * u @ du, u @ u])
    first = top.deriv() * square - top * square.deriv()
    wanted = (first.deriv() * square - 2 * first * square.deriv())(0) / square(0) ** 3
    got = read(outer(inner(f))(Tensor(0.0, dtype="float64"))).item()
    np.testing.assert_allclose(got, wanted * v.sum() / (v @ v), rtol=1e-9)


def test_rcond_of_lstsq() -> None:
    a, b = Tensor([[1.0, 0.0], [0.0, 1e-9]]), Tensor([1.0, 1.0])
    assert [linalg.lstsq(a, b, rcond=part).rank.item() for part in (0, -1, None)] == [2, 1, 1]


@pytest.mark.parametrize(("m", "n", "mode"), [(2, 3, "reduced"), (3, 2, "complete")])
def test_tangents_of_qr_multiply_to_the_tangent(m: int, n: int, mode: Any) -> None:
    a, da = (Tensor(np.random.default_rng(k).standard_normal((m, n)).astype(np.float32)) for k in range(2))
    (q, r), (dq, dr) = jvp(lambda a: tuple(linalg.qr(a, mode)), (a,), (da,))
    np.testing.assert_allclose((dq @ r + q @ dr).numpy(), da.numpy(), atol=1e-4)
