"""Compare compiled searches, counts and transforms of arrays with numpy and JAX."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor

import branded
from bench.measure import Report, interleave, ratio_of_best
from bench.peers import Peer
from bench.workloads import Workload
from branded import jit

LARGE, SMALL, SEGMENTS = 100_000, 1_000, 1_000
Draw = Callable[[np.random.Generator, int], list[np.ndarray]]
Function = Callable[..., Any]


def _numbers(r: np.random.Generator, n: int) -> list[np.ndarray]:
    return [r.standard_normal(n).astype(np.float32)]


def _sorted(r: np.random.Generator, n: int) -> list[np.ndarray]:
    return [np.sort(_numbers(r, n)[0]), *_numbers(r, n)]


def _numbered(r: np.random.Generator, n: int) -> list[np.ndarray]:
    return [*_numbers(r, n), r.integers(0, SEGMENTS, n).astype(np.int32)]


def _top(x: np.ndarray) -> np.ndarray:
    return np.sort(np.partition(x, x.size - 10)[-10:])[::-1]


ROWS: list[tuple[str, Draw, Function, Function, Callable[[Any], Function]]] = [
    ("searchsorted", _sorted, branded.searchsorted, np.searchsorted, lambda jax: jax.numpy.searchsorted),
    (
        "segment_sum",
        _numbered,
        lambda x, i: branded.segment_sum(x, i, SEGMENTS),
        lambda x, i: np.bincount(i, x, SEGMENTS),
        lambda jax: lambda x, i: jax.ops.segment_sum(x, i, SEGMENTS),
    ),
    (
        "bincount",
        _numbered,
        lambda x, i: branded.bincount(i, length=SEGMENTS),
        lambda x, i: np.bincount(i, minlength=SEGMENTS),
        lambda jax: lambda x, i: jax.numpy.bincount(i, length=SEGMENTS),
    ),
    (
        "histogram",
        _numbers,
        lambda x: branded.histogram(x, 100)[0],
        lambda x: np.histogram(x, 100)[0],
        lambda jax: lambda x: jax.numpy.histogram(x, 100)[0],
    ),
    ("median", _numbers, branded.median, np.median, lambda jax: jax.numpy.median),
    ("top_k, 10", _numbers, lambda x: branded.top_k(x, 10)[0], _top, lambda jax: lambda x: jax.lax.top_k(x, 10)[0]),
    (
        "rfft",
        _numbers,
        lambda x: branded.rfft(x)[0],
        lambda x: np.fft.rfft(x).real,
        lambda jax: lambda x: jax.numpy.fft.rfft(x).real,
    ),
]


def bench(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    """The workloads say nothing here."""
    there = importlib.util.find_spec("jax") is not None
    columns = ["what", "entries", "ours µs", "numpy µs", "ours/numpy", *(["jax µs", "ours/jax"] if there else [])]
    row = report.table("Functions of arrays", *columns)
    for name, draw, ours, by_numpy, by_jax in ROWS:
        for n in (SMALL, LARGE):
            xs = draw(np.random.default_rng(0), n)
            given, f = [Tensor(x).realize() for x in xs], jit(ours)
            programs: dict[str, Callable[[], Any]] = {
                "ours": lambda f=f, given=given: f(*given),
                "numpy": lambda by_numpy=by_numpy, xs=xs: by_numpy(*xs),
            }
            if there:
                import jax

                compiled, arrays = jax.jit(by_jax(jax)), [jax.numpy.asarray(x) for x in xs]
                programs["jax"] = lambda f=compiled, xs=arrays: jax.block_until_ready(f(*xs))
            np.testing.assert_allclose(programs["ours"]().numpy(), programs["numpy"](), rtol=2e-2, atol=2e-2)
            times = interleave(programs, seconds / 2)
            found = [min(times["ours"]) * 1e6, min(times["numpy"]) * 1e6, ratio_of_best(times, "ours", "numpy")]
            if there:
                found += [min(times["jax"]) * 1e6, ratio_of_best(times, "ours", "jax")]
            row(name, n, *found)
    report.write("", f"Best times of alternating calls of `jit`; {SEGMENTS} segments.")
