"""Collectives that move values between examples: `ppermute`, `all_to_all`, `psum_scatter`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from tinygrad import Tensor

from branded.collectives.named_axes import (
    Names,
    axis_of,
    check_axis_size,
    each,
    exchanging,
    find,
    is_spread,
    neighbours,
    of_all,
    own,
    record_collective,
    size_of,
    sources,
)
from branded.collectives.reductions import psum, sum_examples
from branded.core.brand import B, Brand, S, T
from branded.core.sharding.resharding import passed_on, reshard
from branded.core.tracing.state import is_differentiating
from branded.graph.rows import row_of
from branded.graph.uops import moveaxis, tensor
from branded.vec import Vec

A = TypeVar("A")


@overload
def ppermute(x: Vec[S, T], axis_name: type[B], perm: Sequence[tuple[int, int]]) -> Vec[S | B, T]: ...
@overload
def ppermute(x: A, axis_name: Names, perm: Sequence[tuple[int, int]]) -> A: ...
@record_collective
def ppermute(x: Any, axis_name: Names, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values between examples: for each pair `(s, d)` of `perm`, example `d` gets the value of `s`.

    Examples that receive no value get zeros.

    Args:
        x: A tensor, or a tree of tensors.
        axis_name: As for `psum`; for several brands, examples are indexed with the last brand fastest.
        perm: Pairs (source, destination) of example indices, each source and each destination at most once.

    Returns:
        A tree like `x`.

    Raises:
        AxesError, AxisRangeError: `perm` is not a sequence of such pairs.

    Example:
        >>> from branded import ppermute, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(Tensor([1.0, 2.0, 3.0])).tolist()
        [0.0, 1.0, 2.0]

    Source: `jax.lax.ppermute`.
    """
    brands = exchanging(axis_name, "ppermute")
    source, size = sources(perm, brands), size_of(axis_name, "ppermute")

    def one(t: Tensor) -> Tensor:
        if len(source) == size and not ({*brands} & {*row_of(t.uop)} or is_differentiating()):
            return t  # an unbatched value stays unchanged; under a derivative each example has a copy
        if any(is_spread(b) and b in row_of(t.uop) for b in brands) and source:
            return _over_devices(t, source, brands)
        everyone, parts, d = of_all(t, brands, "ppermute"), list[Tensor](), 0
        while d < size:  # consecutive examples with consecutive sources form one slice
            first, start = d, source.get(d)
            d += 1
            while d < size and source.get(d) == (None if start is None else start + d - first):
                d += 1
            n = d - first
            parts.append(t.const_like(0).expand(n, *t.shape) if start is None else everyone[start : start + n])
        return own(parts[0].cat(*parts[1:]) if len(parts) > 1 else parts[0], brands) if parts else t

    return each(x, "ppermute", one)


def _gets(source: dict[int, int], b: Brand) -> Tensor:
    """Return whether this example receives a value, computed from its index without moving data."""
    number, out = own(Tensor.arange(b.size), (b,)), Tensor(False)
    for first in sorted(d for d in source if d - 1 not in source):
        behind = next(d for d in range(first, b.size + 1) if d not in source)
        out = out | ((number >= first) & (number < behind))
    return out


def _over_devices(t: Tensor, source: dict[int, int], brands: Sequence[Brand]) -> Tensor:
    """Permute examples across devices: rows are sent only where needed if the pattern is the same on all devices."""
    b = brands[0]
    if len(brands) == 1 and (runs := neighbours(source, b)) is not None:
        here = own(tensor(passed_on(of_all(t, brands, "ppermute", 0).uop, b.devices, runs)), brands)
        return here if len(source) == b.size else _gets(source, b).where(here, 0)
    everyone = of_all(t, brands, "ppermute")
    size = everyone.shape[0]
    source_of = own(Tensor([source.get(d, -1) for d in range(size)]), brands)
    mine = (Tensor.arange(size) == source_of).reshape(size, *(1,) * t.ndim)
    return mine.where(everyone, 0).sum(0).cast(t.dtype)


