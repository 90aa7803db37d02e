"""Trace: the time to build a graph by vmap against the time to build it batched by hand.  Nothing is run."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from tinygrad import Tensor

from bench.measure import Report, Times, best, check, interleave, milliseconds, nodes, ratio, ratio_of_best
from bench.peers import Peer
from bench.workloads import Program, Workload, arrays
from branded import vmap
from branded.tinygrad_compat import gates as replaced_names

LIMIT = 1.3


def timed(mapped: Program, hand: Program, inputs: Sequence[Tensor], seconds: float) -> Times:
    check("trace", mapped(*inputs), hand(*inputs))
    return interleave({"vmap": lambda: mapped(*inputs), "hand": lambda: hand(*inputs)}, seconds)


def bench(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    of_workloads(report, workloads, [p for p in peers if p.trace is not None], seconds)
    of_depth(report, seconds)
    of_size(report, seconds)
    of_hooks(report, workloads, seconds)


def of_workloads(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    row = report.table(
        "Trace",
        *("workload", "nodes", "by hand", "ratio", "of best", "hand ms"),
        *(f"{p.name} ms" for p in peers),
        *(f"vs {p.name}" for p in peers),
    )
    ratios: list[float] = []
    for w in workloads:
        inputs = [Tensor(a).realize() for a in arrays(w)]
        times = timed(w.mapped, w.hand, inputs, seconds)
        found = {p.name: p.trace(w.name, arrays(w)) for p in peers if p.trace is not None}
        programs = {name: run for name, run in found.items() if run is not None}
        theirs = interleave({"vmap": functools.partial(w.mapped, *inputs), **programs}, seconds) if programs else {}
        ratios.append(ratio(times, "vmap", "hand"))
        row(
            *(w.name, nodes(w.mapped(*inputs)), nodes(w.hand(*inputs)), ratios[-1]),
            *(ratio_of_best(times, "vmap", "hand"), milliseconds(times, "hand")),
            *(best(theirs, p.name) if p.name in theirs else None for p in peers),
            *(ratio_of_best(theirs, "vmap", p.name) if p.name in theirs else None for p in peers),
        )
    row(f"median of {len(ratios)}", *[""] * 2, median(ratios), *[""] * (2 + 2 * len(peers)))
    over = sum(r > LIMIT for r in ratios)
    report.write(
        "",
        f"`ratio`: as in replay (goal: at most {LIMIT}; {over} of {len(ratios)} are above).",
        "`per-example gradients, derived`: vmap differentiates, the batching by hand has the formulas written out.",
        *([f"`vs {p.name}`: best time of vmap over the best of {p.traced_by}." for p in peers]),
    )


def body(x: Tensor) -> Tensor:
    return (x.layernorm() * 2 + 1).tanh().softmax().sum()


def batched_body(x: Tensor) -> Tensor:
    return (x.layernorm() * 2 + 1).tanh().softmax().sum(-1)


def nested(f: Program, depth: int) -> Program:
    return functools.reduce(lambda g, _: vmap(g), range(depth), f)


def of_depth(report: Report, seconds: float) -> None:
    """The same body under more and more vmaps: one pass batches it, however many there are."""
    row = report.table(
        "Trace, by depth of nesting", "vmaps around the body", "nodes", "by hand", "ratio", "vmap ms", "hand ms"
    )
    for depth in range(1, 7):
        x = Tensor.randn(*[2] * depth, 16).realize()
        mapped = nested(body, depth)
        times = timed(mapped, batched_body, [x], seconds)
        counts = nodes(mapped(x)), nodes(batched_body(x))
        row(depth, *counts, ratio(times, "vmap", "hand"), milliseconds(times, "vmap"), milliseconds(times, "hand"))


def long_chain(length: int) -> Program:
    def f(x: Tensor) -> Tensor:
        for i in range(length // 2):
            x = (x + float(i)).sin()
        return x

    return f


def of_size(report: Report, seconds: float) -> None:
    row = report.table(
        "Trace, by size of the graph", "operations in a chain", "nodes", "vmap ms", "hand ms", "µs each", "ratio"
    )
    x = Tensor.randn(8, 16).realize()
    for length in (0, 10, 100, 1000, 10000):
        f = long_chain(length)
        times = interleave({"vmap": functools.partial(vmap(f), x), "hand": functools.partial(f, x)}, seconds)
        ms, hand = milliseconds(times, "vmap"), milliseconds(times, "hand")
        each = (1e3 * ms / length, ratio(times, "vmap", "hand")) if length else (None, None)
        row(length, nodes(vmap(f)(x)), ms, hand, *each)


@contextmanager
def without_hooks() -> Iterator[None]:
    """Return the methods of tinygrad before branded is imported."""
    gates = {k: f for k, f in vars(Tensor).items() if getattr(f, "__globals__", None) is vars(replaced_names)}
    replaced = {k: f for k, f in gates.items() if hasattr(f, "__wrapped__")}
    for name, f in replaced.items():
        setattr(Tensor, name, f.__wrapped__)
    try:
        yield
    finally:
        for name, f in replaced.items():
            setattr(Tensor, name, f)


def of_hooks(report: Report, workloads: Sequence[Workload], seconds: float) -> None:
    """Measure the cost of importing branded for programs that do not use vmap."""
    ratios = []
    for w in workloads:
        inputs = [i.empty() for i in w.inputs]
        program = {"hand": functools.partial(w.hand, *inputs)}
        with_hooks, bare = [], []
        for _ in range(5):  # in blocks: a method that is replaced is slow for a while
            with_hooks += interleave(program, seconds / 20, warm=20)["hand"]
            with without_hooks():
                bare += interleave(program, seconds / 20, warm=20)["hand"]
        ratios.append(median(with_hooks) / median(bare))
    report.write(
        "",
        f"Plain tinygrad, traced with branded imported over without: {median(ratios):.3f} (median of the workloads).",
    )
