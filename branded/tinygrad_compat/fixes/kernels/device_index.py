"""The number of a device in a kernel for several devices is not taken for the index of a loop.

A kernel that runs on several devices knows by a range which of them it is on.  The loops that the options of a kernel
make are numbered behind those that it has, and that range is not counted: the first of them may have its number, and
then the code generator unrolls both.  `X.shard(("CPU:0", "CPU:1"), 0).sum(1) + Tensor.arange(2)` stops with
"attempting multiple stores".
"""

from __future__ import annotations

import itertools
from typing import Any

from tinygrad.uop.ops import Ops

from branded.tinygrad_compat import private_api


def install() -> None:
    original = private_api.Scheduler.__init__

    def init(self: Any, ast: Any, ren: Any) -> None:
        original(self, ast, ren)
        ranges = [u.arg[0] for u in self.ast.toposort() if u.op is Ops.RANGE]
        self.opt_range = itertools.count(max(ranges, default=0) + 1)

    private_api.Scheduler.__init__ = init
