"""Building blocks of collectives: find brands by name, stack the values of all examples, and select one's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from tinygrad import Tensor

from branded import tree
from branded.core.boundary import copy_for_examples, enter_all, stage
from branded.core.brand import Brand
from branded.core.sharding.resharding import Rows, everywhere, reshard
from branded.core.tracing.recorded_calls import leafwise
from branded.core.tracing.state import is_differentiating
from branded.core.validation.arguments import as_int
from branded.core.values import vec_type
from branded.errors import (
    AxesError,
    AxisRangeError,
    AxisTypeError,
    NameUnboundError,
    OptionError,
    SizeError,
    count_noun,
)
from branded.errors.calls import check_calls
from branded.graph.rows import check_live, row_of
from branded.graph.scope import Scope, open_brands
from branded.graph.uops import expand, tensor
from branded.tinygrad_compat.lazy_numpy import np

Names = str | type[Brand] | Brand | Sequence[Any]
"""The brand, or several: a subclass of `Brand`, an open `Brand`, or the string that was its `axis_name`."""


def find(name: Any, api_name: str) -> list[Brand]:
    """Return the open brands of these names."""
    if isinstance(name, tuple | list):
        tree.leaves(name)  # raises if it contains itself
        brands = [b for n in name for b in find(n, api_name)]
        if len(set(brands)) < len(brands):
            raise AxesError(
                f"{api_name}: a brand is named twice", ("names", tree.short_repr(name)), fix="name each brand once"
            )
        return brands
    here = [b for b in open_brands() if isinstance(b, Brand) and b.is_named]
    if name is Brand:
        raise OptionError(
            f"{api_name}: `Brand` is the base class, not a brand",
            ("open", ", ".join(map(repr, here)) or "no named brand"),
            fix="pass a string, a subclass of Brand, or the brand from `with brand(...)`",
        )
    for b in reversed(here):
        if b is name or type(b) is name or (isinstance(name, str) and b.name == name):
            return [b]
    text = name.__name__ if isinstance(name, type) else tree.short_repr(name)
    raise NameUnboundError(
        f"{api_name}: no brand {text} is open here",
        ("open", ", ".join(map(repr, here)) or "no named brand"),
        fix=f"use vmap(..., axis_name={text}) around it"
        if isinstance(name, str | type)
        else "pass the axis_name of an enclosing vmap",
    )


def of_all(x: Tensor, brands: Sequence[Brand], api_name: str, part: int | None = None) -> Tensor:
    """Stack the values of all examples along a new leading axis; for several brands the last one is fastest.

    If the brand is on several devices, each device gets the full stack. For a single brand and a given `part`, each
    device gets its part of the axis `part`.
    """
    every, shape = x, x.shape
    for b in reversed(brands):
        every = _of_one(every, b, api_name, part if len(brands) == 1 else None)
    return every.reshape(math.prod(b.size for b in brands), *shape)


def _of_one(x: Tensor, b: Brand, api_name: str, part: int | None) -> Tensor:
    if b.part is not None:
        b.part.refuse(api_name, b)
    b.was_left = True
    if b not in row_of(x.uop):
        if not is_differentiating():
            return tensor(expand(x.uop, (b.size,)))
        return tensor(stage(copy_for_examples(x.uop, (b,)), b))  # a derivative must see one copy for each example
    every = stage(x.uop, b)
    if is_spread(b) and part != 0:
        every = everywhere(every, b.devices) if part is None else reshard(every, b.devices, part)
    return tensor(every)


def is_spread(b: Scope) -> bool:
    """Return whether the examples are on several devices here; a loop in which examples exchange values runs on one."""
    if len(b.devices) < 2:
        return False
    scopes = open_brands()
    return all(s.is_brand for s in scopes[scopes.index(b) :])


def own(x: Tensor, brands: Sequence[Scope]) -> Tensor:
    """Select each example's entry from a value of all examples, as returned by `of_all`."""
    if len(brands) > 1:
        x = x.reshape(*(b.size for b in brands), *x.shape[1:])
    return tensor(enter_all(x.uop, brands))


def each(x: Any, api_name: str, f: Callable[[Tensor], Tensor]) -> Any:
    """Apply `f` to each tensor of a tree."""

    def one(leaf: Any) -> Tensor:
        if (t := tree.as_tensor(leaf)) is None:
            raise AxisTypeError(
                f"{api_name}: {tree.describe(leaf)} is not a tensor",
                fix=tree.advice(leaf) or "pass tensors and numbers",
            )
        check_live(t.uop, api_name)
        return f(t)

    return tree.rebuild(x, iter([one(leaf) for leaf in tree.leaves(x)]))


