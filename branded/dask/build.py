"""The dask graph that computes a plan."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor

from branded import tree
from branded.dask.conversions import dask_array, numpy_dtype, tensor_of, unwrap_block
from branded.dask.payload import Payload, Sketch, Task, run_task
from branded.dask.plan import MetaTrace
from branded.dask.trace import Exchange, Index, Scattered
from branded.tinygrad_compat.lazy_numpy import np


class Builder:
    """A builder of dask arrays for the results of a plan."""

    def __init__(self, plan: MetaTrace, program: tuple[bytes, list[Any]], name: str, out: Any) -> None:
        """Store the program; `out` is the result of the trace."""
        delayed = importlib.import_module("dask").delayed
        self.plan, self.da, self.name, self.out = plan, dask_array(), name, out
        calls = tuple(plan.calls_[i] for i in range(plan.calls))
        sizes = tuple(map(sum, plan.loops))
        sketch = Sketch(calls, tuple(i.kind for i in plan.inputs), tuple(plan.exchanges_), sizes)
        payload = Payload(*program, sketch)
        self.payload = delayed(payload, name=f"{name}-program-{payload.digest}", traverse=False)
        self.exchanged: list[Any] = []

    def build(self) -> Any:
        """Return the tree of results, with a dask array for each result that varies over a loop."""
        for number, it in enumerate(self.plan.exchanges_):
            self.exchanged.append(self._exchange(number, it))
        ys = tree.leaves(self.out)
        places = tree.paths(self.out, "the result")
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, y in enumerate(ys):
            if isinstance(y, Tensor):  # a result that all examples share
                ys[i] = y = Scattered(y, (None,) * y.ndim)
            if isinstance(y, Scattered):
                index: Index = y.index
                groups.setdefault(tuple(sorted(n for n in index if n is not None)), []).append(i)
        for loops, members in groups.items():
            blocks = self._blocks(self._task(loops, tuple(members), None))
            for k, i in enumerate(members):
                value, index = ys[i].value, ys[i].index
                ys[i] = self._part(blocks, loops, k, index, value.shape, numpy_dtype(value.dtype, places[i]))
        return tree.rebuild(self.out, iter(ys))

    def _task(self, loops: tuple[int, ...], results: tuple[int, ...], exchange: int | None) -> Task:
        """Describe a task over these loops: it reads the inputs that vary over no other loop."""
        inputs = [n for n, i in enumerate(self.plan.inputs) if {*i.axes} - {None} <= {*loops}]
        exchanges = [n for n, it in enumerate(self.plan.exchanges_[: len(self.exchanged)]) if {*it.loops} <= {*loops}]
        starts = [loop for loop in loops if loop in self.plan.starts]
        return Task(loops, tuple(inputs), tuple(exchanges), tuple(starts), results, exchange)

    def _blocks(self, task: Task) -> Any:
        """Return the results of the tasks as a dask array whose blocks are tuples of arrays."""
        args: list[Any] = [self.payload, None, task, None]
        for n in task.inputs:
            source = self.plan.inputs[n]
            args += [source.array, _axis_labels(source.axes, f"input{n}")]
        for n in task.exchanges:
            it = self.plan.exchanges_[n]
            args += [self.exchanged[n], _axis_labels((*it.loops, *(None for _ in it.shape)), f"exchange{n}")]
        for loop in task.starts:
            chunks = self.plan.loops[loop]
            args += [self.da.arange(sum(chunks), chunks=(chunks,)), (_loop_label(loop),)]
        options = {"dtype": object, "meta": np.empty((0,) * len(task.loops), object), "align_arrays": False}
        return self.da.blockwise(
            run_task, tuple(map(_loop_label, task.loops)), *args, token=self.name, concatenate=None, **options
        )

    def _part(
        self, blocks: Any, loops: Sequence[int], k: int, index: Index, shape: Sequence[int], dtype: Any, **options: Any
    ) -> Any:
        """Extract one of the arrays that the tasks return."""
        labels = _axis_labels(index, "result")
        new = {label: n for label, n, loop in zip(labels, shape, index, strict=True) if loop is None}
        return self.da.blockwise(
            _take, labels, blocks, tuple(map(_loop_label, loops)), k, None, token=f"{self.name}-result", dtype=dtype,
            meta=np.empty((0,) * len(labels), dtype), new_axes=new, align_arrays=False, **options,
        )  # fmt: skip

    def _exchange(self, number: int, it: Exchange) -> Any:
        """Return the result of a collective: a reduction of the partial results of the tasks."""
        loops = tuple(sorted((*it.loops, it.over)))
        dtype = numpy_dtype(it.dtype, it.api_name)
        index = (it.over, *it.loops, *(None for _ in it.shape))
        sizes = (*(0 for _ in (it.over, *it.loops)), *it.shape)
        parts = self._part(
            self._blocks(self._task(loops, (), number)),
            loops,
            -1,
            index,
            sizes,
            dtype,
            adjust_chunks={_loop_label(it.over): 1},
        )
        combine = functools.partial(_combine_partials, it.api_name)
        return self.da.reduction(
            parts, combine, combine, axis=0, combine=combine, dtype=dtype, meta=np.empty((0,) * (parts.ndim - 1), dtype)
        )


def _combine_partials(api_name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """Combine the partial results of several tasks, with tinygrad's reduction."""
    t = tensor_of(x)
    out = {"pmax": t.max, "pmin": t.min}.get(api_name, t.sum)(axis, keepdim=keepdims)
    return out.cast(t.dtype).numpy()


def _axis_labels(index: Index, name: str) -> tuple[Any, ...]:
    return tuple(f"{name}-{k}" if loop is None else _loop_label(loop) for k, loop in enumerate(index))


def _loop_label(loop: int) -> str:
    return f"loop-{loop}"


def _take(block: Any, k: int) -> Any:
    ys = unwrap_block(block)
    return ys[0][None] if k < 0 else ys[k]
