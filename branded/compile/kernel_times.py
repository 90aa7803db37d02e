"""The run time of each kernel of a graph, including kernels in the steps of loops.

Each kernel runs many times on the same buffers, from C if C can run it. The best time counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tinygrad import Device, dtypes
from tinygrad.device import Buffer
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.native import Ref
from branded.backends.cuda.launch import launcher
from branded.compile import compiled_loop
from branded.compile.linear_program import Arena, Linear, address_of, buffer_of, schedule
from branded.graph.uops import on_device
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import ansistrip

ENOUGH = 2e-3
"""The approximate duration of a measurement, in seconds."""
ROUNDS = 5
HOST = "host callback: "
"""The beginning of the name of a Python function that runs between kernels."""
_MOST = 10_000


class Timed(NamedTuple):
    """A kernel or a loop, with the totals over all its runs in one call of the program."""

    name: str
    seconds: float
    runs: int
    flops: float
    bytes: float
    depth: int = 0
    """The number of enclosing loops."""
    kernel: UOp | None = None
    """The program of tinygrad, for a kernel that it generated."""


def kernels(values: Sequence[UOp]) -> list[Timed]:
    """Time the kernels that compute these values, in execution order; a loop is followed by its kernels."""
    values = [u for u in values if 0 not in u.shape and not u.base.is_realized]
    values = [on_device(u.cast(strong_dtype(u.dtype))) for u in values]
    if not values:
        return []
    places = [UOp.new_buffer(u.device, int(u.max_numel()), u.dtype).reshape(u.shape) for u in values]
    linear = schedule(list(zip(places, values, strict=True)), [u.base for u in places])
    memory = Arena()
    slots = [Ref(1 + i) for i in range(len(places))]
    # all three turns of a loop use the same buffers
    ops = None if launcher(str(places[0].device)) else linear.ops([slots] * 3, memory, compiled_loop.tables)
    if ops is None:
        return list(_by_tinygrad(linear, [u.base for u in places]))
    scratch = Buffer("CPU", max(memory.most, 1), dtypes.uint8, preallocate=True)
    addresses = [address_of(UOp.from_buffer(scratch)), *(address_of(u.base) for u in places)]
    native.Plan(native.Table(ops)).run(addresses)  # one full run, so that each kernel is timed on realistic values
    return [t for op, call in zip(ops, linear.linear.src, strict=True) for t in _of(op, call, 1, 0, addresses)]


def _of(op: native.Op, call: UOp, runs: int, depth: int, addresses: Sequence[int], steps: int = 1) -> Iterator[Timed]:
    """Time a call and the kernels within it; `steps` is the length of the enclosing loop."""
    if isinstance(op, native.Hosted) and not op.is_c:
        seconds = seconds_of(lambda: native.Plan(native.Table([op])).run(addresses))
        yield Timed(f"{HOST}{call.src[0].arg.host.name}", seconds * runs, runs, 0, 0, depth)
        return
    if not isinstance(op, native.Inner) and op.step >= 0:  # it depends on the step index, so it is timed in a loop
        whole = native.Inner([native.Table([op], length=steps)] * 3)
        each = best(lambda n: native.Plan(native.Table([whole], length=n)).run, addresses) / max(steps, 1)
    else:
        each = best(lambda n: native.Plan(native.Table([op], length=n)).run, addresses)
    if isinstance(op, native.Inner):
        yield from _loop(op.turns[0], call, runs, depth, addresses, each)
        return
    flops, moved = _work(call)
    yield Timed(_kernel_name(call), each * runs, runs, flops * runs, moved * runs, depth, call.src[0])


def _loop(
    table: native.Table, call: UOp, runs: int, depth: int, addresses: Sequence[int], each: float
) -> Iterator[Timed]:
    loop = call.src[0].arg.loop
    steps, tests = compiled_loop.calls(loop)
    trip_count = native.Plan(table).run(addresses)
    copies = len(table.ops) - len(steps)  # of initial carries
    once = table.once - copies
    counts = [trip_count + 1] * len(tests) + [min(trip_count, 1)] * once + [trip_count] * (len(steps) - once)
    inner = [
        t
        for op, c, n in zip((*table.tests, *table.ops[copies:]), (*tests, *steps), counts, strict=True)
        for t in _of(op, c, runs * n, depth + 1, addresses, trip_count)
    ]
    within = [t for t in inner if t.depth == depth + 1]
    flops, moved = sum(t.flops for t in within), sum(t.bytes for t in within)
    yield Timed(f"{loop.api_name} of {trip_count} steps", each * runs, runs, flops, moved, depth)
    yield from inner


def best(run_of: Callable[[int], Callable[[Sequence[int]], Any]], addresses: Sequence[int]) -> float:
    """Return the best time of one run in seconds, measured over many consecutive runs in C."""
    one = run_of(1)
    one(addresses)
    n = max(1, min(_MOST, round(ENOUGH / max(seconds_of(lambda: one(addresses)), 1e-7))))
    many = run_of(n)
    return min(seconds_of(lambda: many(addresses)) for _ in range(ROUNDS)) / n


def seconds_of(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _by_tinygrad(linear: Linear, buffers: Sequence[UOp]) -> Iterator[Timed]:
    """Time the calls on another device: tinygrad runs each one, and we synchronize after it."""
    context = private_api.realize.ExecContext(dict(linear.vals), tuple(buffers), False, True, True)
    for u in buffers:
        buffer_of(u)
    for call in linear.linear.src:
        devices = Device[str(call.src[1].device).split(",")[0]]

        def run(call: UOp = call, device: Any = devices) -> None:
            private_api.pm_exec.rewrite(call, context)
            device.synchronize()

        run()
        flops, moved = _work(call)
        yield Timed(_kernel_name(call), min(seconds_of(run) for _ in range(ROUNDS)), 1, flops, moved, 0, call.src[0])


def _kernel_name(call: UOp) -> str:
    if call.src[0].op is Ops.COPY:
        return "copy"
    return str(ansistrip(private_api.realize.get_call_name(call, [])))


def _work(call: UOp) -> tuple[float, float]:
    """Return the number of operations of a call and the number of bytes that it reads and writes."""
    estimates = private_api.realize.estimate_uop(call)
    moved = _largest(estimates.mem)
    if not moved:
        moved = sum(u.max_numel() * u.dtype.itemsize for u in private_api.get_call_arg_uops(call))
    return _largest(estimates.ops), moved


def _largest(n: Any) -> float:
    return float(n.vmax if isinstance(n, UOp) else n)
