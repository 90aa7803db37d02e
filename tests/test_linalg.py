"""`branded.linalg`: values against numpy, vmap against the loop, derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import grad, jit, jvp, linalg, scan, vjp, vmap
from tests.by_numpy import read

Function = Callable[..., Tensor]


def some(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def well(*shape: int) -> np.ndarray:
    """Matrices that are far from singular."""
    return some(*shape) + 3 * np.eye(shape[-1])


def positive(*shape: int) -> np.ndarray:
    a = some(*shape)
    return a @ a.swapaxes(-1, -2) + np.eye(shape[-1])


SYSTEMS: dict[str, tuple[Function, Callable[..., Any], Callable[[int], list[np.ndarray]]]] = {
    "cholesky": (linalg.cholesky, np.linalg.cholesky, lambda n: [positive(2, n, n)]),
    "solve": (linalg.solve, np.linalg.solve, lambda n: [well(2, n, n), some(2, n, 3)]),
    "inv": (linalg.inv, np.linalg.inv, lambda n: [well(2, n, n)]),
    "det": (linalg.det, np.linalg.det, lambda n: [some(2, n, n)]),
    "sign": (lambda a: linalg.slogdet(a)[0], lambda a: np.linalg.slogdet(a)[0], lambda n: [some(2, n, n)]),
    "logdet": (lambda a: linalg.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1], lambda n: [some(2, n, n)]),
    "lower": (
        lambda a, b: linalg.solve_triangular(a, b, lower=True),
        lambda a, b: np.linalg.solve(np.tril(a), b),
        lambda n: [well(2, n, n), some(2, n, 3)],
    ),
    "upper": (
        linalg.solve_triangular,
        lambda a, b: np.linalg.solve(np.triu(a), b),
        lambda n: [well(2, n, n), some(2, n, 3)],
    ),
    "unit": (
        lambda a, b: linalg.solve_triangular(a, b, "T", unit_diagonal=True),
        lambda a, b: np.linalg.solve((np.triu(a, 1) + np.eye(a.shape[-1])).swapaxes(-1, -2), b),
        lambda n: [some(2, n, n), some(2, n, 3)],
    ),
    "factor": (
        lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b),
        np.linalg.solve,
        lambda n: [positive(2, n, n), some(2, n, 3)],
    ),
}


@pytest.mark.parametrize("n", [1, 2, 4, 6])
@pytest.mark.parametrize("name", SYSTEMS)
def test_values_are_those_of_numpy(name: str, n: int) -> None:
    f, by_numpy, draw = SYSTEMS[name]
    xs = draw(n)
    got = f(*map(Tensor, xs))
    np.testing.assert_allclose(got.numpy() if n > 4 else read(got), by_numpy(*xs), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SYSTEMS)
def test_vmap_is_the_loop(name: str) -> None:
    """Also where only one of the operands varies."""
    f, _, draw = SYSTEMS[name]
    xs = list(map(Tensor, draw(3)))
    loop = np.stack([read(f(*(x[i] for x in xs))) for i in range(2)])
    np.testing.assert_allclose(read(vmap(f)(*xs)), loop, rtol=1e-9)
    if len(xs) == 2:
        a, b = xs
        shared = np.stack([read(f(a[0], b[i])) for i in range(2)])
        np.testing.assert_allclose(read(vmap(lambda b: f(a[0], b))(b)), shared, rtol=1e-9)
        every = np.stack([[read(f(a[i], b[j])) for j in range(2)] for i in range(2)])
        np.testing.assert_allclose(read(vmap(lambda a: vmap(lambda b: f(a, b))(b))(a)), every, rtol=1e-9)
        turned = read(vmap(lambda b: vmap(lambda a: f(a, b))(a))(b))
        np.testing.assert_allclose(turned, every.swapaxes(0, 1), rtol=1e-9)


def derivatives(f: Function, xs: list[np.ndarray], seed: int = 7) -> None:
    """Both modes, against differences and against each other, and the second derivative."""
    ts = [some(*x.shape, seed=seed + i) for i, x in enumerate(xs)]
    primals, tangents = tuple(map(Tensor, xs)), tuple(map(Tensor, ts))

    def at(step: float) -> list[Tensor]:
        return [Tensor(x + step * t) for x, t in zip(xs, ts, strict=True)]

    y, dy = jvp(f, primals, tangents)
    slope = (read(f(*at(1e-6))) - read(f(*at(-1e-6)))) / 2e-6
    np.testing.assert_allclose(read(dy), slope, rtol=1e-5, atol=1e-6)
    ct = Tensor(some(*y.shape, seed=seed + 5))

    def along(*xs: Tensor) -> Tensor:
        grads = vjp(f, *xs)[1](ct)
        return Tensor.stack(*((g * t).sum() for g, t in zip(grads, tangents, strict=True))).sum()

    np.testing.assert_allclose(read(along(*primals)), read((dy * ct).sum()), rtol=1e-9)
    curve = (read(along(*at(1e-5))) - read(along(*at(-1e-5)))) / 2e-5
    np.testing.assert_allclose(read(jvp(along, primals, tangents)[1]), curve, rtol=1e-5, atol=1e-6)
    again = grad(lambda x: (jvp(f, (x, *primals[1:]), tangents)[1] * ct).sum())(primals[0])
    by_first = read(jvp(lambda x: along(x, *primals[1:]), primals[:1], tangents[:1])[1])
    np.testing.assert_allclose(read((again * tangents[0]).sum()), by_first, rtol=1e-7)


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "sign"])
def test_derivatives(name: str) -> None:
    f, _, draw = SYSTEMS[name]
    derivatives(f, [x[0] for x in draw(3)])


@pytest.mark.parametrize("name", ["solve", "lower", "factor"])
def test_derivatives_of_what_examples_share(name: str) -> None:
    f, _, draw = SYSTEMS[name]
    a, b = draw(3)
    derivatives(lambda a, b: vmap(lambda b: f(a, b))(b), [a[0], b])
    derivatives(lambda a, b: vmap(lambda a: f(a, b))(a), [a, b[0]])


def test_in_a_loop_and_compiled() -> None:
    a, b = well(5, 5), some(3, 5)

    @jit
    def f(a: Tensor, bs: Tensor) -> Tensor:
        return scan(lambda x, b: (linalg.solve(a, x + b), None), bs[0] * 0, bs)[0]

    x = np.zeros(5)
    for row in b:
        x = np.linalg.solve(a, x + row)
    for _ in range(3):
        np.testing.assert_allclose(f(Tensor(a), Tensor(b)).numpy(), x, rtol=1e-9)


def test_what_has_no_answer_is_nan_for_its_example_alone() -> None:
    a = Tensor([[[1.0, 2.0], [2.0, 1.0]], [[4.0, 0.0], [0.0, 9.0]]])
    low = read(vmap(linalg.cholesky)(a))
    assert np.isnan(low[0][np.tril_indices(2)]).all() and low[0, 0, 1] == 0
    assert low[1].tolist() == [[2, 0], [0, 3]]
    singular = Tensor([[1.0, 2.0], [2.0, 4.0]])
    assert not np.isfinite(read(linalg.inv(singular))).any()
    assert read(linalg.det(singular)) == 0
    sign, log = linalg.slogdet(singular)
    assert (read(sign), read(log)) == (0, -np.inf)


def test_no_rows() -> None:
    none = Tensor.zeros(0, 0)
    assert linalg.det(none).item() == 1
    assert linalg.cholesky(none).shape == linalg.inv(none).shape == (0, 0)
    assert linalg.solve(none, Tensor.zeros(0, 3)).shape == (0, 3)
    assert vmap(linalg.inv)(Tensor.zeros(0, 2, 2)).shape == (0, 2, 2)
    assert vmap(linalg.det)(Tensor.zeros(0, 2, 2)).shape == (0,)
