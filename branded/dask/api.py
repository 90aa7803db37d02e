"""What users call: vmap over arrays of dask, and functions of tensors as functions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from branded import tree
from branded.brand import Brand
from branded.dask.build import Builder
from branded.dask.plan import MetaTrace
from branded.dask.program import Payload, Sketch, packed, unpacked
from branded.dask.session import current, mapped
from branded.dask.values import arrays_of, dask_array, is_distributed, native
from branded.errors import UnsupportedError
from branded.planning.chunks import WHOLE
from branded.planning.progress import is_traced
from branded.tree.given import as_tensor, called, caller, check_function
from branded.vmap import Axes, Options
from branded.vmap import vmap as vmap_here


def vmap(
    f: Callable[..., Any],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    *,
    axis_name: str | type[Brand] | None = None,
) -> Callable[..., Any]:
    """`branded.vmap` over arrays of dask: lazily, with a task for each chunk of the examples.

    The function is traced once where it is called, over tensors that have no value, for the shapes and dtypes of its
    results; then it goes to the workers with all that it closes over, once to each, where it is compiled.  `grad`,
    loops and `branded.vmap` in it are the workers' own.  Another `dask.vmap` in it is one more loop over chunks: there
    is a task for each pair of them, and what it gives can only be returned.

    Args:
        f: A function of the tensors of one example, as for `branded.vmap`.
        in_axes: As for `branded.vmap`.  Of what is mapped at least one leaf is an array of dask; its chunks along that
            axis are the tasks.  Along others it has one chunk, and so have arrays that all examples share.
        out_axes: As for `branded.vmap`.
        axis_name: The name of the brand, over which `psum`, `pmean`, `pmax` and `pmin` become reductions of dask, each
            of which runs the function anew up to there; `axis_index` and `axis_size` are of all examples.

    Returns:
        A function of arrays of dask, and of tensors and arrays of numpy beside them, that gives arrays of dask.

    Raises:
        AxesError: None of the mapped arguments is an array of dask; an axis that an example needs is in several chunks.
        AxisTypeError: A dtype that tinygrad has not, or chunks of unknown sizes.
        CallError: The function uses what cannot be sent.
        OptionError: There is no dask here; or a collective that needs the values of all examples at once.
        UnsupportedError: Within a vmap of tensors, a derivative or a compiled function; or the result of an inner
            `dask.vmap` is used and not only returned.
        DerivativeError: A derivative through a collective over a distributed brand.
        RandomnessError: A draw without a key.
        ReadError: The function reads a value of its arguments.

    Example:
        >>> import dask.array as da, numpy as np
        >>> from branded.dask import vmap
        >>> x = da.from_array(np.arange(6, dtype="float32").reshape(3, 2), chunks=(2, 2))
        >>> y = vmap(lambda a: vmap(lambda b: (a - b).square().sum())(x))(x)
        >>> y.shape, y.chunks, y.compute().tolist()
        ((3, 3), ((2, 1), (2, 1)), [[0.0, 8.0, 32.0], [8.0, 0.0, 8.0], [32.0, 8.0, 0.0]])

    Source: `dask.array.apply_gufunc`, whose loop dimensions are the brands, and whose core dimensions are the axes of
    an example.
    """
    check_function(f, "dask.vmap", "dask.vmap(f)(x)")
    tree.check_axes(in_axes, "in_axes")
    tree.check_axes(out_axes, "out_axes")
    options = Options(in_axes, out_axes, axis_name, None, WHOLE, "error", (), caller(2, "dask.vmap"))

    @functools.wraps(f)
    def distributed(*args: Any, **kwargs: Any) -> Any:
        dask_array("dask.vmap")
        leaves = [leaf for x in (*args, *kwargs.values()) for leaf in tree.leaves(x)]
        if around := current.get():
            if not any(map(is_distributed, leaves)):
                return vmap_here(f, in_axes, out_axes, axis_name=axis_name)(*args, **kwargs)
            around[-1].check_alone("a distributed vmap")
            return mapped(around[-1], f, options, args, kwargs)
        if is_traced():
            raise UnsupportedError(
                "dask.vmap: this call is a part of a program, of a derivative or of a vmap of tensors, and here is "
                "nothing to distribute",
                fix="dask.vmap around it: dask.vmap(grad(f))(x)",
            )
        return _distributed(f, options, args, kwargs, leaves)

    return distributed


def _distributed(
    f: Callable[..., Any], options: Options, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]
) -> Any:
    """The outermost of distributed vmaps: the trace, and then the graph of dask."""
    plan = MetaTrace(leaves)
    out = plan.trace(f, options, args, kwargs)
    new = iter(plan.leaves)
    own = tuple(tree.rebuild(x, new) for x in args), {k: tree.rebuild(x, new) for k, x in kwargs.items()}
    name = getattr(f, "__name__", "")
    name = f"vmap-{name}" if name.isidentifier() else "vmap"
    return Builder(plan, packed((f, options, *own), "dask.vmap"), name, out).built()


# ---- functions of tensors as functions of arrays ----


class _OnArrays:
    """A function of arrays, which can be sent to other processes."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        def given(x: Any) -> Any:
            return t if hasattr(x, "__array__") and (t := as_tensor(native(x))) is not None else x

        args, kwargs = tree.map(given, args), tree.map(given, kwargs)
        out = called(self._f, args, kwargs, "on_arrays", "a function with a parameter for each argument")
        tensors = {i: t for i, y in enumerate(tree.leaves(out)) if (t := as_tensor(y)) is not None}
        ys = dict(enumerate(tree.leaves(out))) | dict(zip(tensors, arrays_of(list(tensors.values())), strict=True))
        return tree.rebuild(out, iter(ys.values()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _on_arrays, packed(self._f, "on_arrays")

    def __dask_tokenize__(self) -> str:
        return Payload(*packed(self._f, "on_arrays"), Sketch((), (), (), ())).digest


def _on_arrays(data: bytes, arrays: list[Any]) -> _OnArrays:
    return _OnArrays(unpacked(data, arrays))


def on_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors as one of arrays: it takes arrays of numpy and gives them, and can be sent to workers.

    It is for what calls a function on blocks: `xarray.apply_ufunc(..., dask="parallelized")`, `map_blocks`,
    `apply_gufunc`.

    Args:
        f: A function of tensors, or of trees of them: `vmap(g)`, `jit(vmap(g))`.

    Returns:
        A function that gives the arrays of what `f` gives for the tensors of its arguments; other leaves stay.

    Raises:
        CallError: `f` is not a function, or not one of these arguments; or, where it is sent, it uses what cannot be.

    Example:
        >>> import numpy as np
        >>> from branded import vmap
        >>> from branded.dask import on_arrays
        >>> on_arrays(vmap(lambda x: x / x.sum()))(np.ones((2, 4), "float32")).tolist()
        [[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]

    Source: `jax.pure_callback`, the other way round.
    """
    check_function(f, "on_arrays", "on_arrays(vmap(f))")
    return _OnArrays(f)
