"""The functions of `branded.linalg` with their numpy counterparts and operands, for one example and for a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from branded import linalg

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    f: Callable[..., Tensor]
    by_numpy: Callable[..., Any]
    draw: Callable[[int], list[Array]]
    """Returns a batch of two operands with this number of rows."""
    has_derivative: bool = True


CASES: dict[str, Case] = {}


def some(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def well(n: int) -> list[Array]:
    """Return matrices that are far from singular."""
    return [some(2, n, n) + 3 * np.eye(n)]


def positive(n: int) -> list[Array]:
    a = some(2, n, n)
    return [a @ a.swapaxes(-1, -2) + np.diag(np.arange(n) + 1.0)]


def tall(n: int) -> list[Array]:
    return [some(2, n + 2, n)]


def wide(n: int) -> list[Array]:
    return [some(2, n, n + 2)]


def right(draw: Callable[[int], list[Array]]) -> Callable[[int], list[Array]]:
    return lambda n: [*(given := draw(n)), some(2, given[0].shape[-2], 3, seed=1)]


def case(
    name: str,
    f: Callable[..., Any],
    by_numpy: Callable[..., Any],
    draw: Callable[[int], list[Array]],
    has_derivative: bool = True,
) -> None:
    CASES[name] = Case(f, by_numpy, draw, has_derivative)


def transposed(a: Any) -> Any:
    return a.swapaxes(-1, -2)


def series(a: Array) -> Array:
    """Compute the matrix exponential by its series."""
    out = term = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for k in range(1, 80):
        term = term @ a / k
        out = out + term
    return out


case("cholesky", linalg.cholesky, np.linalg.cholesky, positive)
case("upper factor", lambda a: linalg.cholesky(a, upper=True), lambda a: transposed(np.linalg.cholesky(a)), positive)
case("solve", linalg.solve, np.linalg.solve, right(well))
case("inv", linalg.inv, np.linalg.inv, well)
case("det", linalg.det, np.linalg.det, lambda n: [some(2, n, n)])
case("sign", lambda a: linalg.slogdet(a).sign, lambda a: np.linalg.slogdet(a)[0], lambda n: [some(2, n, n)], False)
case("logdet", lambda a: linalg.slogdet(a).logabsdet, lambda a: np.linalg.slogdet(a)[1], lambda n: [some(2, n, n)])
case(
    "lower",
    lambda a, b: linalg.solve_triangular(a, b, lower=True),
    lambda a, b: np.linalg.solve(np.tril(a), b),
    right(well),
)
case("upper", linalg.solve_triangular, lambda a, b: np.linalg.solve(np.triu(a), b), right(well))
case(
    "unit",
    lambda a, b: linalg.solve_triangular(a, b, "T", unit_diagonal=True),
    lambda a, b: np.linalg.solve(transposed(np.triu(a, 1) + np.eye(a.shape[-1])), b),
    right(well),
)
case("factor", lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), np.linalg.solve, right(positive))
case("q", lambda a: linalg.qr(a).Q, lambda a: np.linalg.qr(a).Q, tall)
case("r", lambda a: linalg.qr(a, "r"), lambda a: np.linalg.qr(a).R, tall)
case("q of rows", lambda a: linalg.qr(a).Q, lambda a: np.linalg.qr(a).Q, wide)
case("r of rows", lambda a: linalg.qr(a, "complete").R, lambda a: np.linalg.qr(a).R, wide)
case("eigenvalues", lambda a: linalg.eigh(a).eigenvalues, np.linalg.eigvalsh, positive)
case("eigvalsh", linalg.eigvalsh, np.linalg.eigvalsh, positive)
case("eigenvectors", lambda a: linalg.eigh(a).eigenvectors.square(), lambda a: np.linalg.eigh(a)[1] ** 2, positive)
case("u", lambda a: linalg.svd(a, False).U.square(), lambda a: np.linalg.svd(a, False).U ** 2, tall)
case("v", lambda a: linalg.svd(a, False).Vh.square(), lambda a: np.linalg.svd(a, False).Vh ** 2, wide)
case("svd", lambda a: linalg.svd(a, compute_uv=False), lambda a: np.linalg.svd(a, compute_uv=False), wide)
case("pinv", linalg.pinv, np.linalg.pinv, tall)
case("pinv of rows", linalg.pinv, np.linalg.pinv, wide)
case("rank", linalg.matrix_rank, np.linalg.matrix_rank, tall, False)
case("cond", linalg.cond, np.linalg.cond, tall)
case("cond by rows", lambda a: linalg.cond(a, np.inf), lambda a: np.linalg.cond(a, np.inf), well)
case("power", lambda a: linalg.matrix_power(a, -3), lambda a: np.linalg.matrix_power(a, -3), well)
case("trace", linalg.trace, lambda a: np.trace(a, axis1=-2, axis2=-1), tall)
case("expm", linalg.expm, series, well)
case("nuclear norm", lambda a: linalg.norm(a, "nuc", (-2, -1)), lambda a: np.linalg.norm(a, "nuc", (-2, -1)), tall)
