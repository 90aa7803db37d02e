"""`python -m bench.scale`: how time and memory grow with examples, chunks, depth, operations and steps.

And what is predicted of memory, what a step takes on several devices, what a task of a cluster costs, and a run that is
interrupted.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import os
import re
import runpy
import subprocess
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

ROOT = Path(__file__).parent.parent
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


def chunks() -> Iterator[tuple[int, Figures]]:
    """A table for each of 10,000 examples, of 16 kB, in as many chunks; what is between is that of one chunk.

    Chunks share their kernels, so the first call grows little, and a call takes no longer.
    """
    f = lambda a: (a.reshape(64, 1) * a).contiguous().sin().sum(0)  # noqa: E731
    for n in (1, 4, 16, 64):
        yield n, figures(vmap(f, chunk_size=10_000 // n if n > 1 else None), floats(10_000, 64))


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
    "chunks": ("Chunks", chunks),
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
    "`python -m bench.scale --minutes 60 --markdown bench/SCALE.md` writes this page; with the names of parts, these",
    "alone. `first`: the first call of a compiled function, in seconds of this process; compilers are others, and",
    "what an earlier run left on disk is used. `call`: the best of five later calls. `each`: that for one example,",
    "cell, operation or step. `predicted`: the most memory that a call takes beside its arguments, as `memory` says",
    "before it runs; `measured`: as it is.",
)


def _curve(what: str) -> Callable[[Report, argparse.Namespace], None]:
    return lambda report, _: curve(what, report)


def curve(what: str, report: Report) -> None:
    """How time and memory grow with one number."""
    law = inspect.getdoc(CURVES[what][1]) or ""
    report.write(*law.splitlines(), "", f"| {what} | first | call | each | predicted | measured |", f"|{'---|' * 6}")
    for n, f in CURVES[what][1]():
        cells = {"vmaps": 4**n, "chunks": 10_000}.get(what, n)
        row = (f"{n:,}", seconds(f.first), seconds(f.call), seconds(f.call / cells))
        report.write(f"| {' | '.join((*row, readable(f.predicted), readable(f.measured)))} |")


# ---- what else is on the page ----


def memories(report: Report, options: argparse.Namespace) -> None:
    # what malloc gets from the system goes back to it, so that the second run takes it again
    own = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    command = [sys.executable, "-m", "tests.support.memory_cases"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True, check=True)
    report.write(
        "What `memory` predicts beside what is measured, by tinygrad's buffers and by the resident set of a process."
    )
    report.write("", "| program | predicted | buffers | resident | predicted / resident |", f"|{'---|' * 5}")
    for name, found in json.loads(done.stdout).items():
        sizes = [readable(found[k]) for k in ("predicted", "tracked", "resident")]
        report.write(f"| {name} | {' | '.join(sizes)} | {found['predicted'] / found['resident']:.2f} |")


def devices(report: Report, options: argparse.Namespace) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "data_parallel.py"))
    kind, given = Device.DEFAULT, [d.split(",") for d in options.devices]
    sets = given or [[f"{kind}:{i}" for i in range(n)] for n in (2, 4) if kind == "CPU"]
    rng = np.random.default_rng(0)
    xs, ys = floats(65_536, 64), Tensor(rng.choice([-1.0, 1.0], 65_536).astype(np.float32)).realize()
    report.write(
        "A step of training (`examples/data_parallel.py`): 8 models on 65,536 examples of 64 numbers, which are on the",
        "devices. Those of one CPU share its cores, so nothing is gained; `--devices CUDA:0,CUDA:1` takes others.",
        "", "| devices | a step | largest difference of a weight |", "|---|---|---|",
    )  # fmt: skip
    one, _, time_of_one = example["train"](floats(8, 64), xs, ys, None, 20)
    report.write(f"| {kind} | {seconds(time_of_one)} | |")
    for names in sets:
        found, _, taken = example["train"](floats(8, 64), xs, ys, names, 20)
        apart = float(np.abs(found.numpy() - one.numpy()).max())
        report.write(f"| {', '.join(names)} | {seconds(taken)} | {apart:.0e} |")


def tasks(report: Report, options: argparse.Namespace) -> None:
    from bench import cluster

    cluster.bench(report)


def interrupted(report: Report, options: argparse.Namespace) -> None:
    from bench import endurance

    endurance.bench(report, options.minutes)


PARTS: dict[str, tuple[str, Callable[[Report, argparse.Namespace], None]]] = {
    **{what: (title, _curve(what)) for what, (title, _) in CURVES.items()},
    "memory": ("Memory that is predicted", memories),
    "devices": ("Devices", devices),
    "tasks": ("Tasks of dask", tasks),
    "interrupted": ("An interrupted run", interrupted),
}


def merged(page: str, lines: Sequence[str]) -> str:
    """The page with the parts that there are now, in the order of all parts, and the others as they were."""
    parts: dict[str, str] = {}
    for text in (page, "\n".join(lines)):
        head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
        parts[""] = head
        parts |= {section.partition("\n")[0]: section for section in sections}
    order = [title for title, _ in PARTS.values() if title in parts]
    return "\n\n".join([parts[""].strip(), *(f"## {parts[title]}".strip() for title in order)]) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"{', '.join(PARTS)}; all where none is named")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="put what is printed into a file, in its place")
    parser.add_argument("--minutes", type=float, default=1, help="how long the interrupted run is (default 1)")
    parser.add_argument("--devices", action="append", default=[], metavar="A,B", help="devices beside the default one")
    options = parser.parse_args(sys.argv[1:] if argv is None else argv)
    if unknown := [w for w in options.what if w not in PARTS]:
        parser.error(f"nothing here is called {unknown[0]!r}; there are {', '.join(PARTS)}")
    report = Report()
    report.write(f"# How it grows, on {Device.DEFAULT}", "", *machine(), "", *_LEGEND)
    for what, (title, part) in PARTS.items():
        if not options.what or what in options.what:
            report.write("", f"## {title}", "")
            part(report, options)
    if options.markdown:
        page = options.markdown.read_text() if options.markdown.exists() else ""
        options.markdown.write_text(merged(page, report.lines))


if __name__ == "__main__":
    main()
