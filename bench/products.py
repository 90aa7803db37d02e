"""Compare matrix products by BLAS, which the CPU backend uses, with tinygrad's kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tinygrad import Context, Tensor

from bench.measure import Report, check, interleave, ratio_of_best
from bench.peers import Peer
from bench.workloads import Workload
from branded import jit, vmap

Shapes = tuple[tuple[int, ...], tuple[int, ...]]

ROWS: list[tuple[str, Callable[[Any, Any], Any], Shapes, int]] = [
    *((f"matmul {n}", lambda a, b: a @ b, ((n, n), (n, n)), n**3) for n in (16, 32, 64, 128, 256, 512, 1024)),
    *(
        (f"batched {b} x {n}^3", lambda a, b: a @ b, ((b, n, n), (b, n, n)), b * n**3)
        for b, n in ((256, 64), (32, 128), (16, 256))
    ),
    *((f"matvec {n}", lambda a, x: a @ x, ((n, n), (n,)), n**2) for n in (128, 512, 2048)),
    (
        "vmapped matvec, shared 256 x 256",
        lambda w, xs: vmap(lambda x: w @ x)(xs),
        ((256, 256), (512, 256)),
        512 * 256**2,
    ),
    (
        "vmapped matvec, 256 of 128 x 128",
        lambda ws, xs: vmap(lambda w, x: w @ x)(ws, xs),
        ((256, 128, 128), (256, 128)),
        256 * 128**2,
    ),
    ("matmul 256, bias and relu", lambda a, b: (a @ b + 1).relu(), ((256, 256), (256, 256)), 256**3),
    ("exp, then matmul 256", lambda a, b: a.exp() @ b, ((256, 256), (256, 256)), 256**3),
]


def bench(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    """The workloads say nothing here."""
    row = report.table("Products", "what", "BLAS µs", "GFLOPS", "kernels µs", "GFLOPS", "BLAS/kernels")
    for name, f, shapes, work in ROWS:
        args = [Tensor(np.random.default_rng(0).standard_normal(s).astype(np.float32)).realize() for s in shapes]
        programs = {}
        for on, which in ((1, "BLAS"), (0, "kernels")):
            with Context(BRANDED_CPU=on):  # type: ignore[no-untyped-call]
                programs[which] = compiled = _compiled(f, args)
                compiled()
        check(name, programs["BLAS"](), programs["kernels"]())
        times = interleave(programs, seconds)
        best = {which: min(ts) for which, ts in times.items()}
        rates = [2 * work / best[which] * 1e-9 for which in ("BLAS", "kernels")]
        row(
            name, best["BLAS"] * 1e6, rates[0], best["kernels"] * 1e6, rates[1], ratio_of_best(times, "BLAS", "kernels")
        )
    report.write("", "Best times of calls of `jit`, in turns.  Large products have threads, kernels have none.")


def _compiled(f: Callable[[Any, Any], Any], args: Sequence[Any]) -> Callable[[], Any]:
    program = jit(lambda *xs: f(*xs))
    return lambda: program(*args)
