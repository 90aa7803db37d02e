"""Collectives that reduce or gather the values of all examples of a brand, and the index and size of the axis.

Stacking the values of all examples leaves the brand (STAGE). An example takes its own entry of such a stack by entering
the brand again (INDEX). Collectives are built from these two operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

from tinygrad import Tensor, dtypes

from branded.collectives.named_axes import Names, axis_of, each, find, of_all, own, record_collective, size_of
from branded.core.brand import B, Brand, S, T
from branded.core.tracing.state import is_differentiating
from branded.errors.calls import check_calls
from branded.graph.rows import row_of
from branded.graph.uops import moveaxis
from branded.tinygrad_compat.private_api import least_upper_dtype
from branded.vec import Vec

if TYPE_CHECKING:
    from branded.core.brand import Only, Rest

A = TypeVar("A")
R = TypeVar("R", bound=Brand)


def _reduce_tree(
    x: Any, names: Any, api_name: str, over: Callable[[Tensor], Tensor], same: Callable[[Tensor, int], Tensor]
) -> Any:
    brands = find(names, api_name)
    return each(x, api_name, lambda t: _over(t, brands, api_name, over, same))


def _over(
    t: Tensor,
    brands: Sequence[Brand],
    api_name: str,
    over: Callable[[Tensor], Tensor],
    same: Callable[[Tensor, int], Tensor],
) -> Tensor:
    """Reduce one tensor over each of the brands."""
    for b in brands:
        if not (b in row_of(t.uop) or is_differentiating()):
            t = same(t, b.whole)
        elif b.part is not None:
            t = b.part.reduced(api_name, t, b, over)
        else:
            t = over(of_all(t, (b,), api_name, 0))
    return t


def sum_examples(t: Tensor) -> Tensor:
    return t.sum(0).cast(dtypes.int32 if t.dtype == dtypes.bool else t.dtype)


def _times(t: Tensor, n: int) -> Tensor:
    return t.cast(dtypes.int32) * n if t.dtype == dtypes.bool else t * n


@overload
def psum(x: Vec[S, T], axis_name: Only[S]) -> Vec[Never, T]: ...
@overload
def psum(x: Vec[S, T], axis_name: Rest[S, R]) -> Vec[R, T]: ...
@overload
def psum(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def psum(x: A, axis_name: Names) -> A: ...
@record_collective
def psum(x: Any, axis_name: Any) -> Any:
    """Sum over all examples of a brand: `psum(x, i)` is `Σᵢ x`, which no longer varies over the brand.

    Args:
        x: A tensor, or a tree of tensors. A tensor that does not vary over the brand counts as the same value in every
            example.
        axis_name: The brand, or a tuple of several: a subclass of `Brand`, the string passed as `axis_name`, or an open
            `Brand` itself.

    Returns:
        A tree like `x` that does not vary over the brand, so it may be returned with `out_axes=None`. Bools are
        counted.

    Raises:
        NameUnboundError: No brand of that name is open.
        OptionError: The brand runs in chunks.

    Example:
        >>> from branded import psum, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(Tensor([1.0, 3.0])).tolist()
        [0.25, 0.75]

    Source: `jax.lax.psum`.
    """
    if isinstance(x, int | float) and not isinstance(x, bool):
        return x * size_of(axis_name, "psum")
    return _reduce_tree(x, axis_name, "psum", sum_examples, _times)


@overload
def pmean(x: Vec[S, T], axis_name: Only[S]) -> Vec[Never, T]: ...
@overload
def pmean(x: Vec[S, T], axis_name: Rest[S, R]) -> Vec[R, T]: ...
@overload
def pmean(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmean(x: A, axis_name: Names) -> A: ...
@record_collective
def pmean(x: Any, axis_name: Any) -> Any:
    """Average over all examples of a brand: `pmean(x, i)` is `psum(x, i) / axis_size(i)`.

    Args:
        x: A tensor, or a tree of tensors. A tensor that does not vary over the brand counts as the same value in every
            example.
        axis_name: The brand, or a tuple of several: a subclass of `Brand`, the string passed as `axis_name`, or an open
            `Brand` itself.

    Returns:
        A tree of floats like `x` that does not vary over the brand; NaN if there are no examples.

    Raises:
        NameUnboundError: No brand of that name is open.
        OptionError: The brand runs in chunks.

    Example:
        >>> from branded import pmean, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(Tensor([1.0, 3.0])).tolist()
        [-1.0, 1.0]

    Source: `jax.lax.pmean`.
    """
    n, brands = size_of(axis_name, "pmean"), find(axis_name, "pmean")

    def mean(t: Tensor) -> Tensor:
        if t.dtype in dtypes.weaks:
            return _over(t, brands, "pmean", sum_examples, _times) / n
        wide = t.cast(least_upper_dtype(t.dtype, dtypes.float32))  # the sum may overflow small ints and floats
        if dtypes.is_float(t.dtype) and t.dtype != wide.dtype:  # tinygrad sums these across devices in half precision
            return _over(wide / n, brands, "pmean", sum_examples, _times).cast(t.dtype)
        return _over(wide, brands, "pmean", sum_examples, _times) / n

    return each(x, "pmean", mean)


@overload
def pmax(x: Vec[S, T], axis_name: Only[S]) -> Vec[Never, T]: ...
@overload
def pmax(x: Vec[S, T], axis_name: Rest[S, R]) -> Vec[R, T]: ...
@overload
def pmax(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmax(x: A, axis_name: Names) -> A: ...
@record_collective
def pmax(x: Any, axis_name: Any) -> Any:
    """Take the maximum over all examples of a brand: `pmax(x, i)` is `maxᵢ x`.

    Args:
        x: A tensor, or a tree of tensors. A tensor that does not vary over the brand counts as the same value in every
            example.
        axis_name: The brand, or a tuple of several: a subclass of `Brand`, the string passed as `axis_name`, or an open
            `Brand` itself.

    Returns:
        A tree like `x` that does not vary over the brand. Its derivative flows to the examples that attain the maximum.

    Raises:
        NameUnboundError: No brand of that name is open.
        OptionError: The brand runs in chunks.

    Example:
        >>> from branded import pmax, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: pmax(x, "i") - x, axis_name="i")(Tensor([1.0, 3.0])).tolist()
        [2.0, 0.0]

    Source: `jax.lax.pmax`.
    """
    return _reduce_tree(x, axis_name, "pmax", lambda t: t.max(0), lambda t, _: t)


@overload
def pmin(x: Vec[S, T], axis_name: Only[S]) -> Vec[Never, T]: ...
@overload
def pmin(x: Vec[S, T], axis_name: Rest[S, R]) -> Vec[R, T]: ...
@overload
def pmin(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmin(x: A, axis_name: Names) -> A: ...
@record_collective
def pmin(x: Any, axis_name: Any) -> Any:
    """Take the minimum over all examples of a brand: `pmin(x, i)` is `minᵢ x`.

    Args:
        x: A tensor, or a tree of tensors. A tensor that does not vary over the brand counts as the same value in every
            example.
        axis_name: The brand, or a tuple of several: a subclass of `Brand`, the string passed as `axis_name`, or an open
            `Brand` itself.

    Returns:
        A tree like `x` that does not vary over the brand. Its derivative flows to the examples that attain the minimum.

    Raises:
        NameUnboundError: No brand of that name is open.
        OptionError: The brand runs in chunks.

    Example:
        >>> from branded import pmin, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(Tensor([1.0, 3.0])).tolist()
        [0.0, 2.0]

    Source: `jax.lax.pmin`.
    """
    return _reduce_tree(x, axis_name, "pmin", lambda t: t.min(0), lambda t, _: t)


@overload
def all_gather(x: Vec[S, T], axis_name: Only[S], *, axis: int = 0, tiled: bool = False) -> Vec[Never, T]: ...
@overload
def all_gather(x: Vec[S, T], axis_name: Rest[S, R], *, axis: int = 0, tiled: bool = False) -> Vec[R, T]: ...
@overload
def all_gather(x: Vec[S | B, T], axis_name: type[B], *, axis: int = 0, tiled: bool = False) -> Vec[S, T]: ...
@overload
def all_gather(x: A, axis_name: Names, *, axis: int = 0, tiled: bool = False) -> A: ...
@record_collective
def all_gather(x: Any, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Any:
    """Gather the values of all examples: `all_gather(x, i)` is `stack([x for each i])`, for every example.

    Args:
        x: A tensor, or a tree of tensors.
        axis_name: As for `psum`, with the same errors.
        axis: The position of the axis of examples in the result.
        tiled: Concatenate the examples along the existing axis `axis` of `x` instead of stacking them along a new one.

    Returns:
        A tree like `x`, with an axis of the size of the brand, that does not vary over the brand.

    Raises:
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import all_gather, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: (all_gather(x, "i") > x).sum(), axis_name="i")(Tensor([1.0, 3.0, 2.0])).tolist()
        [2, 0, 1]

    Source: `jax.lax.all_gather`.
    """
    brands = find(axis_name, "all_gather")

    def one(t: Tensor) -> Tensor:
        if not brands:
            return t
        position = axis_of(axis, t.ndim + (not tiled), "all_gather", "axis")
        g = moveaxis(of_all(t, brands, "all_gather"), 0, position)
        return g.flatten(position, position + 1) if tiled else g

    return each(x, "all_gather", one)


@overload
def axis_index(axis_name: type[B]) -> Vec[B]: ...
@overload
def axis_index(axis_name: Names) -> Vec[Any]: ...
@record_collective
def axis_index(axis_name: Names) -> Any:
    """Return the example's index in its brand, from 0: `i32[]`.

    Args:
        axis_name: The brand, or a tuple of several: a subclass of `Brand`, the string passed as `axis_name`, or an open
            `Brand` itself.

    Returns:
        An int32 that varies over the brand. For several brands, the index in their product, with the last brand
        fastest.

    Raises:
        NameUnboundError: No brand of that name is open.

    Example:
        >>> from branded import axis_index, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(Tensor([5, 5, 5])).tolist()
        [0, 5, 10]

    Source: `jax.lax.axis_index`.
    """
    brands = find(axis_name, "axis_index")
    index = Tensor(0, dtype=dtypes.int32)
    for b in brands:
        here = Tensor.arange(b.size, dtype=dtypes.int32)
        index = index * b.whole + own(here if b.part is None else here + b.part.start, (b,))
    return index


@check_calls
def axis_size(axis_name: Names) -> int:
    """Return the batch size of an open brand, or the product for several, as an int.

    Args:
        axis_name: The brand, or a tuple of several: a subclass of `Brand`, the string passed as `axis_name`, or an open
            `Brand` itself.

    Returns:
        The size, or the product of the sizes.

    Raises:
        NameUnboundError: No brand of that name is open.

    Example:
        >>> from branded import axis_size, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(Tensor([2.0, 4.0])).tolist()
        [1.0, 2.0]

    Source: `jax.lax.axis_size`.
    """
    return size_of(axis_name, "axis_size")
