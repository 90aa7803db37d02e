"""The public functions: vmap over dask arrays, and functions of tensors as functions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from branded import tree
from branded.core.brand import Brand
from branded.core.chunks import WHOLE
from branded.core.tracing.state import is_deferred
from branded.core.validation.arguments import call_checked, caller, check_function
from branded.core.vmap import Options
from branded.core.vmap import vmap as vmap_here
from branded.dask.build import Builder
from branded.dask.conversions import arrays_of, dask_array, is_distributed, native_array
from branded.dask.payload import Payload, Sketch, pickle_program, unpickle_program
from branded.dask.plan import MetaTrace
from branded.dask.trace import current, run_vmap
from branded.errors import UnsupportedError
from branded.errors.calls import check_calls
from branded.tree import Axes
from branded.tree.leaf_tensors import as_tensor


@check_calls
def vmap(
    f: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0, *, axis_name: str | type[Brand] | None = None
) -> Callable[..., Any]:
    """Map a function over dask arrays, lazily: the distributed `branded.vmap`, with a task for each chunk of examples.

    The function is traced once in the calling process, with tensors that have no value, to get the shapes and dtypes of
    its results. The function and its closure are then sent once to each worker, which compiles it. Inside it, `grad`,
    loops and `branded.vmap` run on the worker. A nested `dask.vmap` is another loop over chunks: there is a task for
    each pair of chunks, and its result can only be returned.

    Args:
        f: A function of the tensors of one example, as for `branded.vmap`.
        in_axes: As for `branded.vmap`. At least one mapped leaf is a dask array; its chunks along the mapped axis are
            the tasks. Its other axes have one chunk, and so do arrays that all examples share.
        out_axes: As for `branded.vmap`.
        axis_name: The name of the brand. `psum`, `pmean`, `pmax` and `pmin` over it are dask reductions. Each of them
            runs the function again up to the collective. `axis_index` and `axis_size` refer to all examples.

    Returns:
        A function of dask arrays that returns dask arrays. It also accepts tensors and numpy arrays.

    Raises:
        AxesError: None of the mapped arguments is a dask array, or an axis that an example needs has several chunks.
        AxisTypeError: A dtype is not supported by tinygrad, or chunk sizes are unknown.
        CallError: The function uses an object that cannot be pickled.
        OptionError: dask is not installed, or a collective needs the values of all examples at the same time.
        UnsupportedError: The call is inside a vmap of tensors, a derivative or a compiled function. Or the result of an
            inner `dask.vmap` is used instead of returned.
        DerivativeError: A derivative goes through a collective over a distributed brand.
        RandomnessError: A random sample is taken without a key.
        ReadError: The function reads a value of its arguments.

    Example:
        >>> import dask.array as da, numpy as np
        >>> from branded.dask import vmap
        >>> x = da.from_array(np.arange(6, dtype="float32").reshape(3, 2), chunks=(2, 2))
        >>> y = vmap(lambda a: vmap(lambda b: (a - b).square().sum())(x))(x)
        >>> y.shape, y.chunks, y.compute().tolist()
        ((3, 3), ((2, 1), (2, 1)), [[0.0, 8.0, 32.0], [8.0, 0.0, 8.0], [32.0, 8.0, 0.0]])

    Source: `dask.array.apply_gufunc`. Its loop dimensions are the brands, and its core dimensions are the axes of an
    example.
    """
    check_function(f, "dask.vmap", "dask.vmap(f)(x)")
    tree.check_axes(in_axes, "in_axes")
    tree.check_axes(out_axes, "out_axes")
    options = Options(in_axes, out_axes, axis_name, None, WHOLE, "error", (), caller(3, "dask.vmap"))

    @functools.wraps(f)
    def distributed(*args: Any, **kwargs: Any) -> Any:
        dask_array()
        leaves = [leaf for x in (*args, *kwargs.values()) for leaf in tree.leaves(x)]
        if around := current.get():
            if not any(map(is_distributed, leaves)):
                return vmap_here(f, in_axes, out_axes, axis_name=axis_name)(*args, **kwargs)
            around[-1].check_alone("a distributed vmap")
            return run_vmap(around[-1], f, options, args, kwargs)
        if is_deferred():
            raise UnsupportedError(
                "dask.vmap: a call inside a program, a derivative or a vmap of tensors cannot be distributed",
                fix="call dask.vmap outside: dask.vmap(grad(f))(x)",
            )
        return _run_distributed(f, options, args, kwargs, leaves)

    return distributed


def _run_distributed(
    f: Callable[..., Any], options: Options, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]
) -> Any:
    """Run the outermost distributed vmap: trace the function, then build the dask graph."""
    plan = MetaTrace(leaves)
    out = plan.trace(f, options, args, kwargs)
    new = iter(plan.leaves)
    operands = tuple(tree.rebuild(x, new) for x in args), {k: tree.rebuild(x, new) for k, x in kwargs.items()}
    name = getattr(f, "__name__", "")
    name = f"vmap-{name}" if name.isidentifier() else "vmap"
    return Builder(plan, pickle_program((f, options, *operands), "dask.vmap"), name, out).build()


class _OnArrays:
    """A function of arrays that can be pickled."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        def to_tensor(x: Any) -> Any:
            return t if hasattr(x, "__array__") and (t := as_tensor(native_array(x))) is not None else x

        args, kwargs = tree.map(to_tensor, args), tree.map(to_tensor, kwargs)
        out = call_checked(self._f, args, kwargs, "on_arrays", "pass a function with one parameter per argument")
        tensors = {i: t for i, y in enumerate(tree.leaves(out)) if (t := as_tensor(y)) is not None}
        ys = dict(enumerate(tree.leaves(out))) | dict(zip(tensors, arrays_of(list(tensors.values())), strict=True))
        return tree.rebuild(out, iter(ys.values()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_on_arrays, pickle_program(self._f, "on_arrays")

    def __dask_tokenize__(self) -> str:
        return Payload(*pickle_program(self._f, "on_arrays"), Sketch((), (), (), ())).digest


def _rebuild_on_arrays(data: bytes, arrays: list[Any]) -> _OnArrays:
    return _OnArrays(unpickle_program(data, arrays))


@check_calls
def on_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of tensors as a function of numpy arrays that returns numpy arrays and can be sent to workers.

    Use it with functions that call a function on blocks: `xarray.apply_ufunc(..., dask="parallelized")`, `map_blocks`,
    `apply_gufunc`.

    Args:
        f: A function of tensors or pytrees of tensors, such as `vmap(g)` or `jit(vmap(g))`.

    Returns:
        A function that calls `f` with its arguments as tensors, and returns the tensors of the result as arrays. Other
        leaves are unchanged.

    Raises:
        CallError: `f` is not a function, or does not accept these arguments. Or `f` is sent to a worker and uses an
            object that cannot be pickled.

    Example:
        >>> import numpy as np
        >>> from branded import vmap
        >>> from branded.dask import on_arrays
        >>> on_arrays(vmap(lambda x: x / x.sum()))(np.ones((2, 4), "float32")).tolist()
        [[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]

    Source: `jax.pure_callback`, in the other direction.
    """
    check_function(f, "on_arrays", "on_arrays(vmap(f))")
    return _OnArrays(f)
