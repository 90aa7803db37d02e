"""A fix for the metadata of gradients: each method name is stored once, and constants store none.

tinygrad appends the names of the methods to the metadata of each operation, as if all operations were new. But all
graphs share the constants, so each gradient adds a name that the process keeps, and the disk cache stores them with
every kernel. After some thousand gradients, that takes longer than compiling the kernel.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api


class Once:
    """A view of the method names by operation, through which a gradient adds names."""

    def __init__(self, names: MutableMapping[UOp, tuple[Any, ...]]) -> None:
        self._names = names

    def get(self, u: UOp, default: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._names.get(u, default)

    def __setitem__(self, u: UOp, names: tuple[Any, ...]) -> None:
        if u.op is not Ops.CONST:
            self._names[u] = tuple(dict.fromkeys(names))


def install() -> None:
    setattr(private_api.gradient, "all_metadata", Once(private_api.all_metadata))  # noqa: B010  mypy: a dictionary
