"""Mapped calls in chunks: each chunk is computed separately, in memory that the chunks share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Device, Tensor, dtypes, function
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded import tree
from branded.compile.loop_scheduling import CHUNK
from branded.control_flow.loops import map as map_examples
from branded.core import vmap
from branded.core.analysis.aliasing import in_memory
from branded.core.boundary import lower
from branded.core.brand import Brand
from branded.core.chunks import ChunkOptions, Draws, lookers
from branded.core.sharding.layout import to_first_device
from branded.core.tracing.state import is_differentiating
from branded.graph.rows import row_of
from branded.graph.scope import in_call_body, open_brands, outside
from branded.graph.uops import concatenate_chunks, living_tensors, moveaxis, realize_tensors, tensor
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.kernels.buffer_alignment import is_view
from branded.tinygrad_compat.private_api import _function

MANY = 32
"""The number of chunks from which they are the steps of a loop, which is traced and compiled once."""


def _slice_axis(x: Tensor, axis: int, start: int | UOp, stop: int | UOp) -> Tensor:
    return x.shrink(tuple((start, stop) if i == axis else None for i in range(x.ndim)))


def chunk_of(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    part = _slice_axis(x, axis, start, stop)
    # no call separates the chunks here; materialized arguments let all chunks share the same kernels
    return tensor(in_memory(part.uop)) if open_brands() or in_call_body() else part


def chunk_in_memory(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """Return a realized chunk; its start is a bound variable, so that one kernel serves all chunks."""
    part, last = chunk_of(x, axis, start, stop), int(x.shape[axis]) - (stop - start)
    if x.uop.is_virtual or not isinstance(x.device, str) or private_api.disk_like(x.uop) or 0 in part.shape:
        return part
    if last and not is_view(part.uop):
        at = UOp.variable("branded_chunk", 0, last).bind(start)
        part = _slice_axis(x, axis, at, at + (stop - start))
    return part.contiguous().realize()


def drawn_in_memory(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """Return the random samples of a chunk, realized unless they are batched or part of a trace or a derivative."""
    from branded.core.tracing.state import is_deferred

    with outside():
        return (chunk_of if row_of(x.uop) or is_deferred() else chunk_in_memory)(x, axis, start, stop)


def as_one_step(inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
    """Return the results of a chunk, computed by one call that tinygrad schedules separately.

    Its intermediate buffers are then free for the next chunk, and chunks of one size share its kernels.  Such calls
    cannot nest or contain writes, and under an outer brand nothing is scheduled yet.  In these cases the results are
    only marked to be materialized.
    """
    graph = UOp.sink(*lower([y.uop for y in outputs])).toposort()
    inside = open_brands() or in_call_body() or _function.depth
    if not outputs or inside or not all(map(_may_be_in_a_call, graph)):
        return [tensor(in_memory(y.uop)) for y in outputs]
    if any(y.uop.is_virtual or 0 in y.shape for y in outputs):
        return outputs
    # the user may ask for the gradient of any live tensor in the graph, so each is an argument
    out = {y.uop for y in outputs}
    seen = [t for t in living_tensors() if t.uop in graph and t.uop not in out]
    arguments = [t for t in seen if not t.uop.is_virtual and not row_of(t.uop)]

    def chunk(*_: Tensor) -> tuple[Tensor, ...]:
        return tuple(outputs)

    chunk.__qualname__ = CHUNK
    step = function(chunk, precompile=True, precompile_backward=True, allow_implicit=True)
    call = step(*inputs, *arguments)[0].uop.src[0]
    return [tensor(call.gettuple(i)) for i in range(len(outputs))]


def _may_be_in_a_call(u: UOp) -> bool:
    return u.op is not Ops.STORE and not (u.op is Ops.FUNCTION and u.arg.precompile)


def _is_nowhere(x: Any) -> bool:
    """Return whether `x` is a tensor with elements and a strong dtype but without a device."""
    return isinstance(x, Tensor) and x.uop.is_virtual and x.dtype not in dtypes.weaks and 0 not in x.shape


Run = Callable[[Sequence[Any], int, Draws | None], Any]
"""The mapped call, from the leaves of its arguments, the number of examples, and their random samples."""
Part = tuple[Any, list[Any], list[int]]
"""A result, its leaves, and the indices of the leaves that hold only a part of the batch."""


class Chunked:
    """A mapped call in chunks."""

    def __init__(
        self,
        how: ChunkOptions,
        run: Run,
        leaves: Sequence[Any],
        axes: Sequence[int | None],
        size: int,
        out_axes: Any,
        where: str,
        devices: int = 0,
        fix: str | None = None,
    ) -> None:
        """With `devices`, each chunk runs on that many devices, and the first of them gathers the results.

        `fix` is the suggestion in errors about programs that cannot run in chunks.
        """
        self.devices, self.instead = devices, fix or "leave out chunk_size"
        self.how, self.size, self.out_axes, self.where = how, size, out_axes, where
        self.run, self.leaves, self.axes = run, leaves, axes
        if devices:
            self.leaves = [x if a is None else to_first_device(x) for x, a in zip(leaves, axes, strict=True)]

    def result(self) -> Any:
        chunk = self._chunk()
        if self.devices:  # the same number of examples for each device
            chunk = max(chunk - chunk % self.devices, self.devices)
        if chunk >= self.size and not (self.size and self.how.is_by_steps):
            return self.run(self.leaves, self.size, None)
        starts = range(0, self.size, chunk)
        if self.how.is_by_steps:
            return self._by_steps(chunk, starts)
        draws, parts = Draws(self.size, self.instead), []
        for start in starts:
            given, (out, ys, pieces) = self._part(start, chunk, draws)
            mapped = [x for x, a in zip(given, self.axes, strict=True) if a is not None]
            if not self.devices:
                for i, y in zip(pieces, as_one_step(mapped, [ys[i] for i in pieces]), strict=True):
                    ys[i] = y
            parts.append(ys)
            looped = self.size // chunk - 1
            if start == 0 and pieces and looped >= MANY and not draws.made and self._may_be_a_loop():
                parts.append(self._loop(chunk, looped, out, ys, pieces))
                starts = starts[1 + looped :]
                if starts:
                    parts.append(self._part(starts[0], chunk, draws)[1][1])
                break
        return self._whole(out, parts, pieces)

    def _may_be_a_loop(self) -> bool:
        """Return whether many chunks may be the steps of a loop, whose body is traced once."""
        return not (self.devices or is_differentiating() or any(b.is_brand for b in open_brands()))

    def _loop(self, chunk: int, count: int, out: Any, first: Sequence[Any], pieces: Sequence[int]) -> list[Any]:
        """Return the results of `count` chunks after the first one; those that are not pieces are as in `first`."""
        is_mapped = [a is not None for a in self.axes]
        axes = [a for a in self.axes if a is not None]
        mapped = [
            moveaxis(_slice_axis(x, a, chunk, chunk * (1 + count)).unflatten(a, (count, chunk)), a, 0)
            for x, a in zip(itertools.compress(self.leaves, is_mapped), axes, strict=True)
        ]

        def step(xs: list[Tensor]) -> list[Tensor]:
            given = iter(xs)
            leaves = [next(given) if m else x for x, m in zip(self.leaves, is_mapped, strict=True)]
            ys = tree.leaves(self.run(leaves, chunk, None))
            return [ys[i] for i in pieces]

        results = list(first)
        out_axes = self._axes(out)
        for i, y in zip(pieces, map_examples(step, mapped), strict=True):
            a = (out_axes[i] or 0) % (y.ndim - 1)
            results[i] = moveaxis(y, 0, a).flatten(a, a + 1)
        return results

    def _part(
        self, start: int, chunk: int, draws: Draws, cut: Callable[[Tensor, int, int, int], Tensor] = chunk_of
    ) -> tuple[list[Any], Part]:
        """Return the arguments of a chunk and its results."""
        draws.chunk(start)
        stop = min(start + chunk, self.size)
        given = [x if a is None else cut(x, a, start, stop) for x, a in zip(self.leaves, self.axes, strict=True)]
        out = self.run(given, stop - start, None if stop - start == self.size else draws)
        axes, ys = self._axes(out), tree.leaves(out)
        # an unbatched result is complete in each chunk
        is_whole = stop - start == self.size
        pieces = [i for i, a in enumerate(axes) if a is not None and (is_whole or ys[i].shape[a] != self.size)]
        if self.devices:
            ys = [to_first_device(y) if i in pieces else y for i, y in enumerate(ys)]
        return given, (out, ys, pieces)

    def _axes(self, out: Any) -> list[tree.Axis]:
        return tree.broadcast_prefix(self.out_axes, out, "out_axes", "the result")

    def _whole(self, out: Any, parts: Sequence[Sequence[Any]], pieces: Sequence[int]) -> Any:
        axes = self._axes(out)
        whole = [
            concatenate_chunks(list(ys), axes[i] or 0) if i in pieces else ys[0]
            for i, ys in enumerate(zip(*parts, strict=True))
        ]
        return tree.rebuild(out, iter(whole))

    def _by_steps(self, chunk: int, starts: range) -> Any:
        """Compute and save each chunk before the next one; chunks that are already saved are read."""
        from branded.chunking.saved_chunks import Saved
        from branded.core.progress import bar
        from branded.core.tracing.dry_run import dry_run

        # an unrealized argument would be computed again in each chunk
        realize_tensors(self.leaves)
        saved, is_mapped = None, [a is not None for a in self.axes]
        if self.how.save is not None or any(map(_is_nowhere, itertools.compress(self.leaves, is_mapped))):
            first = dry_run(lambda: self._part(0, chunk, Draws(self.size, self.instead))[1])
            if self.how.save is not None:
                saved = Saved(self.how.save, first, self._axes(first[0]), self.size, chunk)
            self._place([y.uop for y in first[1] if isinstance(y, Tensor)])
        draws, parts = Draws(self.size, self.instead, drawn_in_memory), []
        with bar(self.size, self.where.split(" at ")[0], "examples") as made:
            for k, start in enumerate(starts):
                stop = min(start + chunk, self.size)
                if saved is None or (found := saved.get(k, stop - start)) is None:
                    out, ys, pieces = self._part(start, chunk, draws, chunk_in_memory)[1]
                    found = [ys[i].contiguous() for i in pieces]
                    realize_tensors(found)
                    if saved is not None:
                        saved.put(k, found)
                else:
                    out, ys, pieces = saved.first
                parts.append([found[pieces.index(i)] if i in pieces else y for i, y in enumerate(ys)])
                made(stop - start)
        return self._whole(out, parts, pieces)

    def _place(self, us: list[UOp]) -> None:
        """Move mapped arguments without a device, such as `Tensor.arange`, to the device of the computation."""
        computed = [*us, *(u for u in UOp.sink(*us).toposort() if u.op in GroupOp.ALU)]
        device, *others = {u.device for u in computed if u.device is not None} or {Device.DEFAULT}
        if isinstance(device, str) and not others:
            self.leaves = [
                x.clone(device=device).realize() if a is not None and _is_nowhere(x) else x
                for x, a in zip(self.leaves, self.axes, strict=True)
            ]

    def _chunk(self) -> int:
        if self.how.size != "auto":
            return self.size if self.how.size is None else self.how.size
        from branded.chunking.auto_chunk import Chunks
        from branded.chunking.device_memory import free

        def run(chunk: int) -> tuple[list[Tensor], list[Brand]]:
            with lookers.during([]) as brands:
                ys = self._part(0, chunk, Draws(self.size, self.instead))[1][1]
            return [y for y in ys if isinstance(y, Tensor)], brands[1:]

        limit = self.how.limit
        if limit is None:
            device = next((x.device for x in self.leaves if isinstance(x, Tensor) and x.device), Device.DEFAULT)
            limit = free(device if isinstance(device, str) else device[0])
        return Chunks(run, self.size, limit, self.where).largest()


def _run(*args: Any) -> Any:
    return Chunked(*args).result()


def install() -> None:
    vmap.chunk_runner = _run
