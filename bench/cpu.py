"""Compare the processor time of programs with the kernels of the CPU backend and with tinygrad's own.

Processor time does not depend on other work of the machine. It is the sum over all threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Device, Tensor

from bench.measure import Report, check, interleave, ratio
from bench.peers import Peer
from bench.workloads import Input, Workload, attention, chain, floats, ints, pairwise
from branded import jit, scan, vmap
from branded.backends import cpu


class Program(NamedTuple):
    name: str
    inputs: tuple[Input, ...]
    f: Callable[..., Any]


def rnn(xs: Tensor, w: Tensor, u: Tensor) -> Any:
    """The last state of a recurrent network."""
    return scan(lambda h, x: ((h @ w + x @ u).tanh(), None), xs[0] * 0, xs)[0]


PROGRAMS = (
    Program("elementwise chain, 1000 x 1000", (floats(1000, 1000),), vmap(chain)),
    Program("exp, 1000 x 1000", (floats(1000, 1000),), vmap(Tensor.exp)),
    Program("sums of rows, 1000 x 1000", (floats(1000, 1000),), vmap(Tensor.sum)),
    Program("largest of rows, 1000 x 1000", (floats(1000, 1000),), vmap(Tensor.max)),
    Program("sums of columns, 1000 x 1000", (floats(1000, 1000),), lambda x: x.sum(0)),
    Program("softmax, 2048 x 1024", (floats(2048, 1024),), vmap(Tensor.softmax)),
    Program("layernorm, 2048 x 1024", (floats(2048, 1024),), vmap(Tensor.layernorm)),
    Program("matvec, shared matrix, 512", (floats(512, 256), floats(256, 256)), vmap(Tensor.matmul, (0, None))),
    Program("batched matvec, 256 x 128²", (floats(256, 128, 128), floats(256, 128)), vmap(Tensor.matmul)),
    Program("all pairs, 512² x 32", (floats(512, 32), floats(512, 32)), pairwise),
    Program("attention, 8 x 128 x 64", (floats(8, 128, 64),) * 3, vmap(attention)),
    Program("conv2d, 32 x 8 x 16²", (floats(32, 8, 16, 16), floats(8, 8, 3, 3)), Tensor.conv2d),
    Program("conv2d, 16 x 32 x 28², 64", (floats(16, 32, 28, 28), floats(64, 32, 3, 3)), Tensor.conv2d),
    Program("gather, 256 x 512", (floats(256, 512), ints(512, 256, 64)), vmap(lambda x, i: x.gather(0, i))),
    Program("RNN, 128, 200 steps", (floats(200, 128), *(floats(128, 128, scale=1 / 16),) * 2), rnn),
)


def bench(report: Report, workloads: Sequence[Workload], peers: Sequence[Peer], seconds: float) -> None:
    """The programs. Only the names of `workloads` are used."""
    row = report.table("The CPU backend", "program", "tinygrad ms", "here ms", "gain")
    if Device.DEFAULT != "CPU":
        return report.write("", "It is for the CPU alone.")
    for p in PROGRAMS:
        rng = np.random.default_rng(0)
        xs = [Tensor(i.array(rng)).realize() for i in p.inputs]
        here, there = jit(p.f), jit(p.f)

        def plain(f: Any = there, xs: Any = xs) -> Any:
            with cpu.plain():
                return f(*xs)

        check(p.name, here(*xs), plain())
        times = interleave({"here": lambda f=here, xs=xs: f(*xs), "tinygrad": plain}, seconds, clock=time.process_time)
        row(p.name, median(times["tinygrad"]) * 1e3, median(times["here"]) * 1e3, ratio(times, "tinygrad", "here"))
    report.write("", "Medians of rounds that take turns, in time of the processor; `gain`: of how many times as long.")
    return None
