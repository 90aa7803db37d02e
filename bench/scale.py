"""`python -m bench.scale`: time and memory by the number of examples, chunks, levels, operations and steps.

The page also has predictions of memory, a step on several devices, the cost of a cluster's task, and an interrupted
run.
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
"""The number of calls of a compiled program, of which the fastest counts."""


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


# ---- growth ----


def batches() -> Iterator[tuple[int, Figures]]:
    """Compute the gradient of a layer for each example and sum their squares.

    Memory is linear. Time is linear for batches whose work exceeds the overhead of a call. An example takes longer when
    the intermediate values no longer fit the cache.
    """
    w = floats(16, 8)
    loss = lambda w, x: (x @ w).tanh().square().sum()  # noqa: E731
    f = lambda w, xs: vmap(lambda x: grad(loss)(w, x).square().sum())(xs)  # noqa: E731
    for n in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000):
        yield n, figures(f, w, floats(n, 16))


def chunks() -> Iterator[tuple[int, Figures]]:
    """Compute a table of 16 kB for each of 10,000 examples, holding the intermediate values of one chunk at a time.

    Chunks share their kernels, so the first call grows little, and later calls take the same time.
    """
    f = lambda a: (a.reshape(64, 1) * a).contiguous().sin().sum(0)  # noqa: E731
    for n in (1, 4, 16, 64):
        yield n, figures(vmap(f, chunk_size=10_000 // n if n > 1 else None), floats(10_000, 64))


def depths() -> Iterator[tuple[int, Figures]]:
    """Nest vmaps of four examples each, and combine the values of all levels in one sum.

    The number of cells is 4 to the power of the depth. Memory and time are proportional to it, since nested vmaps have
    no cost at run time. The first call grows with the number of axes of the kernel.
    """
    xs = floats(4)

    def nested(depth: int, total: Any) -> Any:
        return vmap(lambda a: nested(depth - 1, total + a))(xs) if depth else total.sin()

    for depth in range(1, 9):
        yield depth, figures(lambda x, depth=depth: nested(depth, x), floats(1).reshape(()))


def operations() -> Iterator[tuple[int, Figures]]:
    """Compute a chain of products and sums for 1000 examples, with one kernel for each 50 operations.

    The first call is linear in the number of operations, since each is traced and scheduled. Memory does not grow,
    because only the next kernel needs a value.
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
    """Run a recurrence of 16 numbers that stacks one number per step.

    The first call does not grow, since the step is traced and compiled once. Time and memory are linear in the stacked
    numbers.
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
    "`python -m bench.scale --minutes 60 --markdown bench/SCALE.md` writes this page, or only the named parts.",
    "`first`: the first call of a compiled function, in seconds of this process, without compiler processes and with",
    "the disk cache of earlier runs. `call`: the fastest of five later calls. `each`: this time for one example, cell,",
    "operation or step. `predicted`: the peak memory of a call apart from its arguments, as `memory` predicts it;",
    "`measured`: the actual peak.",
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


# ---- other parts of the page ----


def memories(report: Report, options: argparse.Namespace) -> None:
    # malloc returns its memory to the system, so that the second run requests it again
    own = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    command = [sys.executable, "-m", "tests.support.memory_cases"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True, check=True)
    report.write(
        "The prediction of `memory`, and measurements of tinygrad's buffers and of the resident set of a process."
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
        "A step of training (`examples/data_parallel.py`): 8 models on 65,536 examples of 64 numbers, sharded over",
        "the devices. The devices of one CPU share its cores, so nothing is gained; `--devices CUDA:0,CUDA:1` names",
        "others.",
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
    "memory": ("Predicted memory", memories),
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
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="replace the printed parts in this file")
    parser.add_argument("--minutes", type=float, default=1, help="how long the interrupted run is (default 1)")
    parser.add_argument("--devices", action="append", default=[], metavar="A,B", help="devices besides the default one")
    options = parser.parse_args(sys.argv[1:] if argv is None else argv)
    if unknown := [w for w in options.what if w not in PARTS]:
        parser.error(f"nothing here is called {unknown[0]!r}; there are {', '.join(PARTS)}")
    report = Report()
    report.write(f"# Scaling on {Device.DEFAULT}", "", *machine(), "", *_LEGEND)
    for what, (title, part) in PARTS.items():
        if not options.what or what in options.what:
            report.write("", f"## {title}", "")
            part(report, options)
    if options.markdown:
        page = options.markdown.read_text() if options.markdown.exists() else ""
        options.markdown.write_text(merged(page, report.lines))


if __name__ == "__main__":
    main()
