"""Collectives: what the examples of a brand tell each other.

A value of all examples is what it is outside of the vmap: it left the brand (STAGE).  An example takes its own entry of
such a value by entering again (INDEX).  Every collective is made of these two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes

from branded import tree
from branded.brand import Brand, check_live, open_brands, tensor
from branded.dispatch import expand
from branded.errors import AxesError, AxisRangeError, AxisTypeError, NameUnboundError, OptionError, SizeError
from branded.rows import row_of, stage
from branded.transforms.derivatives import is_differentiating
from branded.values import vec_type

Names = str | type[Brand] | Brand | Sequence[Any]
"""The brand, or several: a subclass of `Brand`, an open `Brand`, or the string that was its `axis_name`."""


def find(name: Any, what: str) -> list[Brand]:
    """The open brands of these names."""
    if isinstance(name, tuple | list):
        found = [b for n in name for b in find(n, what)]
        if len(set(found)) < len(found):
            raise AxesError(f"{what}: a brand is named twice", ("names", repr(name)), fix="each brand once")
        return found
    here = [b for b in open_brands() if b.is_named]
    for b in here:
        if b is name or type(b) is name or (isinstance(name, str) and b.name == name):
            return [b]
    text = name.__name__ if isinstance(name, type) else repr(name)
    raise NameUnboundError(
        f"{what}: no brand {text} is open here",
        ("open", ", ".join(map(repr, here)) or "none with a name"),
        fix=f"vmap(..., axis_name={text}) around it"
        if isinstance(name, str | type)
        else "the axis_name of a vmap around it",
    )


def of_all(x: Tensor, b: Brand, what: str) -> Tensor:
    """The values of all examples, along a new leading axis."""
    if b.draws is not None:
        raise OptionError(
            f"{what}: brand `{b.name}` runs in chunks, so the values of all examples are never together",
            fix="leave out chunk_size",
        )
    b.was_left = True
    if b not in row_of(x.uop):
        x = tensor(expand(x.uop, (b.size,)))
        if not is_differentiating():
            return x
        x = own(x, b)  # a derivative sees the copy of each example
    return tensor(stage(x.uop, b))


def own(x: Tensor, b: Brand) -> Tensor:
    """Each example's entry of a value of all."""
    return tensor(b.enter(x.uop, 0))


def _each(x: Any, what: str, f: Callable[[Tensor], Tensor]) -> Any:
    """`f` on each tensor of a tree."""

    def one(leaf: Any) -> Tensor:
        if isinstance(leaf, bool | int | float):
            leaf = Tensor(leaf)
        if not isinstance(leaf, Tensor):
            raise AxisTypeError(f"{what}: {tree.describe(leaf)} is not a tensor")
        check_live(leaf.uop, what)
        return f(leaf)

    return tree.rebuild(x, iter([one(leaf) for leaf in tree.leaves(x)]))


# ---- reductions ----


def _reduced(x: Any, names: Any, what: str, over: Callable[[Tensor], Tensor], same: Callable[[Tensor, int], Tensor]) -> Any:
    brands = find(names, what)

    def one(t: Tensor) -> Tensor:
        for b in brands:
            varies = b in row_of(t.uop) or is_differentiating()
            t = over(of_all(t, b, what)) if varies else same(t, b.size)
        return t

    return _each(x, what, one)


def _sum(t: Tensor) -> Tensor:
    return t.sum(0).cast(dtypes.int32 if t.dtype == dtypes.bool else t.dtype)


