"""Compare replays of a vmap and of batching by hand, both compiled by TinyJit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from tinygrad import Device, Tensor, TinyJit

from bench.measure import (
    Report,
    Times,
    best,
    check,
    interleave,
    kernels,
    milliseconds,
    ratio,
    ratio_of_best,
    results,
    shared,
)
from bench.peers import Peer
from bench.workloads import Program, Workload, arrays


def replayed(f: Program, inputs: Sequence[Tensor]) -> Callable[[], None]:
    """`f` as one call that returns when the device is done."""

    def all_of(*xs: Tensor) -> tuple[Tensor, ...]:
        out = results(f(*xs))
        Tensor.realize(*out)
        return tuple(out)

    jit: Any = TinyJit(all_of)
    device = Device[Device.DEFAULT]

    def run() -> None:
        jit(*inputs)
        device.synchronize()

    return run


def of_peers(w: Workload, peers: Sequence[Peer], seconds: float) -> Times:
    """The times of the peers, in turns with ours; apart from those by hand, since their threads spin on for a while."""
    inputs = [Tensor(a).realize() for a in arrays(w)]
    reference = results(w.mapped(*inputs))
    programs: dict[str, Callable[[], Any]] = {"vmap": replayed(w.mapped, inputs)}
    for p in peers:
        if (made := p.replay(w.name, arrays(w))) is not None:
            programs[p.name], value = made
            check(f"{w.name}: {p.name}", reference, value)
    return interleave(programs, seconds) if len(programs) > 1 else {}


COLUMNS = ("workload", "kernels", "by hand", "same", "ratio", "of best", "hand ms")


def compared(w: Workload, seconds: float) -> list[Any]:
    """The cells of a workload, but for its name."""
    inputs = [Tensor(a).realize() for a in arrays(w)]
    ours, hand = kernels(w.mapped(*inputs)), kernels(w.hand(*inputs))
    check(w.name, w.mapped(*inputs), w.hand(*inputs))
    times = interleave({"vmap": replayed(w.mapped, inputs), "hand": replayed(w.hand, inputs)}, seconds)
    found = [ratio(times, "vmap", "hand"), ratio_of_best(times, "vmap", "hand"), milliseconds(times, "hand")]
    return [len(ours), len(hand), shared(ours, hand), *found]


def bench(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    row = report.table(
        "Replay",
        *COLUMNS,
        *(f"{p.name} ms" for p in peers),
        *(f"vs {p.name}" for p in peers),
    )
    ratios: list[float] = []
    for w in workloads:
        cells = compared(w, seconds)
        theirs = of_peers(w, peers, seconds) if peers else {}
        ratios.append(cells[3])
        row(
            *(w.name, *cells),
            *(best(theirs, p.name) if p.name in theirs else None for p in peers),
            *(ratio_of_best(theirs, "vmap", p.name) if p.name in theirs else None for p in peers),
        )
    row(f"median of {len(ratios)}", *[""] * 3, median(ratios), *[""] * (2 + 2 * len(peers)))
    report.write(
        "",
        "`kernels` and `by hand`: how many the scheduler makes; `same`: how many of them are the same AST.",
        "`ratio`: time of vmap over that of the batching by hand, with the kernels of tinygrad; median over rounds.",
        *([f"`vs {p.name}`: best time of vmap over the best of {p.what}." for p in peers]),
    )
