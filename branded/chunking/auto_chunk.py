"""`chunk_size="auto"`: the fewest chunks whose estimated memory stays under a limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tinygrad import Tensor

from branded.chunking.footprint import Footprint, footprint
from branded.core.brand import Brand
from branded.core.tracing.dry_run import dry_run
from branded.errors import MemoryLimitError, examples

WIDTH = 16
"""The number of chunks that are joined at a time."""
_CLOSE = 32
"""The search stops at a chunk size if a size larger by 1 / 32 would exceed the limit."""


class Chunks:
    """The memory of a mapped call in chunks, by the size of a chunk.

    `run(n)` returns the results of a chunk of `n` examples, as graphs, and the brands that it opened.
    """

    def __init__(
        self, run: Callable[[int], tuple[Sequence[Tensor], Sequence[Brand]]], size: int, limit: int, where: str
    ) -> None:
        self.run, self.size, self.limit, self.where = run, size, limit, where
        self.known: dict[int, Footprint] = {}
        self.inner: Sequence[Brand] = ()

    def of(self, chunk: int) -> Footprint:
        """Return the footprint of one chunk, traced once for each size."""
        if chunk not in self.known:
            self.known[chunk] = dry_run(lambda: self._measure(chunk))
        return self.known[chunk]

    def _measure(self, chunk: int) -> Footprint:
        results, self.inner = self.run(chunk)
        return footprint([y.uop for y in results])

    def total(self, chunk: int) -> int:
        """Return the bytes of the whole call: one chunk, the results of all chunks, and their joined copies."""
        memory, count = self.of(chunk), math.ceil(self.size / chunk)
        if count == 1:
            return memory.taken
        results = math.ceil(memory.results / chunk * self.size)
        levels, n = 0, count
        while n > 1:
            levels, n = levels + 1, math.ceil(n / WIDTH)
        return results * (1 + levels) + memory.taken - memory.results

    def largest(self) -> int:
        """Find the chunk size for the fewest chunks within the limit.

        Raises:
            MemoryLimitError: A single example exceeds the limit.
        """
        low, high = 1, self.size
        if high <= 1 or self.total(high) <= self.limit:
            return max(high, 1)
        if self.total(low) > self.limit:
            raise self._refusal()
        while high - low > max(1, low // _CLOSE):
            chunk = self._between(low, high)
            if self.total(chunk) > self.limit:
                high = chunk
                continue
            low, above = chunk, chunk + max(1, chunk // _CLOSE)
            if above < high and self.total(above) <= self.limit:
                low = above
            else:
                break
        return math.ceil(self.size / math.ceil(self.size / low))

    def _between(self, low: int, high: int) -> int:
        """Return the size at which the memory, interpolated linearly between two sizes, reaches the limit."""
        a, b = self.total(low), self.total(high)
        chunk = low + (self.limit - a) * (high - low) // max(b - a, 1)
        return min(max(chunk, low + 1), high - 1)

    def _refusal(self) -> MemoryLimitError:
        one = self.of(1)
        results = one.results * self.size
        facts = [
            ("limit", _readable(self.limit)),
            ("results", f"{_readable(results)} for all {examples(self.size)}, and as much again for the chunks"),
            ("between", _readable(one.taken - one.results)),
            ("call", self.where),
        ]
        brands = sorted((b for b in self.inner if b.size > 1), key=lambda b: b.size, reverse=True)
        if 2 * results > self.limit:
            fix = "reduce the results in the function, call it on parts of the batch, or raise memory_limit"
        elif brands:
            b = brands[0]
            facts.append(("inner", f"`{b.name}` has {examples(b.size)}, {b.where}"))
            fix = f'use chunk_size="auto" with this memory_limit for `{b.name}`, or raise memory_limit'
        else:
            fix = "raise memory_limit, or use less memory per example: memory(f)(x) shows it"
        return MemoryLimitError(f"vmap: one example alone needs {_readable(self.total(1))}", *facts, fix=fix)


def _readable(size: int) -> str:
    """Format bytes in the notation of a limit: `24 B`, `1.5 MB`."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size} B"
