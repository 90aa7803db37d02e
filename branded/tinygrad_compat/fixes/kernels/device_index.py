"""A fix for kernels on several devices: the device index is not confused with a loop index.

In such a kernel, a range gives the index of the device. The loops that optimizations add are numbered after the
existing loops, but tinygrad does not count that range. The first new loop may get its number, and the code generator
then unrolls both. `X.shard(("CPU:0", "CPU:1"), 0).sum(1) + Tensor.arange(2)` raises "attempting multiple stores".
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
