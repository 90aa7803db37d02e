"""The data sent to workers: the function with its closure, once, and a description of each task."""

from __future__ import annotations

import contextvars
import hashlib
import importlib
import io
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype

from branded import tree
from branded.compile.jit import Jitted, jit
from branded.core.boundary import lower_unbatched
from branded.dask.conversions import arrays_of, dask_array, is_distributed, native_array, tensor_of, unwrap_block
from branded.dask.trace import Exchange, Scattered, Session, current, run_vmap
from branded.errors import CallError
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np


class Given(NamedTuple):
    """A distributed vmap: its loop, and the input for each leaf of its arguments."""

    loop: int
    inputs: tuple[int | None, ...]


class Kind(NamedTuple):
    """The shape and dtype of a whole input."""

    shape: tuple[int, ...]
    dtype: DType


class Sketch(NamedTuple):
    """The results of the trace that a task needs."""

    calls: tuple[Given, ...]
    inputs: tuple[Kind, ...]
    exchanges: tuple[Exchange, ...]
    sizes: tuple[int, ...]


class Task(NamedTuple):
    """A kind of task: the blocks that it receives, and the results that it computes from them."""

    loops: tuple[int, ...]
    inputs: tuple[int, ...]
    exchanges: tuple[int, ...]
    starts: tuple[int, ...]
    results: tuple[int, ...]
    exchange: int | None
    """The collective whose partial result the task returns; None if it returns `results`."""


class Payload:
    """The function with its closure, and the sketch: a value in the dask graph that all tasks depend on."""

    def __init__(self, data: bytes, arrays: Sequence[Any], sketch: Sketch) -> None:
        self.data, self.arrays, self.sketch = data, list(arrays), sketch
        mark = hashlib.blake2b(data, digest_size=16)
        for a in self.arrays:
            mark.update(memoryview(a).cast("B") if a.size else b"")
        mark.update(repr(sketch).encode())
        self.digest = mark.hexdigest()

    def __dask_tokenize__(self) -> str:
        return self.digest

    def __sizeof__(self) -> int:
        """Return the size in bytes, which dask uses to schedule transfers."""
        return len(self.data) + sum(int(a.nbytes) for a in self.arrays)


def pickle_program(program: Any, api_name: str) -> tuple[bytes, list[Any]]:
    """Pickle a function and its arguments; return the bytes and the arrays of its tensors.

    dask arrays are pickled without their graph.
    """
    arrays: list[Any] = []

    class Pickler(importlib.import_module("cloudpickle").Pickler):  # type: ignore[misc]
        def reducer_override(self, x: Any) -> Any:
            if isinstance(x, Tensor):
                arrays.append(_tensor_data(x))
                return _restore_tensor, (len(arrays) - 1, str(strong_dtype(x.dtype)).removeprefix("dtypes."))
            if is_distributed(x):
                return _hollow_array, (x.chunks, x.dtype)
            if isinstance(x, Jitted):
                return Jitted, (x._f, x._static, x._donated)
            return super().reducer_override(x)

    file = io.BytesIO()
    try:
        Pickler(file, protocol=5).dump(program)
    except (TypeError, AttributeError, ValueError, RuntimeError, pickle.PicklingError) as error:
        raise CallError(
            f"{api_name}: the function cannot be pickled, so it cannot be sent to workers",
            ("reason", f"{type(error).__name__}: {error}".split("\n")[0]),
            fix="create the object in the function, or pass it as an argument",
        ) from error
    return file.getvalue(), arrays


def unpickle_program(data: bytes, arrays: Sequence[Any]) -> Any:
    """Unpickle a program."""
    context = contextvars.copy_context()
    context.run(_arrays.set, arrays)
    return context.run(pickle.loads, data)


def _tensor_data(x: Tensor) -> Any:
    """Return the elements of a tensor; a dtype that numpy does not support is returned as its bits."""
    dtype = strong_dtype(x.dtype)
    if dtype in (dtypes.bfloat16, *dtypes.fp8s):
        x = x.bitcast(dtypes.uint16 if dtype.itemsize == 2 else dtypes.uint8)
    return x.detach().numpy()


_arrays: contextvars.ContextVar[Sequence[Any]] = contextvars.ContextVar("branded_dask_arrays")


