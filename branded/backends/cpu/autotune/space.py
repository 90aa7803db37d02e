"""The search space of autotuning: a kernel's loops after applying tinygrad's options.

The rule in `loops` chooses one variant by the form of a kernel.  This module lists the others worth benchmarking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tinygrad.uop.ops import AxisType, UOp

from branded.backends.cpu.autotune.config import TuneLevel
from branded.backends.cpu.renderer import loops
from branded.backends.cpu.renderer.kernel_marks import LOOPS
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.runtime.interrupt_safe_context import Afterwards
from branded.tinygrad_compat.private_api import KernelOptError, Opt, OptOps, Scheduler

Options = tuple[Opt, ...]

RULE = "rule"
"""The name of the variant that a kernel has without tuning."""
WIDEST = 16
"""The maximum factor by which tinygrad splits a loop in one option."""
WRITTEN_OUT: dict[TuneLevel, int] = {"fast": 1000, "best": 3000}
"""The limit on operations in a variant's innermost loops; a thousand of them take a tenth of a second to compile."""
AS_LONG = 30
"""The number of operations that an `exp` or similar counts as."""
TERMS = 4
"""The unroll factor of a sum."""
TILES = ((2, 8), (4, 4), (4, 8), (4, 16), (8, 8))
STRIPES = (4, 16, 32)
"""The additional candidates of "best": tiles of rows and elements, and lengths of a single row."""


class LoopsFound(Exception):
    """Raised where tinygrad would choose a kernel's options, to pass its loops to the caller."""

    def __init__(self, k: Scheduler) -> None:
        self.k = k


def loops_of(kernel: UOp, renderer: object) -> Scheduler | None:
    """Return the loops of a kernel before any option; None if tinygrad chooses no options for it."""
    with Afterwards(setattr, loops.looks, "raises", None):
        loops.looks.raises = LoopsFound
        try:
            private_api.full_rewrite_to_sink(kernel, renderer)
        except LoopsFound as found:
            return found.k
    return None


def rule(k: Scheduler) -> Scheduler:
    scheduler: Scheduler = private_api.heuristic.hand_coded_optimizations(k)
    return scheduler


def others(k: Scheduler, level: TuneLevel) -> dict[str, Scheduler]:
    """Return the variants other than the rule's, by name; `level` is "fast" or "best".

    A kernel with contiguous accesses and no sum has none: memory and arithmetic alone determine its time.
    """
    if not all(isinstance(n, int) for n in k.full_shape) or (not k.reduceops and loops.suits(k)):
        return {}
    graph, most = k.ast.toposort(), WRITTEN_OUT[level]
    operations = len(graph) + AS_LONG * sum(u.op in loops.DEAR for u in graph)
    variants, seen = dict[str, Scheduler](), {tuple(rule(k).applied_opts)}
    for name, variant in _all(k, level):
        if variant is None or (options := tuple(variant.applied_opts)) in seen:
            continue
        seen.add(options)
        if variant.upcast_size() * operations <= most:
            variants[name] = variant
    return variants


def _all(k: Scheduler, level: TuneLevel) -> Iterator[tuple[str, Scheduler | None]]:
    yield "tinygrad's", private_api.heuristic.hand_coded_optimizations.__wrapped__(k)
    lane = _lane(k)
    row = None if lane is None else _row(k, lane)
    yield "loops", _apply_and_divide(k, [LOOPS])
    yield "rows", None if (rows := loops.over_rows(k)) is None else loops.divide_among_cores(rows)
    if lane is None:
        return
    yield from _tile(k, lane, row, (1, 8), "loops")
    yield from _tile(k, lane, row, (1, 8), "vectors")
    yield from _tile(k, lane, row, (1, 16), "vectors")
    yield from _tile(k, lane, row, (1, 8), "vectors", TERMS)
    yield from _tile(k, lane, row, (4, 8), "vectors")
    if level == "best":
        for tile in (*((1, n) for n in STRIPES), *TILES):
            for vectorizer in ("vectors", "loops"):
                yield from _tile(k, lane, row, tile, vectorizer)
                yield from _tile(k, lane, row, tile, vectorizer, TERMS)


def _apply_and_divide(k: Scheduler, opts: Sequence[Opt]) -> Scheduler | None:
    """Apply the options and divide the kernel into one part per core; return None if tinygrad rejects them."""
    variant = k.copy()
    try:
        for opt in opts:
            variant.apply_opt(opt)
    except KernelOptError:
        return None
    return loops.divide_among_cores(variant, math.prod(k.full_shape))


def _tile(
    k: Scheduler, lane: int, row: int | None, tile: tuple[int, int], vectorizer: str, terms: int = 1
) -> Iterator[tuple[str, Scheduler | None]]:
    """Yield a tile of rows and contiguous elements; in a reduction, `terms` terms are unrolled.

    `vectorizer` "vectors" uses tinygrad's vectors, "loops" leaves the vectorization to clang.
    """
    rows, wide = tile
    if k.full_shape[lane] % wide or (rows > 1 and (row is None or k.full_shape[row] % rows)):
        return
    opts = [LOOPS] if vectorizer == "loops" else []
    opts += _upcast(lane, wide)
    if rows > 1 and row is not None:
        # a fully unrolled loop disappears, and the axes after it are renumbered
        opts += _upcast(row - (k.full_shape[lane] == wide and lane < row), rows)
    if terms > 1:
        opts.append(Opt(OptOps.UNROLL, 0, terms))
    yield f"{rows} x {wide}{f' x {terms}' if terms > 1 else ''} {vectorizer}", _apply_and_divide(k, opts)


def _upcast(axis: int, n: int) -> list[Opt]:
    if n <= WIDEST:
        return [Opt(OptOps.UPCAST, axis, n)]
    return [Opt(OptOps.UPCAST, axis, WIDEST), Opt(OptOps.UPCAST, axis, n // WIDEST)]


def _lane(k: Scheduler) -> int | None:
    """Return the loop of the result that accesses memory contiguously in most buffers."""
    counts = {i: _steps(k, i).count(1) for i in k.axes_of(AxisType.WEAK)}
    best = max(counts, key=lambda i: (counts[i], i), default=None)
    return best if best is not None and counts[best] else None


def _row(k: Scheduler, lane: int) -> int | None:
    """Return another loop of the result, along which most buffers are constant or contiguous."""
    counts = dict[int, tuple[int, int]]()
    for i in k.axes_of(AxisType.WEAK):
        steps = _steps(k, i)
        if i != lane and (steps.count(0) or steps.count(1)):
            counts[i] = steps.count(0), steps.count(1)
    return max(counts, key=lambda i: (counts[i], i), default=None)


def _steps(k: Scheduler, axis: int) -> list[int | None]:
    return [loops.step(b.src[1], k.rngs[axis]) for b in k.bufs]
