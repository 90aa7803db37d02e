"""The kernels of a function that reads values: it runs once, and each graph that it computes is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.device import Buffer
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.compile import eager_cache
from branded.compile.kernel_times import Timed, kernels
from branded.errors import source
from branded.tinygrad_compat import activation
from branded.tools.profile.lines import Line


def kernels_of_run(
    f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Timed], list[Line]]:
    """Run `f`, and return its kernels in the order of execution, and the lines that read or realize values.

    The kernels that compute the results are the last ones, and belong to no line. Tensors that `f` writes in place get
    their values back.
    """
    measured: list[tuple[tuple[str, int], list[Timed]]] = []
    before: dict[Buffer, Buffer] = {}

    def measure(values: Sequence[Tensor]) -> None:
        frame = source.frame()
        place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        measured.append((place, _kernels_of([t.uop for t in values], before)))

    with activation.running_block(), eager_cache.watchers.during(measure):
        out = f(*args, **kwargs)
    results = _kernels_of([x.uop for x in tree.leaves(out) if isinstance(x, Tensor)], before)
    _restore(before)
    lines: dict[tuple[str, int], list[Timed]] = {}
    for place, timed in measured:
        lines.setdefault(place, []).extend(timed)
    whole = [k for _, timed in measured for k in timed] + results
    return whole, [Line(*place, timed) for place, timed in sorted(lines.items()) if timed]


def _kernels_of(values: Sequence[UOp], before: dict[Buffer, Buffer]) -> list[Timed]:
    """Time the kernels of these values, keep the contents of the memory that they write, and add it to `before`."""
    contents = {b: _contents(b) for b in _memory_written(values)}
    for b, content in contents.items():
        before.setdefault(b, content)
    try:
        return kernels([u for u in values if u.device is not None])
    finally:
        _restore(contents)


def _memory_written(values: Sequence[UOp]) -> set[Buffer]:
    """Return the memory that the graphs write in place."""
    targets = [u.src[0] for u in UOp.sink(*values).toposort() if u.op is Ops.STORE]
    memory = [u.buffer for u in UOp.sink(*targets).toposort() if u.op is Ops.BUFFER and u.is_realized]
    return {b for b in memory if isinstance(b, Buffer)}


def _contents(b: Buffer) -> Buffer:
    return Buffer(b.device, b.size, b.dtype).ensure_allocated().copy_from(b)


def _restore(contents: Mapping[Buffer, Buffer]) -> None:
    for b, content in contents.items():
        b.copy_from(content)
