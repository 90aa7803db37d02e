"""The demo on a cluster: nearest neighbors among digits whose pairs do not all fit into memory."""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from branded.collectives.reductions import axis_index
from branded.core.brand import Brand
from branded.core.chunks import as_limit
from branded.dask import vmap
from branded.learn.demo import digits, show
from branded.typing import S, S1
from branded.vec import Vec


class Left(Brand): ...


class Right(Brand): ...


def distance(x: Vec[S], y: Vec[S1], kinds: int) -> Vec[Any]:
    """Return the squared distance between two digits; copies of the same digit are infinitely far apart."""
    is_copy = axis_index(Left) % kinds == axis_index(Right) % kinds
    return is_copy.where(float("inf"), (x - y).square().sum())


class Found(NamedTuple):
    """The results.

    Attributes:
        digits: The number of digits.
        accuracy: The share of digits whose nearest other digit is of the same class.
        bytes: The memory that all pairs would take.
        limit: The memory that pairs may take.
        seconds: The wall-clock time.
    """

    digits: int
    accuracy: float
    bytes: int
    limit: int
    seconds: float


def run(memory: str = "256MB", workers: int | None = None) -> Found:
    """Start a process for each core, and find the nearest neighbor of each digit in chunks of pairs.

    Args:
        memory: The memory for the pairs that are in memory at the same time; all pairs would take twice as much.
        workers: The number of processes; one for each core by default.

    Returns:
        The measured values.

    Raises:
        OptionError: `memory` is not a size, or dask is not installed.
    """
    limit, start = as_limit(memory), time.perf_counter()
    distributed = importlib.import_module("distributed")
    workers = workers or os.cpu_count() or 1
    data = digits.load()
    size = math.isqrt(limit // 2)  # 2 · limit / 4 bytes
    chunk = max(1, min(size, math.isqrt(limit // (16 * workers))))  # memory for a few chunks on each worker
    with cluster(workers) as here, distributed.Client(here) as client:
        pairs = f"all pairs are {size * size * 4 / 1e6:,.0f} MB"
        print(f"\n{size:,} digits, noisy copies of {len(data.labels):,}: {pairs}")
        print(f"{workers} processes, {limit / 1e6:,.0f} MB for pairs, chunks of {chunk:,} x {chunk:,}")
        print(f"dashboard: {client.dashboard_link}\n")
        nearest = client.compute(_nearest(data, size, chunk))
        if sys.stdout.isatty():
            distributed.progress(nearest, notebook=False)
        found = nearest.result()
    labels = data.labels[np.arange(size) % len(data.labels)]
    accuracy = float((labels == labels[found]).mean())
    seconds = time.perf_counter() - start
    share = show.style_text(f"{accuracy:.1%}", show.BOLD)
    print(f"\nthe nearest other digit is of the same class: {share}, {seconds:.1f} s")
    return Found(size, accuracy, size * size * 4, limit, seconds)


def cluster(workers: int) -> Any:
    """Start single-threaded processes, with the dashboard on loopback: only this machine can connect."""
    distributed = importlib.import_module("distributed")
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs="ERROR"
    )


def _nearest(data: digits.Digits, size: int, chunk: int) -> Any:
    """Return the index of the nearest other digit for each digit, as a dask array."""
    da = importlib.import_module("dask.array")
    kinds = len(data.labels)
    numbers = da.arange(size, chunks=chunk)
    rows = numbers.map_blocks(_digits, data.rows, new_axis=1, chunks=(numbers.chunks[0], (64,)), dtype="float32")
    pairs = vmap(lambda x: vmap(lambda y: distance(x, y, kinds), axis_name=Right)(rows), axis_name=Left)(rows)
    return pairs.argmin(axis=1)


def _digits(numbers: Any, rows: Any) -> Any:
    """Return the digits with these numbers, each copy with different noise."""
    noise = np.random.default_rng(int(numbers[0]) if len(numbers) else 0)
    return (rows[numbers % len(rows)] + 0.05 * noise.standard_normal((len(numbers), rows.shape[1]))).astype("float32")
