"""Collectives: what the examples of a brand tell each other.

A value of all examples is what it is outside the vmap: it left the brand (STAGE).  An example takes its own entry of
such a value by entering again (INDEX).  Every collective is made of these two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

from tinygrad import Tensor, dtypes

from branded.collectives.named_axes import Names, axis_of, each, find, move, of_all, own, recorded, size_of
from branded.core.brand import Brand
from branded.core.tracing.state import is_differentiating
from branded.graph.rows import row_of
from branded.tinygrad_compat.private_api import least_upper_dtype
from branded.vec import Vec

if TYPE_CHECKING:
    from branded.core.brand import Only, Rest

A = TypeVar("A")
R = TypeVar("R", bound=Brand)
T = TypeVar("T")
S = TypeVar("S", bound=Brand)
B = TypeVar("B", bound=Brand)


# ---- reductions ----


def _reduced(
    x: Any, names: Any, what: str, over: Callable[[Tensor], Tensor], same: Callable[[Tensor, int], Tensor]
) -> Any:
    brands = find(names, what)
    return each(x, what, lambda t: _over(t, brands, what, over, same))


def _over(
    t: Tensor,
    brands: Sequence[Brand],
    what: str,
    over: Callable[[Tensor], Tensor],
    same: Callable[[Tensor, int], Tensor],
) -> Tensor:
    """One tensor, reduced over each of the brands."""
    for b in brands:
        if not (b in row_of(t.uop) or is_differentiating()):
            t = same(t, b.whole)
        elif b.part is not None:
            t = b.part.reduced(what, t, b, over)
        else:
            t = over(of_all(t, (b,), what, 0))
    return t


def summed(t: Tensor) -> Tensor:
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
@recorded
def psum(x: Any, axis_name: Any) -> Any:
    """The sum over all examples of a brand: `psum(x, i)` is `Σᵢ x`, which no longer varies over it.

    Args:
        x: A tensor, or a tree of them; one that does not vary over the brand counts as the same value in every example.
        axis_name: The brand, or a tuple of several: a subclass of `Brand`, the string that was its `axis_name`, or an
            open `Brand` itself.

    Returns:
        A tree like `x` that does not vary over the brand, so it may leave with `out_axes=None`; bools are counted.

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
    return _reduced(x, axis_name, "psum", summed, _times)


@overload
def pmean(x: Vec[S, T], axis_name: Only[S]) -> Vec[Never, T]: ...
@overload
def pmean(x: Vec[S, T], axis_name: Rest[S, R]) -> Vec[R, T]: ...
@overload
def pmean(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmean(x: A, axis_name: Names) -> A: ...
@recorded
def pmean(x: Any, axis_name: Any) -> Any:
    """The mean over all examples of a brand: `pmean(x, i)` is `psum(x, i) / axis_size(i)`.

    Its arguments and errors are those of `psum`.

    Returns:
        A tree like `x`, of floats, that does not vary over the brand; NaN where there are no examples.

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
            return _over(t, brands, "pmean", summed, _times) / n
        wide = t.cast(least_upper_dtype(t.dtype, dtypes.float32))  # a sum may be too large for small ints and halves
        if dtypes.is_float(t.dtype) and t.dtype != wide.dtype:  # of which tinygrad adds halves up between devices
            return _over(wide / n, brands, "pmean", summed, _times).cast(t.dtype)
        return _over(wide, brands, "pmean", summed, _times) / n

    return each(x, "pmean", mean)


@overload
def pmax(x: Vec[S, T], axis_name: Only[S]) -> Vec[Never, T]: ...
@overload
def pmax(x: Vec[S, T], axis_name: Rest[S, R]) -> Vec[R, T]: ...
@overload
def pmax(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmax(x: A, axis_name: Names) -> A: ...
@recorded
def pmax(x: Any, axis_name: Any) -> Any:
    """The maximum over all examples of a brand: `pmax(x, i)` is `maxᵢ x`.

    Its arguments and errors are those of `psum`.

    Returns:
        A tree like `x` that does not vary over the brand.  Its derivative goes to the examples that attain it.

    Example:
        >>> from branded import pmax, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: pmax(x, "i") - x, axis_name="i")(Tensor([1.0, 3.0])).tolist()
        [2.0, 0.0]

    Source: `jax.lax.pmax`.
    """
    return _reduced(x, axis_name, "pmax", lambda t: t.max(0), lambda t, _: t)


@overload
def pmin(x: Vec[S, T], axis_name: Only[S]) -> Vec[Never, T]: ...
@overload
def pmin(x: Vec[S, T], axis_name: Rest[S, R]) -> Vec[R, T]: ...
@overload
def pmin(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmin(x: A, axis_name: Names) -> A: ...
@recorded
def pmin(x: Any, axis_name: Any) -> Any:
    """The minimum over all examples of a brand: `pmin(x, i)` is `minᵢ x`.

    Its arguments and errors are those of `psum`.

    Returns:
        A tree like `x` that does not vary over the brand.  Its derivative goes to the examples that attain it.

    Example:
        >>> from branded import pmin, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(Tensor([1.0, 3.0])).tolist()
        [0.0, 2.0]

    Source: `jax.lax.pmin`.
    """
    return _reduced(x, axis_name, "pmin", lambda t: t.min(0), lambda t, _: t)


@overload
def all_gather(x: Vec[S, T], axis_name: Only[S], *, axis: int = 0, tiled: bool = False) -> Vec[Never, T]: ...
@overload
def all_gather(x: Vec[S, T], axis_name: Rest[S, R], *, axis: int = 0, tiled: bool = False) -> Vec[R, T]: ...
@overload
def all_gather(x: Vec[S | B, T], axis_name: type[B], *, axis: int = 0, tiled: bool = False) -> Vec[S, T]: ...
@overload
def all_gather(x: A, axis_name: Names, *, axis: int = 0, tiled: bool = False) -> A: ...
@recorded
def all_gather(x: Any, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all examples, for each of them: `all_gather(x, i)` is `stack([x for each i])`.

    Args:
        x: A tensor, or a tree of them.
        axis_name: As for `psum`, and so are the errors of it.
        axis: Where the examples go in the result.
        tiled: Put them one after the other along the axis `axis` of `x`, in place of along a new one.

    Returns:
        A tree like `x`, with an axis of the size of the brand, that does not vary over it.

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
        at = axis_of(axis, t.ndim + (not tiled), "all_gather", "axis")
        g = move(of_all(t, brands, "all_gather"), 0, at)
        return g.flatten(at, at + 1) if tiled else g

    return each(x, "all_gather", one)


# ---- who am I ----


@overload
def axis_index(axis_name: type[B]) -> Vec[B]: ...
@overload
def axis_index(axis_name: Names) -> Vec[Any]: ...
@recorded
def axis_index(axis_name: Names) -> Any:
    """The number of the example in its brand, from 0: `i32[]`; `axis_name` is as for `psum`.

    Returns:
        An int32 that varies over the brand; of several brands, the number in all of them, the last one fastest.

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


def axis_size(axis_name: Names) -> int:
    """The number of examples of an open brand, or of several together: an int; `axis_name` is as for `psum`.

    Returns:
        The size; the product of the sizes of several.

    Example:
        >>> from branded import axis_size, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(Tensor([2.0, 4.0])).tolist()
        [1.0, 2.0]

    Source: `jax.lax.axis_size`.
    """
    return size_of(axis_name, "axis_size")
