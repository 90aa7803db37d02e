"""The plan of a distributed function: its inputs, collectives and results, found by a trace without data.

In `vmap(lambda a: vmap(lambda b: a + b)(B))(A)`, loop 0 runs over the chunks of A and loop 1 over the chunks of B:

    inputs      A with the index (0,), B with the index (1,)
    results     the sum, with the index (0, 1): a task for each pair of chunks
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype

from branded import tree
from branded.core.tracing.body import LeafType, Steps
from branded.core.tracing.dry_run import dry_run
from branded.core.tracing.effect_tokens import Body, collect_effects
from branded.core.values import vec_type
from branded.core.vmap import MappedCall, Options
from branded.dask.conversions import dask_array, is_distributed, shape_and_dtype
from branded.dask.payload import Given, Kind
from branded.dask.trace import Exchange, Index, Session, current, run_vmap
from branded.errors import AxesError, UnsupportedError
from branded.graph.rows import row_of
from branded.graph.scope import open_block
from branded.graph.uops import tensor
from branded.tinygrad_compat.private_api import canonicalize_device


class BlockInput(NamedTuple):
    array: Any
    axes: Index
    kind: Kind


class MetaTrace(Session):
    """The trace in the calling process, with tensors that have no value."""

    def __init__(self, leaves: list[Any]) -> None:
        """Start a trace. `leaves` are the leaves of the arguments; mapped arrays that are local become dask arrays."""
        super().__init__()
        self.leaves = leaves
        self.scope = Steps("dask.vmap")  # as in a jit, an argument has no value
        self.loops: list[tuple[int, ...]] = []
        self.inputs: list[BlockInput] = []
        self.given_: dict[int, list[Any]] = {}
        self.calls_: dict[int, Given] = {}
        self.exchanges_: list[Exchange] = []
        self.starts: set[int] = set()

    def trace(self, f: Callable[..., Any], options: Options, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the results of the function; its writes, random samples and callbacks are discarded."""

        def traced() -> Any:
            with current.during(self), collect_effects(Body()), open_block(self.scope):
                return run_vmap(self, f, options, args, kwargs)

        return dry_run(traced)

    def whole(self, loop: int) -> int:
        return sum(self.loops[loop])

    def start(self, loop: int) -> Tensor:
        self.starts.add(loop)
        return self._stand_in((), dtypes.int32)

    def exchange(self, number: int, it: Exchange, partial: Tensor) -> Tensor:
        self.exchanges_.append(it)
        return self._stand_in(partial.shape, partial.dtype)

    def _stand_in(self, shape: Sequence[int], dtype: DType) -> Tensor:
        """Return a tensor without a value."""
        return tensor(
            LeafType(tuple(shape), strong_dtype(dtype), canonicalize_device(None), ()).placeholder(self.scope)
        )

    def given(self, number: int, leaves: Sequence[Any]) -> list[Any]:
        self.given_[number] = list(leaves)
        return [self._stand_in(*shape_and_dtype(x)) if is_distributed(x) else x for x in leaves]

    def looped(self, number: int, call: MappedCall) -> int:
        loop, leaves = len(self.loops), self.given_.pop(number)
        there = [(x, a) for x, a in zip(leaves, call.axes, strict=True) if is_distributed(x)]
        chunks = [x.chunks[a] for x, a in there if a is not None]
        if not chunks:
            raise AxesError(
                "dask.vmap: no mapped argument is a dask array",
                ("call", call.options.where),
                fix="use branded.vmap, or convert with dask.array.from_array(x, chunks=1000)",
            )
        self.loops.append(chunks[0])
        inputs: list[int | None] = []
        for i, (x, a) in enumerate(zip(leaves, call.axes, strict=True)):
            if a is not None and not is_distributed(x):
                x = self._scattered(call, i, a, loop)
                if number == 0:
                    self.leaves[i] = x
            inputs.append(self._input(x, a, loop, call, i) if is_distributed(x) else None)
        self.calls_[number] = Given(loop, tuple(inputs))
        return loop

    def _scattered(self, call: MappedCall, i: int, axis: int, loop: int) -> Any:
        """Return a dask array for a local mapped argument, so that each task receives its own part."""
        t = call.leaves[i]
        if row_of(t.uop):
            raise UnsupportedError(
                f"dask.vmap: {call.errors.place(i)} varies over an outer brand, "
                "and is mapped together with a dask array",
                ("value", vec_type(t)),
                ("call", call.options.where),
                fix="use in_axes=None for it, or only dask arrays",
            )
        chunks = tuple(self.loops[loop] if k == axis else (n,) for k, n in enumerate(t.shape))
        return dask_array().from_array(t.numpy(), chunks=chunks)

    def _input(self, x: Any, axis: int | None, loop: int, call: MappedCall, i: int) -> int:
        where = call.errors.place(i)
        for k, n in enumerate(x.numblocks):
            if n > 1 and k != axis:
                reason = "an example needs it whole" if axis is not None else "all examples share it"
                raise AxesError(
                    f"dask.vmap: {where} is in {n} chunks along axis {k}, and {reason}",
                    ("chunks", tree.short_repr(x.chunks[k])),
                    ("call", call.options.where),
                    fix=f"x.rechunk({{{k}: -1}})",
                )
        if axis is not None and x.chunks[axis] != self.loops[loop]:
            x = x.rechunk({axis: self.loops[loop]})
        index = tuple(loop if k == axis else None for k in range(x.ndim))
        t = call.leaves[i]
        self.inputs.append(BlockInput(x, index, Kind(tuple(t.shape), t.dtype)))
        return len(self.inputs) - 1
