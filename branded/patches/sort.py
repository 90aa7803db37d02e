"""`sort`, `topk` and `argsort` are one call of numpy on the CPU, where the room for the CPU is on."""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.helpers import Context

from branded import patches
from branded.cpu.kernels import room
from branded.patches.methods import Method, nested, running, wrap
from branded.patches.tg import all_int
from branded.runner import native


def _suits(x: Any, dim: Any) -> bool:
    """Is there something to sort, in memory that numpy can read?"""
    if not (room.value and isinstance(x, Tensor) and isinstance(dim, int) and x.dtype not in dtypes.weaks):
        return False
    if not (-x.ndim <= dim < x.ndim and all_int(x.shape) and 0 not in x.shape and x.shape[dim] > 1):
        return False
    return isinstance(x.device, str) and _is_of_the_host(x.device)


@functools.cache
def _is_of_the_host(device: str) -> bool:
    with Context(ALLOW_DEVICE_USAGE=1):  # type: ignore[no-untyped-call]  # also where a @function is traced
        return native.can_run(device)


def _sort(original: Method) -> Method:
    inner, names = nested(original), running()

    def sort(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
        if not _suits(self, dim):
            found: tuple[Tensor, Tensor] = (original if names() is None else inner)(self, dim, descending)
            return found
        from branded.callbacks import sorting

        return sorting.sort(inner, self, dim, bool(descending))

    return sort


def install() -> None:
    """Not where tinygrad is to be left as it is."""
    if patches.installed:
        wrap("sort", _sort)
