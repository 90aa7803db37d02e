"""How long programs take once they are compiled: the libraries in turns, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles
from typing import Any

import numpy as np

from bench.against.programs import Program
from bench.measure import Times, check, interleave, ratio

LEAST = 5e-3
"""The least length of one measurement in seconds.

It is longer than a tick of the system: the processor time of other threads is recorded at ticks and would otherwise
count for the next measurement.
"""
Clock = Callable[[], float]


def peak(clock: Clock) -> dict[str, float]:
    """Return the operations and bytes per second of numpy, for a product of 1024³ and a sum of arrays of 64 MB."""
    a, b = (np.ones((1024, 1024), np.float32) for _ in range(2))
    big, out = (np.ones(1 << 24, np.float32) for _ in range(2))
    products = interleave({"": lambda: np.matmul(a, b, out=out[: 1 << 20].reshape(1024, 1024))}, 1.0, clock=clock)
    copies = interleave({"": lambda: np.add(big, 1, out=out)}, 1.0, clock=clock)
    return {"flops": 2 * 1024**3 / min(products[""]), "bytes": 2 * big.nbytes / min(copies[""])}


def _often(run: Callable[[], Any], n: int) -> Callable[[], None]:
    def runs() -> None:
        for _ in range(n):
            run()

    return runs


def calls_of(run: Callable[[], Any]) -> int:
    """Return the number of calls in one measurement, from the shortest of a few calls, which has the least noise."""
    run()
    took = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return max(1, min(1000, round(LEAST / max(min(took), 1e-6))))


def times_of_calls(runs: Mapping[str, Callable[[], Any]], seconds: float, clock: Clock) -> Times:
    """The times of a call of each function, in turns; one measurement is several calls."""
    calls = {name: calls_of(run) for name, run in runs.items()}
    times = interleave({name: _often(run, calls[name]) for name, run in runs.items()}, seconds, clock=clock)
    return {name: [t / calls[name] for t in ts] for name, ts in times.items()}


def measured(p: Program, libraries: Mapping[str, Any], seconds: float, clock: Clock) -> dict[str, Any]:
    """The times of each library in seconds, their spread, and the ratios of our times to the others."""
    runs: dict[str, Callable[[], Any]] = {}
    values = {}
    for name, m in libraries.items():
        f, xs = m.jit(p.of(m)), [m.array(a) for a in p.arrays()]
        runs[name] = lambda m=m, f=f, xs=xs: m.done(f(*xs))
        values[name] = runs[name]()
    for name, value in values.items():
        check(f"{p.name}: {name}", values["here"], value)
    each = times_of_calls(runs, seconds, clock)
    peers = [name for name in each if name != "here"]
    return {
        "seconds": {name: median(ts) for name, ts in each.items()},
        "best": {name: min(ts) for name, ts in each.items()},
        "spread": {name: _spread(ts) for name, ts in each.items()},
        "ratio": {name: ratio(each, "here", name) for name in peers},
    }


def _spread(times: Sequence[float]) -> float:
    """Half of the times lie within this part of the median."""
    low, middle, high = quantiles(times, n=4)
    return (high - low) / middle if middle else 0.0


def share(p: Program, seconds: float, peaks: Mapping[str, float]) -> float | None:
    """Return the fraction of numpy's rate, or None for a program that is limited neither by products nor by memory."""
    needed = max(p.flops / peaks["flops"], p.size / peaks["bytes"])
    return needed / seconds if needed and seconds else None
