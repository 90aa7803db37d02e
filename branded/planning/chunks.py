"""Chunks: a batch that is mapped in pieces, each of which is worked out by itself in memory that the pieces share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tinygrad import Device, Tensor, dtypes, function
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded import tree
from branded.brand import Brand, as_size
from branded.crossing import lower
from branded.devices.layout import gathered
from branded.errors import OptionError
from branded.graph import tensor
from branded.patches import tg
from branded.patches.alignment import is_view
from branded.patches.rand import Draws
from branded.patches.tg import _function, all_tensors
from branded.rows import row_of
from branded.rules.storage import in_memory
from branded.scope import Blocks, in_call_body, open_brands, outside
from branded.tree.given import check_flag


def chunk_of(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    part = x.shrink(tuple((start, stop) if i == axis else None for i in range(x.ndim)))
    # where its chunk is no call of its own, it is an argument of the same kernels as the others
    return tensor(in_memory(part.uop)) if open_brands() or in_call_body() else part


def chunk_in_memory(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """A chunk that is worked out: where it begins is no number in a kernel, so that one serves all chunks."""
    part, last = chunk_of(x, axis, start, stop), int(x.shape[axis]) - (stop - start)
    if x.uop.is_virtual or not isinstance(x.device, str) or tg.disk_like(x.uop) or 0 in part.shape:
        return part
    if last and not is_view(part.uop):
        at = UOp.variable("branded_chunk", 0, last).bind(start)
        part = x.shrink(tuple((at, at + (stop - start)) if i == axis else None for i in range(x.ndim)))
    return part.contiguous().realize()


def drawn_in_memory(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """The draws of a chunk, as above, where they may be worked out: not in a part of a program or of a derivative."""
    from branded.planning.progress import is_traced

    with outside():
        return (chunk_of if row_of(x.uop) or is_traced() else chunk_in_memory)(x, axis, start, stop)


def as_one_step(inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
    """The results of a chunk, computed by one call that tinygrad schedules by itself.

    Its intermediate buffers are then free for the next chunk, and chunks of one size share its kernels.  Under an
    outer brand there is nothing to schedule yet, but it is said that each chunk is to be worked out by itself; such
    calls do not nest in tinygrad, nor take writes.
    """
    graph = UOp.sink(*lower([y.uop for y in outputs])).toposort()
    inside = open_brands() or in_call_body() or _function.depth
    if not outputs or inside or not all(map(_may_be_in_a_call, graph)):
        return [tensor(in_memory(y.uop)) for y in outputs]
    if any(y.uop.is_virtual or 0 in y.shape for y in outputs):
        return outputs
    # every tensor that there is may be asked for its gradient, so it must be an argument
    out = {y.uop for y in outputs}
    seen = [t for ref in list(all_tensors) if (t := ref()) is not None and t.uop in graph and t.uop not in out]
    arguments = [t for t in seen if not t.uop.is_virtual and not row_of(t.uop)]
    step = function(lambda *_: tuple(outputs), precompile=True, precompile_backward=True, allow_implicit=True)
    call = step(*inputs, *arguments)[0].uop.src[0]
    return [tensor(call.gettuple(i)) for i in range(len(outputs))]


def _may_be_in_a_call(u: UOp) -> bool:
    return u.op is not Ops.STORE and not (u.op is Ops.FUNCTION and u.arg.precompile)


def joined(parts: list[Tensor], axis: int, width: int = 16) -> Tensor:
    """The chunks as one tensor; joined in a tree, so that no kernel reads too many."""
    while len(parts) > 1:
        parts = [parts[i].cat(*parts[i + 1 : i + width], dim=axis) for i in range(0, len(parts), width)]
        if len(parts) > 1:
            parts = [p.contiguous() for p in parts]
    return parts[0]


# ---- a mapped call in chunks ----


def _is_nowhere(x: Any) -> bool:
    """Is it a tensor that has numbers and a dtype, and no device?"""
    return isinstance(x, Tensor) and x.uop.is_virtual and x.dtype not in dtypes.weaks and 0 not in x.shape


class How(NamedTuple):
    """What a vmap was told of its chunks."""

    size: int | Literal["auto"] | None = None
    limit: int | None = None
    progress: bool = False
    save: Path | None = None

    @classmethod
    def of(cls, size: Any, limit: Any, progress: Any, save: Any) -> How:
        """The options, as they were given."""
        if isinstance(size, str) and size != "auto":
            raise OptionError(f"chunk_size: {tree.shown(size)} is not a size", fix='"auto", or an int of 1 or more')
        size = size if size is None or size == "auto" else as_size(size, "chunk_size", 1, math.inf)
        if limit is not None:
            from branded.planning.limits import as_limit

            limit = as_limit(limit)
            if size != "auto":
                raise OptionError("memory_limit: the size of the chunks is not to be found", fix='chunk_size="auto"')
        check_flag(progress, "progress")
        if save is not None:
            from branded.planning.saved import directory

            save = directory(save)
        if (name := "save" if save is not None else "progress" if progress else "") and size is None:
            raise OptionError(f"{name}: there are no chunks", fix="chunk_size=1000 beside it")
        return cls(size, limit, progress, save)

    @property
    def is_by_steps(self) -> bool:
        """Is each chunk worked out before the next one is looked at?"""
        if not self.progress and self.save is None:
            return False
        from branded.planning.progress import is_traced

        if not is_traced():
            return True
        if self.save is not None:
            raise OptionError(
                "save: here nothing is worked out yet: this call is a part of a program or of a derivative",
                fix="vmap outside: vmap(jit(f), chunk_size=..., save=...)",
            )
        return False


WHOLE = How()
"""A batch that is not in chunks."""

Run = Callable[[Sequence[Any], int, Draws | None], Any]
"""The mapped call of so many examples, of the leaves of its arguments."""
Part = tuple[Any, list[Any], list[int]]
"""A result, its leaves, and which of them are a part of the whole."""


lookers: Blocks[list[Brand]] = Blocks("branded_lookers_at_a_chunk")
"""Those who look at a chunk, and are told which brands are opened in it."""


class Chunked:
    """A mapped call in chunks."""

    def __init__(
        self,
        how: How,
        run: Run,
        leaves: Sequence[Any],
        axes: Sequence[int | None],
        size: int,
        out_axes: Any,
        where: str,
        devices: int = 0,
    ) -> None:
        """With `devices` each chunk is on so many, and what they give is put together on the first of them."""
        self.devices, self.instead = devices, "leave out chunk_size"
        self.how, self.size, self.out_axes, self.where = how, size, out_axes, where
        self.run, self.leaves, self.axes = run, leaves, axes
        if devices:
            self.leaves = [x if a is None else gathered(x) for x, a in zip(leaves, axes, strict=True)]

    def result(self) -> Any:
        chunk = self._chunk()
        if self.devices:  # as many examples for each
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
        return self._whole(out, parts, pieces)

    def _part(
        self, start: int, chunk: int, draws: Draws, cut: Callable[[Tensor, int, int, int], Tensor] = chunk_of
    ) -> tuple[list[Any], Part]:
        """The arguments of a chunk, and its results."""
        draws.chunk(start)
        stop = min(start + chunk, self.size)
        given = [x if a is None else cut(x, a, start, stop) for x, a in zip(self.leaves, self.axes, strict=True)]
        out = self.run(given, stop - start, None if stop - start == self.size else draws)
        axes, ys = self._axes(out), tree.leaves(out)
        # a result that does not vary is whole in each chunk
        is_whole = stop - start == self.size
        pieces = [i for i, a in enumerate(axes) if a is not None and (is_whole or ys[i].shape[a] != self.size)]
        if self.devices:
            ys = [gathered(y) if i in pieces else y for i, y in enumerate(ys)]
        return given, (out, ys, pieces)

    def _axes(self, out: Any) -> list[tree.Axis]:
        return tree.spread(self.out_axes, out, "out_axes", "the result")

    def _whole(self, out: Any, parts: Sequence[Sequence[Any]], pieces: Sequence[int]) -> Any:
        axes = self._axes(out)
        whole = [
            joined(list(ys), axes[i] or 0) if i in pieces else ys[0] for i, ys in enumerate(zip(*parts, strict=True))
        ]
        return tree.rebuild(out, iter(whole))

    # ---- one after the other ----

    def _by_steps(self, chunk: int, starts: range) -> Any:
        """Each chunk is worked out, and saved, before the next; what is saved already is read."""
        from branded.planning.looked import looked_at
        from branded.planning.progress import bar
        from branded.planning.saved import Saved

        # what is not worked out yet would be so in each chunk
        if held := [x for x in self.leaves if isinstance(x, Tensor) and not x.uop.is_virtual]:
            Tensor.realize(*held)
        saved, is_mapped = None, [a is not None for a in self.axes]
        if self.how.save is not None or any(map(_is_nowhere, itertools.compress(self.leaves, is_mapped))):
            first = looked_at(lambda: self._part(0, chunk, Draws(self.size, self.instead))[1])
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
                    if held := [y for y in found if not y.uop.is_virtual]:
                        Tensor.realize(*held)
                    if saved is not None:
                        saved.put(k, found)
                else:
                    out, ys, pieces = saved.first
                parts.append([found[pieces.index(i)] if i in pieces else y for i, y in enumerate(ys)])
                made(stop - start)
        return self._whole(out, parts, pieces)

    def _place(self, us: list[UOp]) -> None:
        """Numbers that are in no memory, as `Tensor.arange`, are from now on where all of this is computed."""
        computed = [*us, *(u for u in UOp.sink(*us).toposort() if u.op in GroupOp.ALU)]
        device, *others = {u.device for u in computed if u.device is not None} or {Device.DEFAULT}
        if isinstance(device, str) and not others:
            self.leaves = [
                x.clone(device=device).realize() if a is not None and _is_nowhere(x) else x
                for x, a in zip(self.leaves, self.axes, strict=True)
            ]

    # ---- chunks of the size that fits ----

    def _chunk(self) -> int:
        if self.how.size != "auto":
            return self.size if self.how.size is None else self.how.size
        from branded.planning.fitting import Chunks
        from branded.planning.limits import free

        def run(chunk: int) -> tuple[list[Tensor], list[Brand]]:
            with lookers.during([]) as brands:
                ys = self._part(0, chunk, Draws(self.size, self.instead))[1][1]
            return [y for y in ys if isinstance(y, Tensor)], brands[1:]

        limit = self.how.limit
        if limit is None:
            device = next((x.device for x in self.leaves if isinstance(x, Tensor) and x.device), Device.DEFAULT)
            limit = free(device if isinstance(device, str) else device[0])
        return Chunks(run, self.size, limit, self.where).largest()
