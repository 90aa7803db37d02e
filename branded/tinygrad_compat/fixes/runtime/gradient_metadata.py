"""A gradient says once which methods its operations come from, and not of constants, which all graphs share.

tinygrad adds the names of the methods to what it has said of each operation before, as if all of them were new.  The
constants of a gradient are not: with each gradient a process keeps one more name for good, and every kernel with such
a constant is kept on disk with all of them.  After some thousand gradients that takes longer than to make the kernel.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api


class Once:
    """The names of the methods that operations come from, as a gradient adds to them."""

    def __init__(self, names: MutableMapping[UOp, tuple[Any, ...]]) -> None:
        self._names = names

    def get(self, u: UOp, default: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._names.get(u, default)

    def __setitem__(self, u: UOp, names: tuple[Any, ...]) -> None:
        if u.op is not Ops.CONST:
            self._names[u] = tuple(dict.fromkeys(names))


def install() -> None:
    setattr(private_api.gradient, "all_metadata", Once(private_api.all_metadata))  # noqa: B010  mypy: a dictionary
