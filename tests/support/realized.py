"""Evaluate graphs by numpy instead of compiling kernels for them, in tests marked `by_numpy`.

Kernels still run if numpy cannot compute the value (`Unknown`): writes into existing memory, host callbacks, several
devices, and functions of `jit`. With `BRANDED_COMPILE=1`, which `make test-all` sets, every test is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.compile import eager_cache
from branded.control_flow.loop_primitive import Loop
from branded.graph.primitive import primitive_of
from branded.tinygrad_compat import private_api
from tests.support import by_numpy as evaluation
from tests.support.by_numpy import COMPILE_ALL, Array, Unknown, values
from tests.support.examples import in_memory

LARGE = 1 << 20
"""With this number of elements kernels are faster."""
DEVICES = {"CPU", "PYTHON"}

BY_NUMPY = """
from tests.support import realized
numbers = realized.by_numpy()
numbers.__enter__()
"""
"""The first cell of a notebook whose numbers come from the graph."""


def mode(markers: Container[str]) -> AbstractContextManager[None]:
    """Return the context in which a test with these markers runs."""
    if "compiled" in markers:
        return by_kernels()
    return by_numpy() if "by_numpy" in markers else nullcontext()


@contextmanager
def by_kernels() -> Iterator[None]:
    """Let kernels also compute the values that `read` would compute by numpy."""
    before, evaluation.is_compiled = evaluation.is_compiled, True
    try:
        yield
    finally:
        evaluation.is_compiled = before


@contextmanager
def by_numpy() -> Iterator[None]:
    """Evaluate by numpy each tensor that is realized in the block, if numpy can compute its value."""
    if COMPILE_ALL:
        yield
        return
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

    cached, computed = eager_cache.run_cached, eager_cache.compute
    setattr(Tensor, "linear_with_vars", linear_with_vars)  # noqa: B010  mypy: a method
    setattr(eager_cache, "run_cached", lambda *_, **__: False)  # noqa: B010
    setattr(eager_cache, "compute", lambda t: None)  # noqa: B010
    try:
        yield
    finally:
        setattr(Tensor, "linear_with_vars", original)  # noqa: B010
        setattr(eager_cache, "run_cached", cached)  # noqa: B010
        setattr(eager_cache, "compute", computed)  # noqa: B010


def _numbers(bases: list[UOp]) -> list[Array]:
    """Return the values to be realized.

    Raises:
        Unknown: Kernels are needed: they write into existing memory, call user functions, run on other devices, or are
            captured.
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
    """Yield all operations of a graph, including those in its functions and loops."""
    for u in UOp.sink(*roots).toposort():
        yield u
        if u.op is Ops.FUNCTION and isinstance(loop := primitive_of(u), Loop):
            yield from _all(loop.step.src)


def _is_first(u: UOp) -> bool:
    """Return whether this write goes into memory that is not allocated yet."""
    x = u.src[0]
    while x.op in GroupOp.Movement | {Ops.BITCAST, Ops.AFTER}:
        x = x.src[0]
    return x.op is not Ops.BUFFER or not x.buffer.is_allocated()


def _is_large(u: UOp) -> bool:
    return math.prod(n if isinstance(n, int) else LARGE for n in u.shape) >= LARGE
