"""`cumsum` of long axes is one call of C on the CPU, where the room for the CPU is on.

tinygrad adds up for each entry all those before it, of a long axis in two steps: a row of a thousand is 130,000
additions, and three kernels.  Of a short one that is left to it: the sums become part of the kernel around them.
"""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from branded import patches
from branded.patches.methods import Method, nested, running, wrap
from branded.patches.sort import suits

LONG = 32
"""An axis of so many entries is long."""
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _cumsum(original: Method) -> Method:
    inner, names = nested(original), running()

    def cumsum(self: Tensor, axis: int = 0) -> Tensor:
        if not suits(self, axis) or self.dtype not in _TYPES or self.shape[axis] < LONG:
            found: Tensor = (original if names() is None else inner)(self, axis)
            return found
        from branded.callbacks import running_sums

        return running_sums.cumsum(self, axis)

    return cumsum


def install() -> None:
    """Not where tinygrad is to be left as it is."""
    if patches.installed:
        wrap("cumsum", _cumsum)
