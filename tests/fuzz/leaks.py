"""Measure memory and objects left by many calls:

`python -m tests.fuzz.leaks`; `tests/project/test_leaks.py` runs fewer.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tinygrad import Tensor
from tinygrad.helpers import GlobalCounters
from tinygrad.tensor import all_tensors
from tinygrad.uop.ops import UOpMetaClass

from branded import brand, grad, jit, scan, vmap
from branded.compile import compiled_loop
from branded.control_flow.loop_primitive import Loop
from branded.core.brand import Brand


class Left(NamedTuple):
    """Counts of objects, and memory."""

    tensors: int
    brands: int
    uops: int
    loops: int
    steps: int
    buffers: int
    """The memory of tensors, in bytes."""
    process: int
    """The memory of the process, in bytes."""


def now() -> Left:
    gc.collect()
    brands = sum(isinstance(x, Brand) for x in gc.get_objects())
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 if Path("/proc/self/statm").exists() else 0
    found = len(all_tensors), brands, len(UOpMetaClass.ucache), len(Loop.made), len(compiled_loop._steps)
    return Left(*found, GlobalCounters.mem_used, resident)


ROWS = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).realize()
WIDE = Tensor(np.ones((4, 1 << 20), dtype=np.float32)).realize()


def a_vmap(i: int) -> None:
    vmap(lambda x: (x * x).sum() + i)(ROWS)


def a_brand(i: int) -> None:
    with brand("i", 3) as b:
        b.unvec(b.vec(ROWS) * i)


def a_jit(i: int) -> None:
    held = Tensor([float(i)])
    f = jit(lambda x: (x * 2 + held).sum())
    for _ in range(3):  # the third call is a replay
        f(ROWS)


def a_scan(i: int) -> None:
    scan(lambda c, x: (c * (0.5 + i * 1e-4) + x, None), Tensor([0.0] * 4), ROWS)[0].realize()


def a_scan_of_a_constant(i: int) -> None:
    by = Tensor(0.5 + i * 1e-4)
    scan(lambda c, x: (c * by + x, None), Tensor([0.0] * 4), ROWS)[0].realize()


def a_gradient_of_a_scan(i: int) -> None:
    grad(lambda w: scan(lambda c, x: (c * w + x * (i + 2), None), w * 0, ROWS)[0].sum())(ROWS[0]).realize()


def a_wide_scan(i: int) -> None:
    """Scan with a carry of 4 MiB."""
    scan(lambda c, x: ((c + x).sin() * (0.5 + i * 1e-4), None), WIDE[0] * 0, WIDE)[0].realize()


CALLS: dict[str, tuple[Callable[[int], None], int]] = {
    "vmap": (a_vmap, 100_000),
    "with brand": (a_brand, 10_000),
    "jit of a new closure": (a_jit, 5_000),
    "scan with another number": (a_scan, 2_000),
    "scan with another Tensor(number)": (a_scan_of_a_constant, 500),
    "gradient of a scan with another number": (a_gradient_of_a_scan, 200),
    "scan of a carry of 4 MiB with another number": (a_wide_scan, 100),
}


def grown(call: Callable[[int], None], times: int, first: int = 10) -> Left:
    """Return the growth during `times` calls, after `first` warm-up calls."""
    for i in range(first):
        call(i)
    before = now()
    for i in range(first, first + times):
        call(i)
    return Left(*(b - a for a, b in zip(before, now(), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.leaks", description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="this part of the calls (default: all)")
    args = parser.parse_args()
    print("| what | calls | tensors | brands | UOps | loops | steps | buffers, KiB | process, MiB | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (call, times) in CALLS.items():
        times, start = max(1, int(times * args.part)), time.monotonic()
        left = grown(call, times, first=100)
        counts = " | ".join(f"{n:+d}" for n in left[:5])
        seconds = time.monotonic() - start
        memory = f"{left.buffers / 2**10:+.0f} | {left.process / 2**20:+.1f}"
        print(f"| {name} | {times:,} | {counts} | {memory} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
