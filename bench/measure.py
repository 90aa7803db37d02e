"""Measurement of times, and counts of kernels and operations in graphs."""

from __future__ import annotations

import gc
import math
import os
import platform
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from tinygrad import Context, Device, Tensor
from tinygrad.uop.ops import UOp

import branded

Times = dict[str, list[float]]


def results(out: Any) -> list[Any]:
    """The leaves of nested tuples and lists."""
    return [leaf for part in out for leaf in results(part)] if isinstance(out, tuple | list) else [out]


# ---- graphs ----


def nodes(out: Any) -> int:
    """The size of the graph of these results."""
    return len(UOp.sink(*[t.uop for t in results(out)]).toposort())


def kernels(out: Any) -> list[UOp]:
    """Return the AST of each kernel that tinygrad schedules for lazy results, before BLAS replaces any.

    tinygrad keeps one UOp for equal ones, so two kernels are the same program if and only if they are one object.
    """
    first, *rest = results(out)
    with Context(BRANDED_CPU=0):  # type: ignore[no-untyped-call]
        return [call.src[0] for call in first.schedule_linear(*rest).src]


def shared(a: Iterable[UOp], b: Iterable[UOp]) -> int:
    """How many kernels two schedules have in common."""
    return sum((Counter(map(id, a)) & Counter(map(id, b))).values())


# ---- times ----


def interleave(
    programs: Mapping[str, Callable[[], Any]],
    seconds: float,
    warm: int = 4,
    least: int = 15,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Return the times of each program. They run in turns, so that a slow phase of the machine affects all of them.

    Each round has another order, so that no program always follows the same one.
    """
    for run in programs.values():
        for _ in range(warm):
            run()
    times: Times = {name: [] for name in programs}
    turns, order = list(programs.items()), random.Random(0)
    gc.collect()
    gc.disable()
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < least or time.perf_counter() < end:
        order.shuffle(turns)
        for name, run in turns:
            start = clock()
            run()
            times[name].append(clock() - start)
        rounds += 1
    gc.enable()
    return times


def check(name: str, left: Any, right: Any) -> None:
    """The two are the same numbers, up to the order in which floats are added."""
    for x, y in zip(results(left), results(right), strict=True):
        np.testing.assert_allclose(_numbers(x), _numbers(y), rtol=1e-3, atol=1e-4, err_msg=name)


def _numbers(x: Any) -> np.ndarray:
    return x.numpy() if isinstance(x, Tensor) else np.asarray(x)


def ratio(times: Times, a: str, b: str) -> float:
    """How many times as long `a` takes as `b`: the median over the rounds; nan where the clock saw nothing of `b`."""
    return median([x / y for x, y in zip(times[a], times[b], strict=True) if y] or [math.nan])


def ratio_of_best(times: Times, a: str, b: str) -> float:
    """The same of their best times: on a busy machine, threads that wait for each other spoil the others."""
    return min(times[a]) / min(times[b])


def milliseconds(times: Times, a: str) -> float:
    return median(times[a]) * 1e3


def best(times: Times, a: str) -> float:
    return min(times[a]) * 1e3


# ---- reports ----


def machine() -> list[str]:
    """Return the facts that the figures depend on: date, machine and versions."""
    renderer = Device[Device.DEFAULT].renderer
    target = ":".join(str(part) for part in (Device.DEFAULT, getattr(renderer.target, "arch", "")) if part)
    packages = f"branded {branded.__version__}, tinygrad {version('tinygrad')}, numpy {np.__version__}"
    return [
        f"- machine: {processor()}, {platform.system()} {platform.machine()}",
        f"- python: {platform.python_implementation()} {platform.python_version()}; {packages}",
        f"- device: {target}, {type(renderer).__name__}",
    ]


def processor() -> str:
    """Return the name of the processor, and how many cores it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return f"{next(named, platform.processor() or 'unknown processor')}, {os.cpu_count()} cores"


class Report:
    """Lines that are printed as they come, and kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, *lines: str) -> None:
        for line in lines:
            print(line, flush=True)
        self.lines += lines

    def table(self, title: str, *columns: str, wide: int = 36) -> Callable[..., None]:
        """Start a Markdown table and return a function that adds a row: a text, then numbers."""
        widths = [wide, *(max(len(c), 7) for c in columns[1:])]

        def row(*cells: object) -> None:
            first, *rest = (_text(c).rjust(w) for c, w in zip(cells, widths, strict=True))
            self.write(f"| {first.strip().ljust(wide)} | {' | '.join(rest)} |")

        self.write("", f"## {title}", "")
        row(*columns)
        self.write(f"|{'-' * (wide + 2)}|{'|'.join('-' * (w + 1) + ':' for w in widths[1:])}|")
        return row


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}" if cell < 100 else f"{cell:.0f}"
    return "" if cell is None else str(cell)