@overload
def all_to_all(
    x: Vec[S, T], axis_name: type[B], split_axis: int, concat_axis: int, *, tiled: bool = False
) -> Vec[S | B, T]: ...
@overload
def all_to_all(x: A, axis_name: Names, split_axis: int, concat_axis: int, *, tiled: bool = False) -> A: ...
@record_collective
def all_to_all(x: Any, axis_name: Names, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Any:
    """Exchange the brand and the axis `split_axis`: example `i` gets the `i`-th piece of each example's value.

    Args:
        x: A tensor, or a tree of tensors, whose axis `split_axis` has the size of the brand (or, `tiled`, a multiple).
        axis_name: As for `psum`; for several brands, examples are indexed with the last brand fastest.
        split_axis: The axis of `x` to split.
        concat_axis: The position of the pieces from all examples.
        tiled: Split and concatenate along existing axes instead of removing one axis and inserting another.

    Returns:
        A tree like `x`.

    Raises:
        AxisRangeError, SizeError: The axes do not fit.

    Example:
        >>> from branded import all_to_all, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 3], [2, 4]]

    Source: `jax.lax.all_to_all`.
    """
    brands = exchanging(axis_name, "all_to_all")
    size = size_of(axis_name, "all_to_all")

    def one(t: Tensor) -> Tensor:
        split = axis_of(split_axis, t.ndim, "all_to_all", "split_axis")
        concat = axis_of(concat_axis, t.ndim, "all_to_all", "concat_axis")
        check_axis_size(t, split, brands, tiled, "all_to_all", "split_axis")
        if tiled:
            t = t.unflatten(split, (size, t.shape[split] // size))
        mine = own(moveaxis(of_all(t, brands, "all_to_all", 1 + split), 1 + split, 0), brands)  # (source example, ...)
        return moveaxis(mine, 0, concat).flatten(concat, concat + 1) if tiled else moveaxis(mine, 0, concat)

    return each(x, "all_to_all", one)


@overload
def psum_scatter(
    x: Vec[S, T], axis_name: type[B], *, scatter_dimension: int = 0, tiled: bool = False
) -> Vec[S | B, T]: ...
@overload
def psum_scatter(x: A, axis_name: Names, *, scatter_dimension: int = 0, tiled: bool = False) -> A: ...
@record_collective
def psum_scatter(x: Any, axis_name: Names, *, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """Sum over the brand and scatter: each example receives one piece of the sum along `scatter_dimension`.

    Args:
        x: A tensor, or a tree of tensors, whose axis `scatter_dimension` has the size of the brand (or, `tiled`, a
            multiple).
        axis_name: As for `psum`; for several brands, examples are indexed with the last brand fastest.
        scatter_dimension: The axis of `x` to split.
        tiled: Keep the axis, shortened, instead of removing it.

    Returns:
        A tree like `x` without that axis, or with a piece of it.

    Raises:
        AxisRangeError, SizeError: The axis does not fit.

    Example:
        >>> from branded import psum_scatter, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(Tensor([[1, 2], [3, 4]])).tolist()
        [4, 6]

    Source: `jax.lax.psum_scatter`.
    """
    if not find(axis_name, "psum_scatter"):
        return each(x, "psum_scatter", lambda t: t)
    brands = exchanging(axis_name, "psum_scatter")
    size = size_of(axis_name, "psum_scatter")

    def one(t: Tensor) -> Tensor:
        scatter = axis_of(scatter_dimension, t.ndim, "psum_scatter", "scatter_dimension")
        check_axis_size(t, scatter, brands, tiled, "psum_scatter", "scatter_dimension")
        if tiled:
            t = t.unflatten(scatter, (size, t.shape[scatter] // size))
        b = brands[0]
        if len(brands) > 1 or not is_spread(b) or b not in row_of(t.uop):
            return own(moveaxis(psum(t, brands), scatter, 0), brands)
        # a reduce_scatter: each device sums its examples and sends the sums
        n, every = len(b.devices), of_all(t, brands, "psum_scatter", 0)
        of_each = sum_examples(every.reshape(n, b.size // n, *t.shape).transpose(0, 1))
        return own(moveaxis(sum_examples(tensor(reshard(of_each.uop, b.devices, 1 + scatter))), scatter, 0), brands)

    return each(x, "psum_scatter", one)
