"""Collectives: what the examples of a brand tell each other.

A value of all examples is what it is outside of the vmap: it left the brand (STAGE).  An example takes its own entry of
such a value by entering again (INDEX).  Every collective is made of these two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from tinygrad import Tensor, dtypes

from branded import tree
from branded.brand import Brand
from branded.crossing import copied, enter, stage
from branded.derivatives.leaves import is_differentiating
from branded.devices.exchange import everywhere, resharded
from branded.errors import AxesError, AxisRangeError, AxisTypeError, NameUnboundError, OptionError, SizeError
from branded.graph import expand, tensor
from branded.patches.arrays import np
from branded.recording.calls import leafwise
from branded.rows import check_live, row_of
from branded.scope import Scope, open_brands
from branded.values import vec_type
from branded.vec import Vec

A = TypeVar("A")
T = TypeVar("T")
S = TypeVar("S", bound=Brand)
B = TypeVar("B", bound=Brand)

Names = str | type[Brand] | Brand | Sequence[Any]
"""The brand, or several: a subclass of `Brand`, an open `Brand`, or the string that was its `axis_name`."""


def find(name: Any, what: str) -> list[Brand]:
    """The open brands of these names."""
    if isinstance(name, tuple | list):
        tree.leaves(name)  # has it an end?
        found = [b for n in name for b in find(n, what)]
        if len(set(found)) < len(found):
            raise AxesError(f"{what}: a brand is named twice", ("names", tree.shown(name)), fix="each brand once")
        return found
    here = [b for b in open_brands() if isinstance(b, Brand) and b.is_named]
    if name is Brand:
        raise OptionError(
            f"{what}: `Brand` is every brand",
            ("open", ", ".join(map(repr, here)) or "none with a name"),
            fix="the name of one: a string, a subclass of Brand, or what `with brand(...)` gave",
        )
    for b in reversed(here):
        if b is name or type(b) is name or (isinstance(name, str) and b.name == name):
            return [b]
    text = name.__name__ if isinstance(name, type) else tree.shown(name)
    raise NameUnboundError(
        f"{what}: no brand {text} is open here",
        ("open", ", ".join(map(repr, here)) or "none with a name"),
        fix=f"vmap(..., axis_name={text}) around it"
        if isinstance(name, str | type)
        else "the axis_name of a vmap around it",
    )


def of_all(x: Tensor, b: Brand, what: str, part: int | None = None) -> Tensor:
    """The values of all examples, along a new leading axis.

    Where the brand is on several devices, each gets the whole of them, or its part of the axis `part`.
    """
    if b.draws is not None:
        raise OptionError(
            f"{what}: brand `{b.name}` runs in chunks, so the values of all examples are never together",
            fix=b.draws.instead,
        )
    b.was_left = True
    if b not in row_of(x.uop):
        if not is_differentiating():
            return tensor(expand(x.uop, (b.size,)))
        return tensor(stage(copied(x.uop, (b,)), b))  # a derivative sees the copy of each example
    every = stage(x.uop, b)
    if len(b.devices) > 1 and part != 0:
        every = everywhere(every, b.devices) if part is None else resharded(every, b.devices, part)
    return tensor(every)


def own(x: Tensor, b: Scope) -> Tensor:
    """Each example's entry of a value of all."""
    return tensor(enter(x.uop, b))


def _each(x: Any, what: str, f: Callable[[Tensor], Tensor]) -> Any:
    """`f` on each tensor of a tree."""

    def one(leaf: Any) -> Tensor:
        if (t := tree.as_tensor(leaf)) is None:
            raise AxisTypeError(f"{what}: {tree.describe(leaf)} is not a tensor", fix=tree.advice(leaf))
        check_live(t.uop, what)
        return f(t)

    return tree.rebuild(x, iter([one(leaf) for leaf in tree.leaves(x)]))


F = TypeVar("F", bound=Callable[..., Any])


COLLECTIVES: set[str] = set()
"""The names of those that a typed program writes down."""


def _recorded(f: F) -> F:
    """Write a collective down as one operation for each leaf."""
    COLLECTIVES.add(f.__name__)
    return leafwise(f, "axis_name", lambda name: _one_or_all(find(name, f.__name__)))


def _one_or_all(brands: Sequence[Brand]) -> Brand | tuple[Brand, ...]:
    return brands[0] if len(brands) == 1 else tuple(brands)


# ---- reductions ----


