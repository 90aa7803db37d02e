"""The demo on a cluster: the nearest neighbours among more digits than there is memory for all pairs of."""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from typing import Any, NamedTuple, TypeVar

import numpy as np

from branded.collectives.reductions import axis_index
from branded.core.brand import Brand
from branded.core.chunks import as_limit
from branded.dask import vmap
from branded.learn.demo import digits, show
from branded.vec import Vec

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


class Left(Brand): ...


class Right(Brand): ...


def distance(x: Vec[S], y: Vec[S1], kinds: int) -> Vec[Any]:
    """Of one digit to another; that to another copy of itself does not count."""
    is_copy = axis_index(Left) % kinds == axis_index(Right) % kinds
    return is_copy.where(float("inf"), (x - y).square().sum())


class Found(NamedTuple):
    """What was found.

    Attributes:
        digits: How many there were.
        accuracy: How often the nearest other digit is of the same class.
        bytes: What all pairs would take.
        limit: What they may take.
        seconds: How long it took.
    """

    digits: int
    accuracy: float
    bytes: int
    limit: int
    seconds: float


def run(memory: str = "256MB", workers: int | None = None) -> Found:
    """Start a process for each core, and find the nearest neighbour of each digit in chunks of pairs.

    Args:
        memory: What the pairs that are there at a time may take; all of them take twice that.
        workers: How many processes; one for each core where it is not said.

    Returns:
        The numbers behind what is printed.

    Raises:
        OptionError: `memory` is no size, or there is no dask.
    """
    limit, start = as_limit(memory), time.perf_counter()
    distributed = importlib.import_module("distributed")
    workers = workers or os.cpu_count() or 1
    data = digits.load()
    size = math.isqrt(limit // 2)  # 2 · limit / 4 bytes
    chunk = max(1, min(size, math.isqrt(limit // (16 * workers))))  # each worker has a few chunks of pairs
    with cluster(workers) as here, distributed.Client(here) as client:
        pairs = f"all pairs are {size * size * 4 / 1e6:,.0f} MB"
        print(f"\n{size:,} digits, copies of {len(data.labels):,} with noise: {pairs}")
        print(f"{workers} processes, {limit / 1e6:,.0f} MB for pairs, chunks of {chunk:,} x {chunk:,}")
        print(f"dashboard: {client.dashboard_link}\n")
        nearest = client.compute(_nearest(data, size, chunk))
        if sys.stdout.isatty():
            distributed.progress(nearest, notebook=False)
        found = nearest.result()
    labels = data.labels[np.arange(size) % len(data.labels)]
    accuracy = float((labels == labels[found]).mean())
    seconds = time.perf_counter() - start
    share = show.styled(f"{accuracy:.1%}", show.BOLD)
    print(f"\nthe nearest other digit is of the same class: {share}, {seconds:.1f} s")
    return Found(size, accuracy, size * size * 4, limit, seconds)


def cluster(workers: int) -> Any:
    """Processes of one thread each, to which only this machine can connect: the dashboard too is on the loopback."""
    distributed = importlib.import_module("distributed")
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs="ERROR"
    )


def _nearest(data: digits.Digits, size: int, chunk: int) -> Any:
    """For each digit the number of the nearest other one, as an array of dask."""
    da = importlib.import_module("dask.array")
    kinds = len(data.labels)
    numbers = da.arange(size, chunks=chunk)
    rows = numbers.map_blocks(_digits, data.rows, new_axis=1, chunks=(numbers.chunks[0], (64,)), dtype="float32")
    pairs = vmap(lambda x: vmap(lambda y: distance(x, y, kinds), axis_name=Right)(rows), axis_name=Left)(rows)
    return pairs.argmin(axis=1)


def _digits(numbers: Any, rows: Any) -> Any:
    """The digits of these numbers, each copy with noise of its own."""
    noise = np.random.default_rng(int(numbers[0]) if len(numbers) else 0)
    return (rows[numbers % len(rows)] + 0.05 * noise.standard_normal((len(numbers), rows.shape[1]))).astype("float32")
