"""Print the predicted and the measured memory of programs as JSON: `python -m tests.support.memory_cases`.

The measurement needs a separate process, since the resident set belongs to a process.  Each program runs twice: after
the first run its kernels are compiled, the memory that the allocator keeps is freed, and the high-water mark is reset.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Device, Tensor
from tinygrad.device import Buffer
from tinygrad.helpers import GlobalCounters

from branded import grad, jit, memory, scan, tree, vmap
from branded.compile import eager_cache


class Case(NamedTuple):
    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ((q @ k.T) / 8).softmax() @ v


def loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return ((x @ w).tanh() - y).square().sum()


def steps(c: Tensor, xs: Tensor) -> tuple[Tensor, Tensor]:
    return scan(lambda c, x: ((c * 1.1).tanh() + x, c.sum()), c, xs)


CASES = {
    "outer product, reduced": Case(
        lambda x, y: vmap(lambda a: vmap(lambda b: (a - b).abs().sum())(y))(x), ((2000, 40), (1500, 40))
    ),
    "outer product, kept": Case(lambda x, y: vmap(lambda a: vmap(lambda b: a - b)(y))(x), ((200, 40), (300, 40))),
    "batched matmul": Case(lambda a, b: vmap(lambda a, b: (a @ b).tanh() @ b)(a, b), ((60, 200, 200), (60, 200, 200))),
    "attention": Case(lambda q, k, v: vmap(attention)(q, k, v), ((16, 400, 64),) * 3),
    "per-example gradients": Case(
        lambda w, xs, ys: vmap(grad(loss), in_axes=(None, 0, 0))(w, xs, ys), ((200, 50), (300, 200), (300, 50))
    ),
    "scan": Case(steps, ((1500, 1000), (2, 1500, 1000))),
    "gradient of a scan": Case(lambda c, xs: grad(lambda c: steps(c, xs)[0].sum())(c), ((500, 500), (10, 500, 500))),
    "convolution": Case(
        lambda k, xs: vmap(lambda x: x.unsqueeze(0).conv2d(k).relu()[0])(xs), ((16, 8, 3, 3), (40, 8, 50, 50))
    ),
    "convolution and norm": Case(
        lambda x, w, g: x.conv2d(w) * g.rsqrt().reshape(1, 32, 1, 1), ((256, 16, 24, 24), (32, 16, 3, 3), (32,))
    ),
    "sort": Case(lambda xs: vmap(lambda x: x.sort()[0])(xs), ((500, 6000),)),
    "argsort": Case(lambda xs: vmap(lambda x: x.argsort())(xs), ((500, 3000),)),
    "chunks": Case(
        lambda xs: vmap(lambda x: (x.reshape(500, 1) * x).softmax(0).max(1), chunk_size=20)(xs), ((60, 500),)
    ),
    "compiled": Case(jit(lambda q, k, v: vmap(attention)(q, k, v)), ((16, 400, 64),) * 3),
}


class _Highest:
    """Tracks the most memory that tinygrad's buffers have used since `begin`."""

    def __init__(self) -> None:
        self.most = 0
        allocate = Buffer.allocate

        def allocated(buffer: Buffer, *args: Any, **kwargs: Any) -> Buffer:
            out = allocate(buffer, *args, **kwargs)
            self.most = max(self.most, GlobalCounters.mem_used)
            return out

        Buffer.allocate = allocated  # type: ignore[method-assign]

    def begin(self) -> int:
        self.most = GlobalCounters.mem_used
        return self.most


def resident(what: str) -> int:
    """Return a figure of this process in bytes: `VmRSS`, or its maximum `VmHWM`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024


def run(f: Callable[..., Any], args: tuple[Tensor, ...]) -> list[Tensor]:
    out = tree.leaves(f(*args))
    Tensor.realize(*out)
    return out


def given_back() -> None:
    gc.collect()
    Device["CPU"].allocator.free_cache()


def measured(case: Case, highest: _Highest) -> dict[str, int]:
    args = tuple(
        Tensor(np.random.default_rng(i).normal(size=s).astype("f")).realize() for i, s in enumerate(case.shapes)
    )
    found = memory(case.f)(*args)
    given_back()
    before = highest.begin()
    out = run(case.f, args)
    tracked = highest.most - before
    if isinstance(case.f, type(jit(len))):  # memory that it keeps for the next call is not allocated again
        return {"predicted": found.peak - found.arguments, "tracked": tracked, "resident": tracked}
    del out
    given_back()
    Path("/proc/self/clear_refs").write_text("5")
    base = resident("VmRSS")
    out = run(case.f, args)
    most = resident("VmHWM") - base
    del out
    return {"predicted": found.peak - found.arguments, "tracked": tracked, "resident": most}


if __name__ == "__main__":
    setattr(eager_cache, "run_cached", lambda *_, **__: False)  # noqa: B010  cached programs keep their memory
    highest = _Highest()
    json.dump({name: measured(case, highest) for name, case in CASES.items()}, sys.stdout, indent=1)
