"""Compare compiled vmaps of linear algebra with numpy's batched functions, and with JAX's if it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor

from bench.measure import Report, interleave, ratio_of_best
from bench.peers import Peer
from bench.workloads import Workload
from branded import jit, linalg, vmap

SIZES = ((1, 3), (10_000, 3), (1, 8), (1_000, 8), (10_000, 8), (1, 32), (100, 64), (1, 256))
"""How many matrices, of how many rows."""
Function = Callable[[Any, Any], Any]

ROWS: list[tuple[str, Function, Function, str]] = [
    ("cholesky", lambda a, b: linalg.cholesky(a), lambda a, b: np.linalg.cholesky(a), "cholesky"),
    ("solve", linalg.solve, lambda a, b: np.linalg.solve(a, b[..., None])[..., 0], "solve"),
    (
        "solve_triangular",
        lambda a, b: linalg.solve_triangular(a, b, lower=True),
        lambda a, b: np.linalg.solve(np.tril(a), b[..., None])[..., 0],
        "solve_triangular",
    ),
    ("inv", lambda a, b: linalg.inv(a), lambda a, b: np.linalg.inv(a), "inv"),
    ("det", lambda a, b: linalg.det(a), lambda a, b: np.linalg.det(a), "det"),
    ("qr", lambda a, b: linalg.qr(a).R, lambda a, b: np.linalg.qr(a).R, "qr"),
    ("eigh", lambda a, b: linalg.eigh(a).eigenvalues, lambda a, b: np.linalg.eigh(a).eigenvalues, "eigh"),
    ("svd", lambda a, b: linalg.svd(a, False).S, lambda a, b: np.linalg.svd(a, full_matrices=False).S, "svd"),
]


def _by_jax(name: str, a: np.ndarray, b: np.ndarray) -> Callable[[], Any]:
    import jax
    import jax.scipy.linalg

    forms = {
        "solve": lambda a, b: jax.numpy.linalg.solve(a, b),
        "solve_triangular": lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        "svd": lambda a, b: jax.numpy.linalg.svd(a, False)[1],
    }
    picked = {"qr": 1, "eigh": 0}

    def other(a: Any, b: Any) -> Any:
        out = getattr(jax.numpy.linalg, name)(a)
        return out[picked[name]] if name in picked else out

    f = jax.jit(jax.vmap(forms.get(name, other)))
    x, y = jax.numpy.asarray(a), jax.numpy.asarray(b)
    return lambda: jax.block_until_ready(f(x, y))


def bench(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    """The workloads say nothing here."""
    there = importlib.util.find_spec("jax") is not None
    columns = ["what", "matrices", "rows", "ours µs", "numpy µs", "ours/numpy", *(["ours/jax"] if there else [])]
    row = report.table("Linear algebra", *columns)
    for name, ours, by_numpy, of_jax in ROWS:
        for count, n in SIZES:
            a = np.random.default_rng(0).standard_normal((count, n, n)).astype(np.float32)
            a = a @ a.swapaxes(-1, -2) / (8 * n) + np.eye(n, dtype=np.float32)  # with a determinant that is a float32
            b = np.random.default_rng(1).standard_normal((count, n)).astype(np.float32)
            xs = [Tensor(x).realize() for x in (a, b)]
            f = jit(vmap(ours))
            programs: dict[str, Callable[[], Any]] = {
                "ours": lambda f=f, xs=xs: f(*xs),
                "numpy": lambda by_numpy=by_numpy, a=a, b=b: by_numpy(a, b),
            }
            if there:
                programs["jax"] = _by_jax(of_jax, a, b)
            np.testing.assert_allclose(programs["ours"]().numpy(), programs["numpy"](), rtol=2e-2, atol=2e-2)
            times = interleave(programs, seconds / len(SIZES))
            best = [min(times[which]) * 1e6 for which in ("ours", "numpy")]
            ratios = [ratio_of_best(times, "ours", other) for other in ("numpy", *(["jax"] if there else []))]
            row(name, count, n, *best, *ratios)
    report.write("", "Best times of alternating calls of `jit`. Threads of numpy wait while the cores are busy.")