def _times(t: Tensor, n: int) -> Tensor:
    return t.cast(dtypes.int32) * n if t.dtype == dtypes.bool else t * n


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over all examples of a brand: `psum(x, i)` is `Σᵢ x`, the same for each, so it no longer varies over it."""
    if isinstance(x, int | float) and not isinstance(x, bool):
        return x * axis_size(axis_name, _what="psum")
    return _reduced(x, axis_name, "psum", _sum, _times)


def pmean(x: Any, axis_name: Any) -> Any:
    """The mean over all examples of a brand."""
    n = axis_size(axis_name, _what="pmean")
    return _reduced(_each(x, "pmean", lambda t: t / n), axis_name, "pmean", _sum, _times)


def pmax(x: Any, axis_name: Any) -> Any:
    """The maximum over all examples of a brand."""
    return _reduced(x, axis_name, "pmax", lambda t: t.max(0), lambda t, _: t)


def pmin(x: Any, axis_name: Any) -> Any:
    """The minimum over all examples of a brand."""
    return _reduced(x, axis_name, "pmin", lambda t: t.min(0), lambda t, _: t)


# ---- exchanges ----


def _axis(axis: int, rank: int, what: str, option: str) -> int:
    if type(axis) is not int:
        raise AxisTypeError(f"{what}: {option}={axis!r} is not an axis", fix="an int")
    if not -rank <= axis < rank:
        raise AxisRangeError(f"{what}: {option}={axis} is out of range for {rank} axes", fix=f"{-rank} to {rank - 1}")
    return axis % rank


def _move(x: Tensor, source: int, to: int) -> Tensor:
    order = [i for i in range(x.ndim) if i != source]
    order.insert(to, source)
    return x.permute(*order)


def all_gather(x: Any, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all examples, stacked along `axis` (or, `tiled`, one after the other along it), for each of them."""
    brands = find(axis_name, "all_gather")

    def one(t: Tensor) -> Tensor:
        at = _axis(axis, t.ndim + (not tiled), "all_gather", "axis")
        g = t
        for b in reversed(brands):
            g = of_all(g, b, "all_gather")
        g = _move(g.reshape(math.prod(b.size for b in brands), *t.shape), 0, at)
        return g.flatten(at, at + 1) if tiled else g

    return _each(x, "all_gather", one)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """The example `d` gets the value of `s` for each pair `(s, d)`; those that get none have zeros."""
    b = _single(axis_name, "ppermute")
    source: dict[int, int] = {}
    pairs = [tuple(p) for p in perm]
    for s, d in pairs:
        if not (type(s) is int and type(d) is int and 0 <= s < b.size and 0 <= d < b.size):
            raise AxisRangeError(
                f"ppermute: ({s}, {d}) is not a pair of examples of {b!r}", fix=f"numbers from 0 to {b.size - 1}"
            )
        source[d] = s
    if len(source) < len(pairs) or len(set(source.values())) < len(pairs):
        raise AxesError(
            "ppermute: an example sends or gets more than once",
            ("perm", repr(pairs)),
            fix="each source and each destination once; all_gather for a value that all get",
        )

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


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Any:
    """Example `i` gets the `i`-th piece of each example's value: a transposition of the brand with `split_axis`."""
    b = _single(axis_name, "all_to_all")

    def one(t: Tensor) -> Tensor:
        split = _axis(split_axis, t.ndim, "all_to_all", "split_axis")
        at = _axis(concat_axis, t.ndim, "all_to_all", "concat_axis")
        _fits(t, split, b, tiled, "all_to_all", "split_axis")
        if tiled:
            t = t.unflatten(split, (b.size, t.shape[split] // b.size))
        mine = own(_move(of_all(t, b, "all_to_all"), 1 + split, 0), b)  # (from whom, ...)
        return _move(mine, 0, at).flatten(at, at + 1) if tiled else _move(mine, 0, at)

    return _each(x, "all_to_all", one)


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """`psum`, of which each example keeps its own piece of the axis `scatter_dimension`."""
    b = _single(axis_name, "psum_scatter")

    def one(t: Tensor) -> Tensor:
        at = _axis(scatter_dimension, t.ndim, "psum_scatter", "scatter_dimension")
        _fits(t, at, b, tiled, "psum_scatter", "scatter_dimension")
        if tiled:
            t = t.unflatten(at, (b.size, t.shape[at] // b.size))
        return own(_move(psum(t, b), at, 0), b)

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


def axis_index(axis_name: Any) -> Any:
    """The number of the example, from 0, in its brand; of several brands, as if they were one axis after the other."""
    brands = find(axis_name, "axis_index")
    index = Tensor(0, dtype=dtypes.int32)
    for b in brands:
        index = index * b.size + own(Tensor.arange(b.size, dtype=dtypes.int32), b)
    return index


def axis_size(axis_name: Any, *, _what: str = "axis_size") -> int:
    """The number of examples of an open brand, or of several together."""
    return math.prod(b.size for b in find(axis_name, _what))