F = TypeVar("F", bound=Callable[..., Any])


COLLECTIVES: dict[str, Callable[..., Any]] = {}
"""The collectives that the IR records."""


def record_collective(f: F) -> F:
    """Record a collective in the IR as one operation for each leaf."""
    COLLECTIVES[f.__name__] = leafwise(check_calls(f), "axis_name", lambda name: one_or_all(find(name, f.__name__)))
    return cast(F, COLLECTIVES[f.__name__])


def one_or_all(brands: Sequence[Brand]) -> Brand | tuple[Brand, ...]:
    return brands[0] if len(brands) == 1 else tuple(brands)


def exchanging(name: Any, api_name: str) -> list[Brand]:
    """Return the brands whose examples exchange values; raise if one of them runs in chunks."""
    brands = find(name, api_name)
    if not brands:
        raise AxesError(
            f"{api_name}: no brand is given", ("names", tree.short_repr(name)), fix="pass one name, or a tuple of names"
        )
    for b in brands:
        if b.part is not None:
            b.part.refuse(api_name, b)
    return brands


def text_of(brands: Sequence[Brand]) -> str:
    """Describe the brands for messages: brand `i` has 3 examples."""
    names = " and ".join(f"`{b.name}`" for b in brands)
    return f"brand {names} has" if len(brands) == 1 else f"brands {names} together have"


def size_of(axis_name: Names, api_name: str) -> int:
    return math.prod(b.whole for b in find(axis_name, api_name))


def axis_of(axis: int, rank: int, api_name: str, option: str) -> int:
    if (index := as_int(axis)) is None:
        raise AxisTypeError(f"{api_name}: {option}={tree.short_repr(axis)} is not an axis", fix="pass an int")
    axis = index
    if not -rank <= axis < rank:
        raise AxisRangeError(
            f"{api_name}: {option}={axis} is out of range for {count_noun(rank, 'axis', 'axes')}",
            fix=f"use an int from {-rank} to {rank - 1}" if rank else "pass a value with at least one axis per example",
        )
    return axis % rank


def sources(perm: Any, brands: Sequence[Brand]) -> dict[int, int]:
    """Return the source example of each destination; raise if `perm` is invalid."""
    size = math.prod(b.size for b in brands)
    source: dict[int, int] = {}
    pairs: list[Any] = list(perm) if isinstance(perm, tuple | list | np.ndarray) else [perm]
    for pair in pairs:
        ends = [as_int(i) for i in pair] if isinstance(pair, tuple | list | np.ndarray) else []
        valid = [i for i in ends if i is not None and 0 <= i < size]
        if len(valid) != 2 or len(ends) != 2:
            raise AxisRangeError(
                f"ppermute: {tree.short_repr(pair)} is not a pair of examples of {', '.join(map(repr, brands))}",
                fix=f"use pairs (source, destination) of indices from 0 to {size - 1}",
            )
        source[valid[1]] = valid[0]
    if len(source) < len(pairs) or len(set(source.values())) < len(pairs):
        raise AxesError(
            "ppermute: perm has a duplicate source or destination",
            ("perm", tree.short_repr(pairs)),
            fix="list each source and each destination once, or use all_gather",
        )
    return source


def neighbours(source: dict[int, int], b: Brand) -> list[Rows] | None:
    """Return the rows that each device gets from other devices, or None if the pattern differs between devices.

    `source` maps each destination to its source. A destination row without a source may hold any values.
    """
    n = len(b.devices)
    rows, runs = b.size // n, list[Rows]()
    for row in range(rows):
        ways = {((i - s // rows) % n, s % rows) for i in range(n) if (s := source.get(i * rows + row)) is not None}
        if len(ways) > 1:
            return None
        before, start = ways.pop() if ways else (0, row)
        if runs and runs[-1].before == before and runs[-1].start + runs[-1].many == start:
            runs[-1] = runs[-1]._replace(many=runs[-1].many + 1)
        else:
            runs.append(Rows(before, start, 1))
    return runs


def check_axis_size(t: Tensor, axis: int, brands: Sequence[Brand], tiled: bool, api_name: str, option: str) -> None:
    n, size = t.shape[axis], math.prod(b.size for b in brands)
    if n % size if tiled and size else n != size:
        raise SizeError(
            f"{api_name}: {text_of(brands)} {size} examples, and axis {axis} of the value has {n} entries",
            ("value", vec_type(t)),
            fix=f"choose a {option} of size {'a multiple of ' if tiled else ''}{size}"
            + ("" if tiled else ", or use tiled=True for a multiple"),
        )
