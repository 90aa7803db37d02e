"""`python -m bench.scale`: how time and memory grow: with the batch, the depth, the operations, the steps of a loop."""

from __future__ import annotations

import argparse
import functools
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Device, Tensor
from tinygrad.device import Buffer
from tinygrad.helpers import GlobalCounters

from bench.measure import Report, machine
from branded import grad, jit, memory, scan, tree, vmap

CALLS = 5
"""Of so many calls of a compiled program the best counts."""


class Figures(NamedTuple):
    """Seconds of the first call, and of the best one after it; bytes, as predicted and as measured."""

    first: float
    call: float
    predicted: int
    measured: int


def floats(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32)).realize()


def figures(f: Callable[..., Any], *args: Tensor) -> Figures:
    """The first call is in time of the processor, of this process: the machine may have other work."""
    found = memory(jit(f))(*args)
    before, most = GlobalCounters.mem_used, _Most()
    with most:
        run = jit(f)
        start = time.process_time()
        out = run(*args)
        Tensor.realize(*tree.leaves(out))
        first = time.process_time() - start
    seconds = []
    for _ in range(CALLS):
        start = time.perf_counter()
        out = run(*args)
        seconds.append(time.perf_counter() - start)
    return Figures(first, min(seconds), found.peak - found.arguments, most.bytes - before)


class _Most:
    """The most memory that buffers have within the block."""

    def __enter__(self) -> None:
        self.bytes, self.allocate = GlobalCounters.mem_used, Buffer.allocate

        @functools.wraps(self.allocate)
        def allocate(buffer: Buffer, *args: Any, **kwargs: Any) -> Buffer:
            out = self.allocate(buffer, *args, **kwargs)
            self.bytes = max(self.bytes, GlobalCounters.mem_used)
            return out

        Buffer.allocate = allocate  # type: ignore[method-assign]

    def __exit__(self, *error: object) -> None:
        Buffer.allocate = self.allocate  # type: ignore[method-assign]


# ---- what grows ----


def batches() -> Iterator[tuple[int, Figures]]:
    """Gradients of a layer for each example, whose squares are summed.

    Memory is linear.  So is time, from where a call is more than its own cost; an example takes longer from where what
    is between does not fit the cache.
    """
    w = floats(16, 8)
    loss = lambda w, x: (x @ w).tanh().square().sum()  # noqa: E731
    f = lambda w, xs: vmap(lambda x: grad(loss)(w, x).square().sum())(xs)  # noqa: E731
    for n in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000):
        yield n, figures(f, w, floats(n, 16))


def depths() -> Iterator[tuple[int, Figures]]:
    """Vmaps in vmaps, of four examples each, all of whose values meet in one sum.

    There are 4 to the power of the depth cells, and memory and time go with them: a vmap within another one costs
    nothing when it runs.  The first call grows with the axes that the kernel has.
    """
    xs = floats(4)

    def nested(depth: int, total: Any) -> Any:
        return vmap(lambda a: nested(depth - 1, total + a))(xs) if depth else total.sin()

    for depth in range(1, 9):
        yield depth, figures(lambda x, depth=depth: nested(depth, x), floats(1).reshape(()))


def operations() -> Iterator[tuple[int, Figures]]:
    """A chain of products and sums, of which each 50 are a kernel, for 1000 examples.

    The first call is linear in the operations, each of which is traced and scheduled; memory does not grow, for a value
    is not needed any more after the next kernel.
    """
    for n in (10, 100, 1000, 10_000):

        def chain(x: Tensor, n: int = n) -> Tensor:
            for i in range(n // 2):
                x = x * 0.99 + 0.01
                if i % 25 == 24:
                    x = x.contiguous()
            return x

        yield n, figures(vmap(chain), floats(1000))


def steps() -> Iterator[tuple[int, Figures]]:
    """A recurrence of 16 numbers, of which each step keeps one.

    The first call does not grow: a step is traced and compiled once.  Time and memory are linear in what is kept.
    """
    for n in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        yield n, figures(lambda c, xs: scan(lambda c, x: ((c * 0.9 + x).tanh(), c[0]), c, xs), floats(16), floats(n))


CURVES: dict[str, tuple[str, Callable[[], Iterator[tuple[int, Figures]]]]] = {
    "examples": ("Batch", batches),
    "vmaps": ("Depth", depths),
    "operations": ("Graph", operations),
    "steps": ("Scan", steps),
}


def readable(size: float) -> str:
    return next(
        (f"{size / s:.4g} {u}" for u, s in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)) if size >= s), f"{size:.0f} B"
    )


def seconds(t: float) -> str:
    return next((f"{t * s:.3g} {u}" for u, s in (("s", 1), ("ms", 1e3)) if t * s >= 1), f"{t * 1e6:.3g} µs")


_LEGEND = (
    "`python -m bench.scale --markdown bench/SCALE.md` writes this page. `first`: the first call of a compiled",
    "function, in seconds of this process; compilers are others, and what an earlier run left on disk is used. `call`:",
    "the best of five later calls. `each`: that for one example, cell, operation or step. `predicted`: the most memory",
    "that a call takes beside its arguments, as `memory` says before it runs; `measured`: as it is.",
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"{', '.join(CURVES)}; all where none is named")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write what is printed to a file too")
    options = parser.parse_args(sys.argv[1:] if argv is None else argv)
    if unknown := [w for w in options.what if w not in CURVES]:
        parser.error(f"nothing here grows with {unknown[0]!r}; there are {', '.join(CURVES)}")
    report = Report()
    report.write(f"# How it grows, on {Device.DEFAULT}", "", *machine(), "")
    report.write(*_LEGEND)
    for what, (title, curve) in CURVES.items():
        if options.what and what not in options.what:
            continue
        law = inspect.getdoc(curve) or ""
        report.write(
            "", f"## {title}", "", *law.splitlines(), "", f"| {what} | first | call | each | predicted | measured |"
        )
        report.write("|---|---|---|---|---|---|")
        for n, f in curve():
            cells = 4**n if what == "vmaps" else n
            row = (f"{n:,}", seconds(f.first), seconds(f.call), seconds(f.call / cells))
            report.write(f"| {' | '.join((*row, readable(f.predicted), readable(f.measured)))} |")
    if options.markdown:
        options.markdown.write_text("\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()
