"""The cost of a call of a compiled function apart from its kernels, by the number of arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor, TinyJit

from bench.measure import Report, interleave, ratio_of_best
from bench.peers import Peer
from bench.workloads import Workload
from branded import jit

LEAVES = (1, 6, 18, 54)
OFTEN = 50
"""The number of calls in one measurement."""


def _each(xs: Sequence[Any]) -> list[Any]:
    return [x * 2 + 1 for x in xs]


def _often(f: Callable[[Any], Any], xs: Any) -> Callable[[], None]:
    def run() -> None:
        for _ in range(OFTEN):
            f(xs)

    return run


def _by_jax(arrays: Sequence[np.ndarray]) -> Callable[[], None] | None:
    try:
        import jax
    except ImportError:
        return None
    xs = [jax.numpy.asarray(a) for a in arrays]
    f = jax.jit(_each)
    return _often(lambda xs: jax.block_until_ready(f(xs)), xs)


def bench(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    """The workloads say nothing here: the tensors have four entries each."""
    row = report.table("Calls", "leaves", "jit µs", "TinyJit µs", "vs TinyJit", "jax µs", "vs jax", "µs per leaf")
    first = 0.0
    for n in LEAVES:
        arrays = [np.full(4, i, dtype=np.float32) for i in range(n)]
        xs = [Tensor(a).realize() for a in arrays]
        tiny: Any = TinyJit(lambda xs: [y.realize() for y in _each(xs)])
        programs = {"jit": _often(jit(_each), xs), "TinyJit": _often(tiny, xs)}
        if any(p.name == "jax" for p in peers) and (of_jax := _by_jax(arrays)) is not None:
            programs["jax"] = of_jax
        times = interleave(programs, seconds)
        took = {name: min(ts) / OFTEN * 1e6 for name, ts in times.items()}
        first = first or took["jit"]
        row(
            *(n, took["jit"], took["TinyJit"], ratio_of_best(times, "jit", "TinyJit"), took.get("jax")),
            ratio_of_best(times, "jit", "jax") if "jax" in times else None,
            (took["jit"] - first) / (n - 1) if n > 1 else None,
        )
    report.write("", "Best times; `µs per leaf`: of each but the first (goals: 20 for one, 2 for each other one).")
