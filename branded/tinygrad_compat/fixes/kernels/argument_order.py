"""A fix for the argument order of kernels: variables follow all buffers.

tinygrad gives a variable, such as the thread index, a slot counted from the number of buffers of the kernel. If a
buffer was simplified away, another buffer has that slot, and the two are swapped: a segmentation fault. Here variables
are counted from the highest slot, and a compiled kernel lists its arguments by position, as they are passed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _number_params(sink: UOp) -> UOp | None:
    params = [u for u in sink.toposort() if u.op is Ops.PARAM]
    free = [p for p in params if p.arg.slot == -1]
    first = max((p.arg.slot for p in params), default=-1) + 1
    slots = {p: p.replace(arg=dataclasses.replace(p.arg, slot=first + i)) for i, p in enumerate(free)}
    return sink.substitute(slots, walk=True) if free else None


def install() -> None:
    private_api.codegen.pm_number_params = PatternMatcher([(UPat(Ops.SINK, name="sink"), _number_params)])
    original = UOp.to_elf

    def to_elf(self: UOp) -> Any:
        elf = original(self)
        by_position = tuple((name, i, dtype, shape) for i, (name, _, dtype, shape) in enumerate(elf.signature))
        return dataclasses.replace(elf, signature=by_position)

    UOp.to_elf = to_elf  # type: ignore[method-assign]
