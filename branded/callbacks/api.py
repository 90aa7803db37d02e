"""`pure_callback` and `io_callback`: functions of NumPy arrays as operations, under all transforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union, cast, overload

from tinygrad import Tensor

from branded import tree
from branded.callbacks import host
from branded.callbacks.effects import effect
from branded.callbacks.trees import Flat, Results
from branded.callbacks.trees import HasShapeDtype as Like
from branded.core.boundary import live_tensors
from branded.core.brand import S, S1, S2
from branded.core.entry import entry
from branded.core.validation.arguments import check_function
from branded.errors import CallbackTypeError, OptionError
from branded.graph.rows import row_of, visible
from branded.graph.uops import tensor
from branded.vec import Vec

Fn = Callable[..., Any]
Arg = Union["Vec[S]", float]
"""An argument with the brands `S`, or a number."""
Tree = Mapping[Any, Any] | Sequence[Any] | None
"""A tree of arguments or results, whose brands are not inferred."""
METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


@overload
def pure_callback(f: Fn, like: Like, /, *, vmap_method: str | None = None, **kwargs: float) -> Tensor: ...
@overload
def pure_callback(f: Fn, like: Like, x: Arg[S], /, *, vmap_method: str | None = None, **kwargs: float) -> Vec[S]: ...
@overload
def pure_callback(
    f: Fn, like: Like, x: Arg[S], y: Arg[S1], /, *, vmap_method: str | None = None, **kwargs: float
) -> Vec[S | S1]: ...
@overload
def pure_callback(
    f: Fn, like: Like, x: Arg[S], y: Arg[S1], z: Arg[S2], /, *, vmap_method: str | None = None, **kwargs: float
) -> Vec[S | S1 | S2]: ...
@overload
def pure_callback(
    f: Fn, like: tuple[Like, Like], x: Arg[S], /, *, vmap_method: str | None = None, **kwargs: float
) -> tuple[Vec[S], Vec[S]]: ...
@overload
def pure_callback(
    f: Fn, like: tuple[Like, Like], x: Arg[S], y: Arg[S1], /, *, vmap_method: str | None = None, **kwargs: float
) -> tuple[Vec[S | S1], Vec[S | S1]]: ...
@overload
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Tree,
    /,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any: ...
@overload
def pure_callback(f: Fn, like: Like, x: Tree, /, *args: Any, vmap_method: str | None = None, **kwargs: Any) -> Any: ...
@overload
def pure_callback(
    f: Fn, like: Like, x: Any, y: Any, z: Any, w: Any, /, *args: Any, vmap_method: str | None = None, **kwargs: Any
) -> Any: ...
@entry
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    /,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function of NumPy arrays as one operation: `pure_callback(f, like, *xs)` is `f(*xs)`.

    It works under vmap, and in loops, branches and compiled functions. It runs only if a result is needed, and the
    number of runs is unspecified. `f` must therefore return the same results for the same arguments, without side
    effects.

    Args:
        callback: A function of trees of NumPy arrays, which are copies. It must not wait for another thread that
            computes with tinygrad.
        result_shape_dtypes: A tree like the result of `f` for one example, of objects with a shape and a dtype:
            `ShapeDtypeStruct`, tensors, arrays.
        args: Trees of tensors, arrays and numbers.
        vmap_method: How `f` is called under vmap. `"sequential"`: for each example. `"expand_dims"`: once, with one
            leading axis for each brand of any argument (outermost first), of size 1 in arguments that do not vary
            over it. `"broadcast_all"`: once, with these axes in full. `None`: vmap is an error.
        kwargs: Keyword arguments of the function.

    Returns:
        A tree like `result_shape_dtypes`, of tensors that carry the brands of all arguments.

    Raises:
        CallbackError: A result is read, and `f` raised, or returned something other than announced.
        CallbackTypeError: A leaf of `result_shape_dtypes` has no shape or dtype, or an argument is not a tensor.
        UnsupportedError: An argument is batched, and there is no `vmap_method`.
        DerivativeError: A float result is differentiated: wrap the call in `custom_jvp` or `custom_vjp`.
        OptionError: `vmap_method` is not one of these methods.

    Example:
        >>> import numpy as np
        >>> from branded import pure_callback, vmap
        >>> from tinygrad import Tensor
        >>> def ranks(x):
        ...     return pure_callback(lambda x: np.argsort(np.argsort(x)), x.int(), x, vmap_method="sequential")
        >>> vmap(ranks)(Tensor([[3.0, 1.0, 2.0], [5.0, 7.0, 6.0]])).tolist()
        [[2, 0, 1], [0, 2, 1]]

    Source: `jax.pure_callback`.
    """
    api_name = "pure_callback"
    check_function(callback, api_name, "pure_callback(f, result_shape_dtypes, *args)")
    method = checked_method(vmap_method, api_name)
    announced = Results(result_shape_dtypes, api_name)
    tensors = arguments(args, kwargs, api_name)
    row = [b for x in tensors for b in visible(row_of(x.uop))]
    if method is None and row:
        raise host.no_method(api_name, tuple(dict.fromkeys(row)))
    flat = Flat(callback, (args, kwargs), [True] * len(tensors), announced.skeleton)
    call = host.Host.of(api_name, flat, method, True)
    return announced.rebuilt([tensor(u) for u in host.call_on_graphs(call, announced.types, [x.uop for x in tensors])])