def _restore_tensor(number: int, name: str) -> Tensor:
    dtype: DType = getattr(dtypes, name)
    x = tensor_of(_arrays.get()[number])
    return (x if x.dtype == dtype else x.bitcast(dtype)).realize()


def _hollow_array(chunks: Any, dtype: Any) -> Any:
    """Return a dask array with a shape and no graph; tasks receive its blocks separately."""
    return dask_array().Array({}, "branded-hollow", chunks, dtype)


class BlockTrace(Session):
    """The trace on a worker, over the blocks of a task."""

    def __init__(self, sketch: Sketch, task: Task, blocks: Sequence[Tensor]) -> None:
        super().__init__()
        self.sketch, self.task = sketch, task
        values = iter(blocks)
        self.blocks = {n: next(values) for n in task.inputs}
        self.results = {n: next(values) for n in task.exchanges}
        self.starts = {loop: next(values) for loop in task.starts}
        self.partial: Tensor | None = None

    def whole(self, loop: int) -> int:
        return self.sketch.sizes[loop]

    def start(self, loop: int) -> Tensor:
        return self.starts[loop] if loop in self.starts else Tensor(0, dtype=dtypes.int32)

    def exchange(self, number: int, it: Exchange, partial: Tensor) -> Tensor:
        if number == self.task.exchange:
            self.partial = tensor(lower_unbatched(partial.uop))
        result = self.results.get(number)
        return Tensor.empty(*partial.shape, dtype=partial.dtype) if result is None else result

    def given(self, number: int, leaves: Sequence[Any]) -> list[Any]:
        inputs = self.sketch.calls[number].inputs
        return [x if n is None else self._input(n) for x, n in zip(leaves, inputs, strict=True)]

    def _input(self, number: int) -> Tensor:
        """Return the block of an input, or an empty tensor if the task does not depend on the input."""
        if (block := self.blocks.get(number)) is not None:
            return block
        it = self.sketch.inputs[number]
        return Tensor.empty(*it.shape, dtype=it.dtype)

    def looped(self, number: int, call: object) -> int:
        return self.sketch.calls[number].loop


class Loaded:
    """A program loaded in a process that runs its tasks; each kind of task is compiled once."""

    def __init__(self, payload: Payload) -> None:
        self.sketch = payload.sketch
        self.f, self.options, self.args, self.kwargs = unpickle_program(payload.data, payload.arrays)
        self.tasks: dict[Task, Callable[..., Sequence[Tensor]]] = {}

    def task(self, task: Task) -> Callable[..., Sequence[Tensor]]:
        """Return the compiled function of a task, which takes its blocks."""

        def work(*blocks: Tensor) -> list[Tensor]:
            trace = BlockTrace(self.sketch, task, blocks)
            with current.during(trace):
                out = run_vmap(trace, self.f, self.options, self.args, self.kwargs)
            if task.exchange is not None:
                assert trace.partial is not None
                return [trace.partial]
            ys = tree.leaves(out)
            return [y.value if isinstance(y := ys[i], Scattered) else y for i in task.results]

        return self.tasks.setdefault(task, self.tasks.get(task) or jit(work))


_loaded: OrderedDict[str, Loaded] = OrderedDict()
_KEPT = 16
_loading = threading.Lock()


def _load_program(payload: Payload) -> Loaded:
    with _loading:
        if (program := _loaded.get(payload.digest)) is None:
            program = _loaded[payload.digest] = Loaded(payload)
            if len(_loaded) > _KEPT:
                _loaded.popitem(last=False)
        _loaded.move_to_end(payload.digest)
        return program


def run_task(payload: Payload, task: Task, *blocks: Any) -> tuple[Any, ...]:
    """Run a task: return the results for the examples of its blocks, as arrays."""
    # dask calls this in its own thread, whose open brands must not affect the task
    return contextvars.Context().run(_run_in_context, payload, task, [unwrap_block(x) for x in blocks])


def _run_in_context(payload: Payload, task: Task, blocks: list[Any]) -> tuple[Any, ...]:
    if task.starts:
        n = len(task.starts)
        blocks[-n:] = [np.int32(x[0] if len(x) else 0) for x in blocks[-n:]]
    return arrays_of(_load_program(payload).task(task)(*map(native_array, blocks)))
