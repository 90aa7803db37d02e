"""Tests whose numbers come from the graph: numpy realizes what they compute, and no kernel is compiled for it.

A file says `pytestmark = pytest.mark.by_numpy` where it is about what a graph says, and not about how it runs.  One
test in `EACH` of it is compiled all the same, and so is each with the mark `by_numpy(False)`.  One that fails is run
once more, by kernels, and what it says then is what is reported.  What runs by itself, as a function of `jit`, has its
kernels here too.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.compile import eager_cache
from branded.control_flow.primitive import Loop
from branded.graph.primitive import primitive_of
from branded.tinygrad_compat import private_api
from tests.support.by_numpy import Array, Unknown, values
from tests.support.examples import in_memory

EACH = 8
"""One test in so many is compiled."""
LARGE = 1 << 20
"""With so many numbers kernels are faster."""
DEVICES = {"CPU", "PYTHON"}


def is_compiled(name: str) -> bool:
    """Is this test one of those that are compiled?  It is in every run, or in none."""
    return zlib.crc32(name.encode()) % EACH == 0


@contextmanager
def by_numpy() -> Iterator[None]:
    """What is realized here is worked out by numpy, where numpy can tell."""
    original = Tensor.linear_with_vars

    def linear_with_vars(self: Tensor, *others: Tensor) -> Any:
        bases = [t.uop.base for t in (self, *others)]
        try:
            found = _numbers(bases)
        except Unknown:
            return original(self, *others)
        became = {u: in_memory(x, device=u.device).uop for u, x in zip(bases, found, strict=True)}
        private_api.tensor._apply_map_to_tensors(became, name="buffers")
        return UOp(Ops.LINEAR, src=()), {}

    cached = eager_cache.run_cached
    setattr(Tensor, "linear_with_vars", linear_with_vars)  # noqa: B010  mypy: a method
    setattr(eager_cache, "run_cached", lambda values: False)  # noqa: B010
    try:
        yield
    finally:
        setattr(Tensor, "linear_with_vars", original)  # noqa: B010
        setattr(eager_cache, "run_cached", cached)  # noqa: B010


def _numbers(bases: list[UOp]) -> list[Array]:
    """The values of what is to be realized.

    Raises:
        Unknown: Kernels do more than that: they write into what is there, they call functions of users, they run
            elsewhere, or are recorded.
    """
    if private_api.realize.capturing or any(
        u.device not in DEVICES or u.dtype is dtypes.bfloat16 or 0 in u.shape for u in bases
    ):
        raise Unknown("not in the memory of this process")
    for u in _all(bases):
        if u.op is Ops.CALL or (u.op is Ops.FUNCTION and (p := primitive_of(u)) is not None and p.is_atomic):
            raise Unknown("a call that is done once")
        if u.op is Ops.AFTER and not _is_first(u):
            raise Unknown("a write into what is there")
        if u.op in GroupOp.Movement | GroupOp.ALU | {Ops.BUFFER} and _is_large(u):
            raise Unknown("large")
    return values([Tensor(u) for u in bases])


def _all(roots: Iterable[UOp]) -> Iterator[UOp]:
    """All operations of a graph, and those in its functions and loops."""
    for u in UOp.sink(*roots).toposort():
        yield u
        if u.op is Ops.FUNCTION and isinstance(loop := primitive_of(u), Loop):
            yield from _all(loop.step.src)


def _is_first(u: UOp) -> bool:
    """Is this a write into memory in which there is nothing yet?"""
    x = u.src[0]
    while x.op in GroupOp.Movement | {Ops.BITCAST, Ops.AFTER}:
        x = x.src[0]
    return x.op is not Ops.BUFFER or not x.buffer.is_allocated()


def _is_large(u: UOp) -> bool:
    return math.prod(n if isinstance(n, int) else LARGE for n in u.shape) >= LARGE
