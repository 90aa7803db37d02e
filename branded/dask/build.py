"""The graph of dask that works a plan out."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor

from branded import tree
from branded.dask.plan import MetaTrace
from branded.dask.program import Payload, Sketch, Task, run
from branded.dask.session import Exchange, Index, Scattered
from branded.dask.values import block, dask_array, numpy_dtype, tensor_of
from branded.patches.arrays import np


class Builder:
    """Arrays of dask for the results of a plan."""

    def __init__(self, plan: MetaTrace, program: tuple[bytes, list[Any]], name: str, out: Any) -> None:
        """`out` is what the trace gave."""
        delayed = importlib.import_module("dask").delayed
        self.plan, self.da, self.name, self.out = plan, dask_array("dask.vmap"), name, out
        calls = tuple(plan.calls_[i] for i in range(plan.calls))
        sizes = tuple(map(sum, plan.loops))
        sketch = Sketch(calls, tuple(i.kind for i in plan.inputs), tuple(plan.exchanges_), sizes)
        payload = Payload(*program, sketch)
        self.payload = delayed(payload, name=f"{name}-program-{payload.digest}", traverse=False)
        self.exchanged: list[Any] = []

    def built(self) -> Any:
        """The tree of results, in which what varies over a loop is an array of dask."""
        for number, it in enumerate(self.plan.exchanges_):
            self.exchanged.append(self._exchange(number, it))
        ys = tree.leaves(self.out)
        places = tree.paths(self.out, "the result")
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, y in enumerate(ys):
            if isinstance(y, Tensor):  # which all examples share
                ys[i] = y = Scattered(y, (None,) * y.ndim)
            if isinstance(y, Scattered):
                groups.setdefault(_loops(y.index), []).append(i)
        for loops, members in groups.items():
            blocks = self._blocks(self._task(loops, tuple(members), None))
            for k, i in enumerate(members):
                value, index = ys[i].value, ys[i].index
                ys[i] = self._part(blocks, loops, k, index, value.shape, numpy_dtype(value.dtype, places[i]))
        return tree.rebuild(self.out, iter(ys))

    def _task(self, loops: tuple[int, ...], results: tuple[int, ...], exchange: int | None) -> Task:
        """What a task over these loops reads: what varies over no other one."""
        inputs = [n for n, i in enumerate(self.plan.inputs) if {*i.axes} - {None} <= {*loops}]
        exchanges = [n for n, it in enumerate(self.plan.exchanges_[: len(self.exchanged)]) if {*it.loops} <= {*loops}]
        starts = [loop for loop in loops if loop in self.plan.starts]
        return Task(loops, tuple(inputs), tuple(exchanges), tuple(starts), results, exchange)

    def _blocks(self, task: Task) -> Any:
        """What the tasks give, as an array of dask whose blocks are tuples of arrays."""
        args: list[Any] = [self.payload, None, task, None]
        for n in task.inputs:
            given = self.plan.inputs[n]
            args += [given.array, _labels(given.axes, f"input{n}")]
        for n in task.exchanges:
            it = self.plan.exchanges_[n]
            args += [self.exchanged[n], _labels((*it.loops, *(None for _ in it.shape)), f"exchange{n}")]
        for loop in task.starts:
            chunks = self.plan.loops[loop]
            args += [self.da.arange(sum(chunks), chunks=(chunks,)), (_label(loop),)]
        how = {"dtype": object, "meta": np.empty((0,) * len(task.loops), object), "align_arrays": False}
        return self.da.blockwise(run, tuple(map(_label, task.loops)), *args, token=self.name, concatenate=None, **how)

    def _part(
        self, blocks: Any, loops: Sequence[int], k: int, index: Index, shape: Sequence[int], dtype: Any, **options: Any
    ) -> Any:
        """One of the arrays that the tasks give."""
        labels = _labels(index, "result")
        new = {label: n for label, n, loop in zip(labels, shape, index, strict=True) if loop is None}
        return self.da.blockwise(
            _taken, labels, blocks, tuple(map(_label, loops)), k, None, token=f"{self.name}-result", dtype=dtype,
            meta=np.empty((0,) * len(labels), dtype), new_axes=new, align_arrays=False, **options,
        )  # fmt: skip

    def _exchange(self, number: int, it: Exchange) -> Any:
        """The result of a collective: that of each task, and then of those."""
        loops = tuple(sorted((*it.loops, it.over)))
        dtype = numpy_dtype(it.dtype, it.what)
        index = (it.over, *it.loops, *(None for _ in it.shape))
        sizes = (*(0 for _ in (it.over, *it.loops)), *it.shape)
        parts = self._part(
            self._blocks(self._task(loops, (), number)),
            loops,
            -1,
            index,
            sizes,
            dtype,
            adjust_chunks={_label(it.over): 1},
        )
        how = functools.partial(_together, it.what)
        return self.da.reduction(
            parts, how, how, axis=0, combine=how, dtype=dtype, meta=np.empty((0,) * (parts.ndim - 1), dtype)
        )


def _together(what: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """A collective of what several tasks gave for it, as tinygrad works it out."""
    t = tensor_of(x)
    out = {"pmax": t.max, "pmin": t.min}.get(what, t.sum)(axis, keepdim=keepdims)
    return out.cast(t.dtype).numpy()


def _loops(index: Index) -> tuple[int, ...]:
    return tuple(sorted(loop for loop in index if loop is not None))


def _labels(index: Index, name: str) -> tuple[Any, ...]:
    return tuple(f"{name}-{k}" if loop is None else _label(loop) for k, loop in enumerate(index))


def _label(loop: int) -> str:
    return f"loop-{loop}"


def _taken(found: Any, k: int) -> Any:
    ys = block(found)
    return ys[0][None] if k < 0 else ys[k]