def checked_method(vmap_method: object, api_name: str) -> host.Method | None:
    if vmap_method is not None and not (isinstance(vmap_method, str) and vmap_method in METHODS):
        raise OptionError(
            f"{api_name}: vmap_method={tree.short_repr(vmap_method)} is not a method",
            fix='"sequential", "expand_dims" or "broadcast_all"',
        )
    return cast(host.Method | None, "sequential" if vmap_method == "sequential_unrolled" else vmap_method)


def arguments(args: tuple[Any, ...], kwargs: dict[str, Any], api_name: str) -> list[Tensor]:
    """Return the leaves of the arguments as tensors."""
    fix = "pass tensors, arrays and numbers, and close over other values by functools.partial or a lambda"
    tensors = [
        t for i, x in enumerate(args) for t in live_tensors(x, f"{api_name}: argument {i + 1}", CallbackTypeError, fix)
    ]
    for name, x in kwargs.items():
        tensors += live_tensors(x, f"{api_name}: argument `{name}`", CallbackTypeError, fix)
    return tensors


@overload
def io_callback(f: Fn, like: Like, /, *, ordered: bool = False, **kwargs: float) -> Tensor: ...
@overload
def io_callback(f: Fn, like: Like, x: Arg[S], /, *, ordered: bool = False, **kwargs: float) -> Vec[S]: ...
@overload
def io_callback(
    f: Fn, like: Like, x: Arg[S], y: Arg[S1], /, *, ordered: bool = False, **kwargs: float
) -> Vec[S | S1]: ...
@overload
def io_callback(
    f: Fn, like: Like, x: Arg[S], y: Arg[S1], z: Arg[S2], /, *, ordered: bool = False, **kwargs: float
) -> Vec[S | S1 | S2]: ...
@overload
def io_callback(
    f: Fn, like: tuple[Like, Like], x: Arg[S], /, *, ordered: bool = False, **kwargs: float
) -> tuple[Vec[S], Vec[S]]: ...
@overload
def io_callback(
    f: Fn, like: tuple[Like, Like], x: Arg[S], y: Arg[S1], /, *, ordered: bool = False, **kwargs: float
) -> tuple[Vec[S | S1], Vec[S | S1]]: ...
@overload
def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Tree, /, *args: Any, ordered: bool = False, **kwargs: Any
) -> Any: ...
@overload
def io_callback(f: Fn, like: Like, x: Tree, /, *args: Any, ordered: bool = False, **kwargs: Any) -> Any: ...
@overload
def io_callback(
    f: Fn, like: Like, x: Any, y: Any, z: Any, w: Any, /, *args: Any, ordered: bool = False, **kwargs: Any
) -> Any: ...
@entry
def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, /, *args: Any, ordered: bool = False, **kwargs: Any
) -> Any:
    """Call a function with side effects, once for each example: `io_callback(f, like, *xs)` is `f(*xs)`.

    Outside of traced code, it runs immediately. In the body of a loop or a compiled function, it runs each time the
    body runs, even if no result is used. In a branch, it runs for the examples that take the branch; in a loop, for the
    examples that are not finished. Calls run in program order, and the examples of a brand run by index.

    Args:
        callback: A function of trees of NumPy arrays, which are copies.
        result_shape_dtypes: A tree like its result for one example, of objects with a shape and a dtype; None for a
            function without results.
        args: Trees of tensors, arrays and numbers.
        ordered: Raise an error under vmap, because the examples of a brand have no order.
        kwargs: Keyword arguments of the function.

    Returns:
        A tree like `result_shape_dtypes`, of tensors.

    Raises:
        CallbackError: `f` raised, or returned something other than announced.
        UnsupportedError: The number of runs is unknown. This holds in the condition of a `while_loop`, in a function
            with a custom rule, in a tinygrad `@function`, and with results in a loop that is differentiated. Also
            raised for `ordered=True` under vmap.
        DerivativeError: A result is a float, and the arguments are differentiated.

    Example:
        >>> from branded import io_callback, scan
        >>> from tinygrad import Tensor
        >>> lines = iter([3.0, 4.0])
        >>> def step(total, _):
        ...     return total + io_callback(lambda: next(lines), total), None
        >>> scan(step, Tensor(0.0), None, length=2)[0].item()
        7.0

    Source: `jax.experimental.io_callback`.
    """
    api_name = "io_callback"
    check_function(callback, api_name, "io_callback(f, result_shape_dtypes, *args)")
    announced = Results(result_shape_dtypes, api_name)
    tensors = arguments(args, kwargs, api_name)
    flat = Flat(callback, (args, kwargs), [True] * len(tensors), announced.skeleton)
    outs = effect(api_name, flat, announced.types, [x.uop for x in tensors], one_by_one=ordered)
    return announced.rebuilt([tensor(u) for u in outs])
