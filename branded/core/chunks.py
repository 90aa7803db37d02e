"""Chunks of a batch in vmap: the options of a call, and random samples that do not depend on the chunks.

`branded.chunking.chunked_call` runs the chunks.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from tinygrad import Tensor

from branded import tree
from branded.core.brand import Brand, as_size
from branded.core.tracing.state import is_deferred
from branded.core.validation.arguments import as_int, check_flag
from branded.errors import OptionError
from branded.tinygrad_compat.context_stack import ContextStack


class Draws:
    """The random samples of a chunked vmap, taken once for the whole batch so that chunks do not change them."""

    def __init__(self, size: int, instead: str, cut: Callable[[Tensor, int, int, int], Tensor] | None = None) -> None:
        """Start without samples; errors suggest the fix `instead`, and `cut` returns the chunk of a sample."""
        self.instead, self.cut = instead, cut
        self.size, self.made, self.next, self.start = size, list[Tensor](), 0, 0

    def chunk(self, start: int) -> None:
        self.next, self.start = 0, start

    def refuse(self, api_name: str, b: Brand) -> NoReturn:
        raise OptionError(
            f"{api_name}: brand `{b.name}` runs in chunks, so no operation sees all examples at the same time",
            fix=self.instead,
        )

    def reduced(self, api_name: str, x: Tensor, b: Brand, over: Callable[[Tensor], Tensor]) -> NoReturn:
        self.refuse(api_name, b)

    def take(self, draw: Callable[[], Tensor]) -> Tensor:
        if self.next == len(self.made):
            self.made.append(draw())
        self.next += 1
        return self.made[self.next - 1]


class ChunkOptions(NamedTuple):
    size: int | Literal["auto"] | None = None
    limit: int | None = None
    progress: bool = False
    save: Path | None = None

    @classmethod
    def of(cls, size: Any, limit: Any, progress: Any, save: Any) -> ChunkOptions:
        """Return the validated options."""
        if isinstance(size, str) and size != "auto":
            raise OptionError(
                f"chunk_size: {tree.short_repr(size)} is not a size", fix='pass "auto" or an int of 1 or more'
            )
        size = size if size is None or size == "auto" else as_size(size, "chunk_size", 1, math.inf)
        if limit is not None:
            limit = as_limit(limit)
            if size != "auto":
                raise OptionError("memory_limit: chunk_size is missing", fix='chunk_size="auto"')
        check_flag(progress, "progress")
        if save is not None:
            save = directory(save)
        if (name := "save" if save is not None else "progress" if progress else "") and size is None:
            raise OptionError(f"{name}: there are no chunks", fix="add chunk_size=1000")
        return cls(size, limit, progress, save)

    @property
    def is_by_steps(self) -> bool:
        """Whether each chunk is computed before the next one is planned."""
        if not self.progress and self.save is None:
            return False
        if not is_deferred():
            return True
        if self.save is not None:
            raise OptionError(
                "save: this call is traced by a program or a derivative, so there is no result to save",
                fix="move vmap outside: vmap(jit(f), chunk_size=..., save=...)",
            )
        return False


WHOLE = ChunkOptions()
"""The options of a call that runs the whole batch together."""

lookers: ContextStack[list[Brand]] = ContextStack("branded_lookers_at_a_chunk")
"""The observers of a chunk, which are notified of the brands opened in it."""


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def as_limit(limit: Any) -> int:
    """Return a limit in bytes, from an int or a text such as `"2GB"` or `"1.5 GiB"`."""
    size = as_int(limit)
    if isinstance(limit, str) and (match := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", limit.lower())):
        number, unit, binary = match.groups()
        size = int(float(number) * (1024 ** "kmgt".index(unit) * 1024 if unit and binary else _UNITS[unit]))
    if size is None or size < 1:
        raise OptionError(
            f"memory_limit: {tree.short_repr(limit)} is not a memory size", fix='pass bytes as an int, or "2GB"'
        )
    return size


def directory(save: Any) -> Path:
    if isinstance(save, str | os.PathLike) and isinstance(path := os.fspath(save), str) and path:
        return Path(path)
    raise OptionError(f"save: {tree.short_repr(save)} is not a directory", fix='save="run"')