def _reduced(
    x: Any, names: Any, what: str, over: Callable[[Tensor], Tensor], same: Callable[[Tensor, int], Tensor]
) -> Any:
    brands = find(names, what)

    def one(t: Tensor) -> Tensor:
        for b in brands:
            varies = b in row_of(t.uop) or is_differentiating()
            t = over(of_all(t, b, what, 0)) if varies else same(t, b.size)
        return t

    return _each(x, what, one)


def _sum(t: Tensor) -> Tensor:
    return t.sum(0).cast(dtypes.int32 if t.dtype == dtypes.bool else t.dtype)


def _times(t: Tensor, n: int) -> Tensor:
    return t.cast(dtypes.int32) * n if t.dtype == dtypes.bool else t * n


@overload
def psum(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def psum(x: A, axis_name: Names) -> A: ...
@_recorded
def psum(x: Any, axis_name: Names) -> Any:
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
        return x * _size(axis_name, "psum")
    return _reduced(x, axis_name, "psum", _sum, _times)


@overload
def pmean(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmean(x: A, axis_name: Names) -> A: ...
@_recorded
def pmean(x: Any, axis_name: Names) -> Any:
    """The mean over all examples of a brand: `pmean(x, i)` is `psum(x, i) / axis_size(i)`.

    Args:
        x: A tensor, or a tree of them; one that does not vary over the brand counts as the same value in every example.
        axis_name: The brand, or a tuple of several, as for `psum`.

    Returns:
        A tree like `x`, of floats, that does not vary over the brand; NaN where there are no examples.

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
    n = _size(axis_name, "pmean")
    return _each(_reduced(x, axis_name, "pmean", _sum, _times), "pmean", lambda t: t / n)


@overload
def pmax(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmax(x: A, axis_name: Names) -> A: ...
@_recorded
def pmax(x: Any, axis_name: Names) -> Any:
    """The maximum over all examples of a brand: `pmax(x, i)` is `maxᵢ x`.

    Args:
        x: A tensor, or a tree of them; one that does not vary over the brand counts as the same value in every example.
        axis_name: The brand, or a tuple of several, as for `psum`.

    Returns:
        A tree like `x` that does not vary over the brand.  Its derivative goes to the examples that attain it.

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
    return _reduced(x, axis_name, "pmax", lambda t: t.max(0), lambda t, _: t)


@overload
def pmin(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]: ...
@overload
def pmin(x: A, axis_name: Names) -> A: ...
@_recorded
def pmin(x: Any, axis_name: Names) -> Any:
    """The minimum over all examples of a brand: `pmin(x, i)` is `minᵢ x`.

    Args:
        x: A tensor, or a tree of them; one that does not vary over the brand counts as the same value in every example.
        axis_name: The brand, or a tuple of several, as for `psum`.

    Returns:
        A tree like `x` that does not vary over the brand.  Its derivative goes to the examples that attain it.

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
    return _reduced(x, axis_name, "pmin", lambda t: t.min(0), lambda t, _: t)


# ---- exchanges ----


def _axis(axis: int, rank: int, what: str, option: str) -> int:
    if (at := tree.as_int(axis)) is None:
        raise AxisTypeError(f"{what}: {option}={tree.shown(axis)} is not an axis", fix="an int")
    axis = at
    if not -rank <= axis < rank:
        raise AxisRangeError(f"{what}: {option}={axis} is out of range for {rank} axes", fix=f"{-rank} to {rank - 1}")
    return axis % rank


def _move(x: Tensor, source: int, to: int) -> Tensor:
    order = [i for i in range(x.ndim) if i != source]
    order.insert(to, source)
    return x.permute(*order)


@overload
def all_gather(x: Vec[S | B, T], axis_name: type[B], *, axis: int = 0, tiled: bool = False) -> Vec[S, T]: ...
@overload
def all_gather(x: A, axis_name: Names, *, axis: int = 0, tiled: bool = False) -> A: ...
@_recorded
def all_gather(x: Any, axis_name: Names, *, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all examples, for each of them: `all_gather(x, i)` is `stack([x for each i])`.

    Args:
        x: A tensor, or a tree of them.
        axis_name: The brand, or a tuple of several, as for `psum`.
        axis: Where the examples go in the result.
        tiled: Put them one after the other along the axis `axis` of `x`, in place of along a new one.

    Returns:
        A tree like `x`, with an axis of the size of the brand, that does not vary over it.

    Raises:
        NameUnboundError: No brand of that name is open.
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
        at = _axis(axis, t.ndim + (not tiled), "all_gather", "axis")
        g = t
        for b in reversed(brands):
            g = of_all(g, b, "all_gather")
        g = _move(g.reshape(math.prod(b.size for b in brands), *t.shape), 0, at)
        return g.flatten(at, at + 1) if tiled else g

    return _each(x, "all_gather", one)


@overload
def ppermute(x: Vec[S, T], axis_name: type[B], perm: Sequence[tuple[int, int]]) -> Vec[S | B, T]: ...
@overload
def ppermute(x: A, axis_name: Names, perm: Sequence[tuple[int, int]]) -> A: ...
@_recorded
def ppermute(x: Any, axis_name: Names, perm: Sequence[tuple[int, int]]) -> Any:
    """Example `d` gets the value of `s` for each pair `(s, d)` of `perm`; those that get none have zeros.

    Args:
        x: A tensor, or a tree of them.
        axis_name: The brand, as for `psum`; one alone.
        perm: Pairs of the numbers of examples, each source and each destination at most once.

    Returns:
        A tree like `x`.

    Raises:
        NameUnboundError: No brand of that name is open.
        AxesError, AxisRangeError: `perm` is not such pairs.

    Example:
        >>> from branded import ppermute, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(Tensor([1.0, 2.0, 3.0])).tolist()
        [0.0, 1.0, 2.0]

    Source: `jax.lax.ppermute`.
    """
    b = _single(axis_name, "ppermute")
    source = _sources(perm, b)

    def one(t: Tensor) -> Tensor:
        if len(source) == b.size and b not in row_of(t.uop):
            return t  # the same value, whoever it is from
        everyone, parts, d = of_all(t, b, "ppermute"), list[Tensor](), 0
        while d < b.size:  # a run of neighbours that come from neighbours is one slice
            first, start = d, source.get(d)
            d += 1
            while d < b.size and source.get(d) == (None if start is None else start + d - first):
                d += 1
            n = d - first
            parts.append(t.const_like(0).expand(n, *t.shape) if start is None else everyone[start : start + n])
        return own(parts[0].cat(*parts[1:]) if len(parts) > 1 else parts[0], b) if parts else t

    return _each(x, "ppermute", one)


def _sources(perm: Any, b: Brand) -> dict[int, int]:
    """The example from which each gets a value, of those that get one."""
    source: dict[int, int] = {}
    pairs: list[Any] = list(perm) if isinstance(perm, tuple | list | np.ndarray) else [perm]
    for pair in pairs:
        ends = [tree.as_int(i) for i in pair] if isinstance(pair, tuple | list | np.ndarray) else []
        known = [i for i in ends if i is not None and 0 <= i < b.size]
        if len(known) != 2 or len(ends) != 2:
            raise AxisRangeError(
                f"ppermute: {tree.shown(pair)} is not a pair of examples of {b!r}",
                fix=f"pairs (source, destination) of numbers from 0 to {b.size - 1}",
            )
        source[known[1]] = known[0]
    if len(source) < len(pairs) or len(set(source.values())) < len(pairs):
        raise AxesError(
            "ppermute: an example sends or gets more than once",
            ("perm", tree.shown(pairs)),
            fix="each source and each destination once; all_gather for a value that all get",
        )
    return source


@overload
def all_to_all(
    x: Vec[S, T], axis_name: type[B], split_axis: int, concat_axis: int, *, tiled: bool = False
) -> Vec[S | B, T]: ...
@overload
def all_to_all(x: A, axis_name: Names, split_axis: int, concat_axis: int, *, tiled: bool = False) -> A: ...
@_recorded
def all_to_all(x: Any, axis_name: Names, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Any:
    """Example `i` gets the `i`-th piece of each example's value: the brand and the axis `split_axis` change places.

    Args:
        x: A tensor, or a tree of them, whose axis `split_axis` has the size of the brand (or, `tiled`, a multiple).
        axis_name: The brand, as for `psum`; one alone.
        split_axis: The axis of `x` that is taken apart.
        concat_axis: Where the pieces of all examples go.
        tiled: Take apart and put together along axes that stay, in place of axes that go and come.

    Returns:
        A tree like `x`.

    Raises:
        NameUnboundError: No brand of that name is open.
        AxisRangeError, SizeError: The axes do not fit.

    Example:
        >>> from branded import all_to_all, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 3], [2, 4]]

    Source: `jax.lax.all_to_all`.
    """
    b = _single(axis_name, "all_to_all")

    def one(t: Tensor) -> Tensor:
        split = _axis(split_axis, t.ndim, "all_to_all", "split_axis")
        at = _axis(concat_axis, t.ndim, "all_to_all", "concat_axis")
        _fits(t, split, b, tiled, "all_to_all", "split_axis")
        if tiled:
            t = t.unflatten(split, (b.size, t.shape[split] // b.size))
        mine = own(_move(of_all(t, b, "all_to_all", 1 + split), 1 + split, 0), b)  # (from whom, ...)
        return _move(mine, 0, at).flatten(at, at + 1) if tiled else _move(mine, 0, at)

    return _each(x, "all_to_all", one)


@overload
def psum_scatter(
    x: Vec[S, T], axis_name: type[B], *, scatter_dimension: int = 0, tiled: bool = False
) -> Vec[S | B, T]: ...
@overload
def psum_scatter(x: A, axis_name: Names, *, scatter_dimension: int = 0, tiled: bool = False) -> A: ...
@_recorded
def psum_scatter(x: Any, axis_name: Names, *, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """`psum`, of which each example keeps its own piece of the axis `scatter_dimension`.

    Args:
        x: A tensor, or a tree of them, whose axis `scatter_dimension` has the size of the brand (or, `tiled`, a
            multiple).
        axis_name: The brand, as for `psum`; one alone.
        scatter_dimension: The axis of `x` that is taken apart.
        tiled: Keep the axis, in place of taking it away.

    Returns:
        A tree like `x` without that axis, or with a piece of it.

    Raises:
        NameUnboundError: No brand of that name is open.
        AxisRangeError, SizeError: The axis does not fit.

    Example:
        >>> from branded import psum_scatter, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(Tensor([[1, 2], [3, 4]])).tolist()
        [4, 6]

    Source: `jax.lax.psum_scatter`.
    """
    b = _single(axis_name, "psum_scatter")

    def one(t: Tensor) -> Tensor:
        at = _axis(scatter_dimension, t.ndim, "psum_scatter", "scatter_dimension")
        _fits(t, at, b, tiled, "psum_scatter", "scatter_dimension")
        if tiled:
            t = t.unflatten(at, (b.size, t.shape[at] // b.size))
        if (n := len(b.devices)) < 2 or b not in row_of(t.uop):
            return own(_move(psum(t, b), at, 0), b)
        every = of_all(t, b, "psum_scatter", 0)  # a reduce_scatter: each device adds up what it has, and sends the sums
        of_each = _sum(every.reshape(n, b.size // n, *t.shape).transpose(0, 1))
        return own(_move(_sum(tensor(resharded(of_each.uop, b.devices, 1 + at))), at, 0), b)

    return _each(x, "psum_scatter", one)


def _fits(t: Tensor, axis: int, b: Brand, tiled: bool, what: str, option: str) -> None:
    n = t.shape[axis]
    if n % b.size if tiled and b.size else n != b.size:
        raise SizeError(
            f"{what}: brand `{b.name}` has {b.size} examples, and axis {axis} of the value has {n} entries",
            ("value", vec_type(t)),
            fix=f"a {option} whose size is {'a multiple of ' if tiled else ''}{b.size}"
            + ("" if tiled else ", or tiled=True for a multiple"),
        )


def _single(name: Any, what: str) -> Brand:
    brands = find(name, what)
    if len(brands) != 1:
        raise AxesError(f"{what}: one brand, and {len(brands)} were given", ("names", repr(name)), fix="one at a time")
    return brands[0]


# ---- who am I ----


@overload
def axis_index(axis_name: type[B]) -> Vec[B]: ...
@overload
def axis_index(axis_name: Names) -> Vec[Any]: ...
@_recorded
def axis_index(axis_name: Names) -> Any:
    """The number of the example in its brand, from 0: `i32[]`.

    Args:
        axis_name: The brand, or a tuple of several, as for `psum`.

    Returns:
        An int32 that varies over the brand; of several brands, the number in all of them, the last one fastest.

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
        index = index * b.size + own(Tensor.arange(b.size, dtype=dtypes.int32), b)
    return index


def axis_size(axis_name: Names) -> int:
    """The number of examples of an open brand, or of several together: an int.

    Args:
        axis_name: The brand, or a tuple of several, as for `psum`.

    Returns:
        The size; the product of the sizes of several.

    Raises:
        NameUnboundError: No brand of that name is open.

    Example:
        >>> from branded import axis_size, vmap
        >>> from tinygrad import Tensor
        >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(Tensor([2.0, 4.0])).tolist()
        [1.0, 2.0]

    Source: `jax.lax.axis_size`.
    """
    return _size(axis_name, "axis_size")


def _size(axis_name: Names, what: str) -> int:
    return math.prod(b.size for b in find(axis_name, what))
