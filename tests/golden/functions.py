"""Calls of each function of `branded.functions`: values, and derivatives in both modes.

`tests/functions/test_functions.py` tests laws on the same calls.
"""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.golden import registry

Arrays = tuple[np.ndarray, ...]


class Case(NamedTuple):
    """Call `f(m, *args)` with a module `m`, and differentiate it with respect to the arguments `wrt`."""

    f: Callable[..., Any]
    args: Arrays
    wrt: tuple[int, ...]
    finite: bool
    smooth: bool  # True if it is differentiable at these arguments


CASES: dict[str, Case] = {}


def case(
    name: str,
    f: Callable[..., Any],
    *args: Any,
    wrt: tuple[int, ...] = (),
    finite: bool = True,
    smooth: bool = True,
    golden: bool = True,
) -> None:
    """Register a call; its name begins with the name of the function.  Pass `golden=False` if JAX lacks it."""
    if name in CASES:
        raise ValueError(f"two cases have the name {name}")
    given = tuple(registry.array(a) for a in args)
    CASES[name] = Case(f, given, wrt, finite, smooth)
    if golden:
        registry.PROGRAMS[f"functions.{name}"] = registry.Program(lambda m: answers(m, CASES[name]), finite)


def answers(m: Any, c: Case) -> dict[str, Any]:
    """Return the values, and the derivatives of the float results in both modes."""
    xs = [m.array(a) for a in c.args]
    out: dict[str, Any] = {"value": c.f(m, *xs)}
    if c.wrt:
        ts = tuple(m.array(registry.some(*c.args[i].shape)) for i in c.wrt)
        at = tuple(xs[i] for i in c.wrt)
        f = moving(m, c, xs)
        out["tangent"] = m.jvp(f, at, ts)[1]
        out["gradient"] = m.grad(lambda *ys: weighted(m, f(*ys)), argnums=tuple(range(len(at))))(*at)
    return out


def moving(m: Any, c: Case, xs: list[Any]) -> Callable[..., Any]:
    """Return the float results as a function of the arguments `wrt`."""

    def f(*ys: Any) -> dict[str, Any]:
        new = dict(zip(c.wrt, ys, strict=True))
        leaves = registry.flat(c.f(m, *(new.get(i, x) for i, x in enumerate(xs))))
        return {path or "all": y for path, y in leaves if "float" in str(y.dtype) or "double" in str(y.dtype)}

    return f


def weighted(m: Any, out: dict[str, Any]) -> Any:
    """Return a weighted sum of all elements, with different weights."""
    parts = []
    for y in out.values():
        w = (np.cos(np.arange(y.size if isinstance(y.size, int) else np.prod(y.shape)) + 1)).astype(np.float32)
        parts.append((y * m.array(w).reshape(y.shape)).sum())
    return sum(parts[1:], parts[0])


some = registry.some
nan, inf = float("nan"), float("inf")
ints = lambda *xs: np.array(xs, dtype=np.int32)

# ---- arrays ----

case("array of numbers", lambda m: m.nested([[1, 2], [3, 4]]))
case("array of mixed numbers", lambda m: m.nested([1, 2.5]))
case("array of tensors", lambda m, x, y: m.nested([[x[0], y[1]], [1, 0.5]]), some(2), some(3) * 2, wrt=(0, 1))
case("array of rows", lambda m, x, y: m.nested([x, y, (1, 2, 3)]), some(3), some(3) * 2, wrt=(0, 1))
case("array of bools", lambda m: m.nested([True, False]))
case("array of one", lambda m, x: m.nested(x), some(2, 3), wrt=(0,))
case("array of nothing", lambda m: m.nested([]))

case(
    "take_along_axis",
    lambda m, x, i: m.take_along_axis(x, i, axis=1),
    some(3, 4),
    ints(0, 2, 3, 1, 1, 2).reshape(3, 2),
    wrt=(0,),
)
case(
    "take_along_axis 0",
    lambda m, x, i: m.take_along_axis(x, i, axis=0),
    some(3, 4),
    ints(0, 2, 1, -1).reshape(1, 4),
    wrt=(0,),
)
case(
    "take_along_axis of more",
    lambda m, x, i: m.take_along_axis(x, i, axis=0),
    some(2, 3),
    ints(0, 1, 1, 0, 1, 0, 1, 1, 0).reshape(3, 3),
    wrt=(0,),
)
case(
    "take_along_axis broadcast",
    lambda m, x, i: m.take_along_axis(x, i, axis=-1),
    some(1, 4),
    ints(0, 3, 1, 2).reshape(2, 2),
    wrt=(0,),
)
case(
    "take_along_axis out of range",
    lambda m, x, i: m.take_along_axis(x, i, axis=0),
    some(3),
    ints(0, 3, -4, -3),
    finite=False,
)
case("take_along_axis of ints", lambda m, x, i: m.take_along_axis(x, i, axis=0), ints(5, 6, 7), ints(0, 3, -1))
case(
    "take_along_axis clip",
    lambda m, x, i: m.take_along_axis(x, i, axis=0, mode="clip"),
    some(3),
    ints(0, 3, 7, 1),
    wrt=(0,),
)
case(
    "take_along_axis fill",
    lambda m, x, i: m.take_along_axis(x, i, axis=0, fill_value=9),
    some(3),
    ints(0, 3, -1),
    wrt=(0,),
)
case("take_along_axis flat", lambda m, x, i: m.take_along_axis(x, i, axis=None), some(2, 3), ints(5, 0), wrt=(0,))

case(
    "dynamic_slice",
    lambda m, x, i: m.dynamic_slice(x, (i[0], i[1]), (2, 3)),
    some(4, 6),
    ints(1, 2),
    wrt=(0,),
)
case("dynamic_slice clamped", lambda m, x, i: m.dynamic_slice(x, i, (2, 6)), some(4, 6), ints(9, 2), wrt=(0,))
case(
    "dynamic_slice from the end", lambda m, x, i: m.dynamic_slice(x, (0, i), (1, 2)), some(4, 6), np.int32(-3), wrt=(0,)
)
case("dynamic_slice of ints", lambda m, x, i: m.dynamic_slice(x, (i,), (2,)), ints(5, 6, 7), np.int32(1))
case(
    "dynamic_update_slice",
    lambda m, x, y, i: m.dynamic_update_slice(x, y, (i[0], i[1])),
    some(4, 6),
    some(2, 3) + 1,
    ints(1, 2),
    wrt=(0, 1),
)
case(
    "dynamic_update_slice clamped",
    lambda m, x, y, i: m.dynamic_update_slice(x, y, (i, 0)),
    some(4, 3),
    some(2, 3) + 1,
    np.int32(7),
    wrt=(0, 1),
)
for kind in ("update", "add", "mul", "min", "max"):
    case(
        f"index_{kind}",
        lambda m, x, i, y, kind=kind: getattr(m, f"index_{kind}")(x, i, y),
        some(5),
        ints(0, -1, 9, 2),
        some(4) + 0.3,
        wrt=() if kind == "mul" else (0, 2),  # JAX lacks the derivative
    )
    case(
        f"index_{kind} rows",
        lambda m, x, i, y, kind=kind: getattr(m, f"index_{kind}")(x, (i, slice(1, 3)), y),
        some(4, 3),
        ints(3, 1),
        some(2, 1) + 0.3,
        wrt=() if kind == "mul" else (0, 2),
    )
    case(
        f"index_{kind} slice",
        lambda m, x, y, kind=kind: getattr(m, f"index_{kind}")(x, (Ellipsis, slice(0, 6, 2)), y),
        some(2, 6),
        some(3) + 0.3,
        wrt=(0, 1),
    )
case("index_add twice", lambda m, x, i, y: m.index_add(x, i, y), some(3), ints(1, 1, 0, 1), some(4), wrt=(0, 2))
case("index_update of ints", lambda m, x, i: m.index_update(x, (i, 0), 7), ints(1, 2, 3, 4).reshape(2, 2), np.int32(1))

case("outer", lambda m, x, y: m.outer(x, y), some(3), some(4) + 1, wrt=(0, 1))
case("outer of matrices", lambda m, x, y: m.outer(x, y), some(2, 2), some(3), wrt=(0, 1))
case("outer of ints", lambda m, x, y: m.outer(x, y), ints(1, 2), ints(3, 4, 5))
case("kron", lambda m, x, y: m.kron(x, y), some(2, 3), some(3, 2) + 1, wrt=(0, 1))
case("kron of a vector", lambda m, x, y: m.kron(x, y), some(2), some(3, 2), wrt=(0, 1))
case("cross", lambda m, x, y: m.cross(x, y), some(3), some(3) ** 2, wrt=(0, 1))
case("cross of many", lambda m, x, y: m.cross(x, y), some(4, 3), some(3) ** 2, wrt=(0, 1))
case("cross of two", lambda m, x, y: m.cross(x, y), some(4, 2), some(4, 2) ** 2, wrt=(0, 1))
case("cross of two and three", lambda m, x, y: m.cross(x, y), some(2), some(3) ** 2, wrt=(0, 1))
case("cross along 0", lambda m, x, y: m.cross(x, y, axis=0), some(3, 2), some(3, 2) ** 2, wrt=(0, 1))
case(
    "cross along others",
    lambda m, x, y: m.cross(x, y, axisa=0, axisb=1, axisc=0),
    some(3, 2),
    some(2, 3) ** 2,
    wrt=(0, 1),
)
case("trace", lambda m, x: m.trace(x), some(3, 3), wrt=(0,))
case("trace above", lambda m, x: m.trace(x, offset=1), some(3, 4), wrt=(0,))
case("trace below", lambda m, x: m.trace(x, -2), some(3, 4), wrt=(0,))
case("trace beyond", lambda m, x: m.trace(x, 7), some(3, 4), wrt=(0,))
case("trace of axes", lambda m, x: m.trace(x, 0, 2, 0), some(3, 2, 4), wrt=(0,))
case("trace of ints", lambda m, x: m.trace(x), ints(1, 2, 3, 4).reshape(2, 2))
for mode in ("full", "same", "valid"):
    for n, k in ((5, 3), (3, 5), (4, 4), (5, 2), (1, 3)):
        case(
            f"convolve {mode} {n} {k}",
            lambda m, x, y, mode=mode: m.convolve(x, y, mode=mode),
            some(n),
            some(k) + 1,
            wrt=(0, 1),
        )
case("convolve of ints", lambda m, x, y: m.to_int(m.convolve(x, y)), ints(1, 2, 3), ints(1, -1))

# ---- search ----

ties = np.array([2.0, 1.0, 3.0, 1.0, 2.0, 2.0], dtype=np.float32)
holes = np.array([[2.0, nan, 3.0, 1.0], [nan, nan, 0.5, -1.0], [4.0, 1.0, 1.0, nan]], dtype=np.float32)

case("searchsorted", lambda m, a, v: m.searchsorted(a, v), np.sort(some(7)), some(2, 3))
case("searchsorted right", lambda m, a, v: m.searchsorted(a, v, side="right"), np.sort(ties), some(4) + 2)
case("searchsorted ties", lambda m, a, v: m.searchsorted(a, v), np.sort(ties), ties)
case("searchsorted ties right", lambda m, a, v: m.searchsorted(a, v, side="right"), np.sort(ties), ties)
case("searchsorted of ints", lambda m, a, v: m.searchsorted(a, v), ints(1, 3, 5), ints(0, 1, 2, 5, 9))
case(
    "searchsorted nan",
    lambda m, a, v: m.searchsorted(a, v),
    np.array([-inf, 1, inf, nan]),
    np.array([nan, inf, -inf, 0.0, -0.0]),
)
case(
    "searchsorted nan right",
    lambda m, a, v: m.searchsorted(a, v, side="right"),
    np.array([-inf, -0.0, 0.0, nan]),
    np.array([nan, inf, -inf, 0.0, -0.0]),
)
case(
    "searchsorted sorter",
    lambda m, a, v, i: m.searchsorted(a, v, sorter=i),
    ints(3, 9, 1),
    ints(0, 3, 4),
    ints(2, 0, 1),
)
case("searchsorted in nothing", lambda m, a, v: m.searchsorted(a, v), some(0), some(2))

case("top_k", lambda m, x: m.top_k(x, 3), some(2, 7), wrt=(0,))
case("top_k ties", lambda m, x: m.top_k(x, 4), ties, wrt=(0,), smooth=False)
case("top_k all", lambda m, x: m.top_k(x, 4), some(4), wrt=(0,))
case("top_k none", lambda m, x: m.top_k(x, 0), some(4))
case("top_k of ints", lambda m, x: m.top_k(x, 2), ints(3, -1, 3, 7))
case("top_k along 0", lambda m, x: m.top_k(x, 2, axis=0), some(4, 3), wrt=(0,))
case("top_k nan", lambda m, x: m.top_k(x, 3), np.array([1.0, nan, inf, -inf]), finite=False)

case("nonzero", lambda m, x: m.nonzero(x, size=5), (some(3, 3) > 0) * some(3, 3))
case("nonzero cut", lambda m, x: m.nonzero(x, size=2), ints(0, 1, 2, 3))
case("nonzero fill", lambda m, x: m.nonzero(x, size=6, fill_value=-1), ints(0, 1, 0, 3))
case("nonzero fills", lambda m, x: m.nonzero(x, size=6, fill_value=(7, 8)), ints(0, 1, 0, 3).reshape(2, 2))
case("nonzero of none", lambda m, x: m.nonzero(x, size=2), ints(0, 0))
case("nonzero of nothing", lambda m, x: m.nonzero(x, size=2), some(0))
case("nonzero of bools", lambda m, x: m.nonzero(x, size=3), some(5) > 0)
case("nonzero filled by a tensor", lambda m, x, f: m.nonzero(x, size=4, fill_value=f), ints(0, 1, 0, 3), np.array(5))
case("argwhere", lambda m, x: m.argwhere(x, size=4), (some(2, 2, 2) > 0) * 1)
case("argwhere fill", lambda m, x: m.argwhere(x, size=4, fill_value=9), ints(0, 2, 0))

case("unique", lambda m, x: m.unique(x, size=3), ties)
case("unique more", lambda m, x: m.unique(x, size=5), ties, wrt=(0,), smooth=False)
case("unique fill", lambda m, x: m.unique(x, size=5, fill_value=-7), ints(3, 1, 3, 2))
case("unique cut", lambda m, x: m.unique(x, size=2), ints(3, 1, 3, 2))
case(
    "unique all",
    lambda m, x: m.unique(x, return_index=True, return_inverse=True, return_counts=True, size=5),
    ints(5, 3, 3, 9, 5, 5).reshape(2, 3),
)
case("unique counts", lambda m, x: m.unique(x, return_counts=True, size=4), ties)
case("unique nan", lambda m, x: m.unique(x, return_counts=True, size=4), np.array([nan, 1.0, nan, inf]), finite=False)
case(
    "unique nans",
    lambda m, x: m.unique(x, return_counts=True, size=4, equal_nan=False),
    np.array([nan, 1.0, nan, 1.0]),
    finite=False,
)
case("unique bools", lambda m, x: m.unique(x, size=2), some(5) > 0)
case("unique filled by a tensor", lambda m, x, f: m.unique(x, size=4, fill_value=f), ints(3, 1, 3), np.array(9))
case("unique of nothing", lambda m, x: m.unique(x, size=2, fill_value=7), ints())
every = {"return_index": True, "return_inverse": True, "return_counts": True, "size": 4}
rows = np.array([[3, 1, 2], [2, 2, 2], [3, 1, 2], [3, 0, 9]])
case("unique rows", lambda m, x: m.unique(x, axis=0, **every), rows)
case("unique columns", lambda m, x: m.unique(x, axis=-1, fill_value=-1, **every), rows[:, [0, 2, 2]])
case("unique of many axes", lambda m, x: m.unique(x, axis=1, **every), np.arange(24).reshape(2, 3, 4) % 2)
lost = np.array([[nan, 1.0], [nan, 1.0], [2.0, 1.0]])
case("unique rows nan", lambda m, x: m.unique(x, axis=0, **every), lost, finite=False)
case("unique rows nans", lambda m, x: m.unique(x, axis=0, equal_nan=False, **every), lost, finite=False)
case("unique rows moving", lambda m, x: m.unique(x, axis=0, size=2), some(3, 2), wrt=(0,))

# ---- counts ----

labels = ints(0, 2, 1, 2, 0, 2)
for kind in ("sum", "prod", "max", "min"):
    has = kind != "prod"  # JAX lacks the derivative of segment_prod
    case(
        f"segment_{kind}",
        lambda m, x, i, kind=kind: getattr(m, f"segment_{kind}")(x, i, num_segments=3),
        some(6),
        labels,
        wrt=(0,),
        golden=has,
    )
    case(
        f"segment_{kind} rows",
        lambda m, x, i, kind=kind: getattr(m, f"segment_{kind}")(x, i, 3),
        some(6, 2),
        labels,
        wrt=(0,),
        golden=has,
    )
    case(
        f"segment_{kind} empty",
        lambda m, x, i, kind=kind: getattr(m, f"segment_{kind}")(x, i, 5),
        some(6),
        ints(0, 3, -1, 7, 3, 0),
        finite=False,
    )
    case(
        f"segment_{kind} ints",
        lambda m, x, i, kind=kind: getattr(m, f"segment_{kind}")(x, i, 3),
        ints(3, 1, 4, 1, 5, 9),
        labels,
    )
for kind in ("max", "min"):
    case(
        f"segment_{kind} nan",
        lambda m, x, i, kind=kind: getattr(m, f"segment_{kind}")(x, i, 3, indices_are_sorted=True),
        np.array([nan, 1.0, inf, nan]),
        ints(0, 0, 1, 5),
        finite=False,
    )
case("segment_prod in JAX", lambda m, x, i: m.segment_prod(x, i, 3), some(6), labels)
case("segment_max ties", lambda m, x, i: m.segment_max(x, i, 2), ties, ints(0, 1, 0, 1, 0, 0), wrt=(0,), smooth=False)

case("bincount", lambda m, x: m.bincount(x, length=4), ints(0, 1, 1, 3, 9, -2))
case("bincount weights", lambda m, x, w: m.bincount(x, w, length=4), labels, some(6), wrt=(1,))
case("bincount of nothing", lambda m, x: m.bincount(x, length=2), ints())

case("histogram", lambda m, x: m.histogram(x, bins=4), some(20), wrt=(0,), smooth=False)
case("histogram range", lambda m, x: m.histogram(x, bins=4, range=(-0.5, 0.75)), some(20))
case("histogram edges", lambda m, x, e: m.histogram(x, bins=e), ties, np.array([0.0, 1.0, 2.0, 3.0]))
case("histogram weights", lambda m, x, w: m.histogram(x, bins=3, weights=w), ties, some(6), wrt=(1,))
case("histogram density", lambda m, x: m.histogram(x, bins=5, density=True), ties + some(6))
case("histogram of one value", lambda m, x: m.histogram(x, bins=3), np.array([2.0, 2.0]))
case("histogram bools as weights", lambda m, x, w: m.histogram(x, bins=3, weights=w), ties, ties > 1)
case("histogram nan", lambda m, x: m.histogram(x, bins=3), np.array([1.0, nan, 2.0]), finite=False)
case("histogram of ints", lambda m, x: m.histogram(x, bins=3), ints(1, 2, 2, 5))

# ---- statistics ----

for how in ("linear", "lower", "higher", "midpoint", "nearest"):
    case(f"quantile {how}", lambda m, x, how=how: m.quantile(x, 0.3, method=how), some(8), wrt=(0,))
    case(
        f"quantile many {how}",
        lambda m, x, q, how=how: m.quantile(x, q, axis=1, method=how),
        some(3, 5),
        np.array([0.0, 0.1, 0.5, 1.0]),
        wrt=(0,),
    )
case("quantile by q", lambda m, x, q: m.quantile(x, q), some(5), np.array([0.13, 0.6]), wrt=(0, 1))
case("quantile of axes", lambda m, x: m.quantile(x, 0.4, axis=(0, 2)), some(2, 3, 4), wrt=(0,))
case("quantile keepdims", lambda m, x: m.quantile(x, 0.4, axis=(0, 2), keepdims=True), some(2, 3, 4), wrt=(0,))
case(
    "quantile keepdims of many",
    lambda m, x, q: m.quantile(x, q, axis=1, keepdims=True),
    some(2, 3),
    np.array([0.2, 0.7]),
)
case("quantile nan", lambda m, x: m.quantile(x, 0.4, axis=1), holes, finite=False)
case("quantile inf", lambda m, x: m.quantile(x, 0.5), np.array([-inf, 1.0, inf]))
case("quantile ties", lambda m, x: m.quantile(x, 0.45), ties, wrt=(0,), smooth=False)
case("quantile of ints", lambda m, x: m.quantile(x, 0.5), ints(4, 1, 2, 9))
case("quantile of one", lambda m, x: m.quantile(x, 0.9), some(1), wrt=(0,))
case("percentile", lambda m, x: m.percentile(x, 37.0), some(6), wrt=(0,))
case("percentile many", lambda m, x, q: m.percentile(x, q, axis=0), some(4, 2), np.array([25.0, 80.0]), wrt=(0, 1))
case("median", lambda m, x: m.median(x), some(6), wrt=(0,))
case("median odd", lambda m, x: m.median(x, axis=1), some(2, 5), wrt=(0,))
case("median keepdims", lambda m, x: m.median(x, axis=0, keepdims=True), some(4, 5), wrt=(0,))
case("median nan", lambda m, x: m.median(x, axis=1), holes, finite=False)
case("median of ints", lambda m, x: m.median(x), ints(1, 2, 4, 9))
case("nanquantile", lambda m, x, q: m.nanquantile(x, q, axis=1), holes, np.array([0.1, 0.8]))
case("nanquantile by q", lambda m, x, q: m.nanquantile(x, q, axis=1), holes, np.array([0.1, 0.8]), wrt=(1,))
case("nanmedian", lambda m, x: m.nanmedian(x, axis=1), holes)
case("nanmedian of none", lambda m, x: m.nanmedian(x), np.array([nan, nan]), finite=False)
for kind in ("nansum", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"):
    case(kind, lambda m, x, kind=kind: getattr(m, kind)(x), holes)
    case(f"{kind} rows", lambda m, x, kind=kind: getattr(m, kind)(x, axis=1), holes, wrt=(0,), smooth=False)
    case(f"{kind} of numbers", lambda m, x, kind=kind: getattr(m, kind)(x, axis=0), some(4, 3), wrt=(0,))
    case(
        f"{kind} keepdims",
        lambda m, x, kind=kind: getattr(m, kind)(x, axis=(0, 2), keepdims=True),
        some(2, 3, 2),
        wrt=(0,),
    )
    case(
        f"{kind} of none",
        lambda m, x, kind=kind: getattr(m, kind)(x, axis=0),
        np.array([[nan, 1.0], [nan, 2.0]]),
        finite=False,
    )
    case(f"{kind} of ints", lambda m, x, kind=kind: getattr(m, kind)(x), ints(1, 5, 3))
case("nanvar ddof", lambda m, x: m.nanvar(x, axis=1, ddof=1), holes)
case("nanstd ddof", lambda m, x: m.nanstd(x, axis=1, ddof=3), holes, finite=False)

# ---- interpolation ----

places, heights = np.array([-1.0, 0.0, 0.5, 2.0], dtype=np.float32), some(4) * 3
case("interp", lambda m, x, xp, fp: m.interp(x, xp, fp), some(2, 4) * 1.3 + 0.03, places, heights, wrt=(0, 1, 2))
case("interp at points", lambda m, x, xp, fp: m.interp(x, xp, fp), places, places, heights, wrt=(2,))
case("interp outside", lambda m, x, xp, fp: m.interp(x, xp, fp), np.array([-5.0, 9.0]), places, heights, wrt=(0, 1, 2))
case(
    "interp left",
    lambda m, x, xp, fp: m.interp(x, xp, fp, left=7.0, right=-7.0),
    np.array([-5.0, 0.3, 9.0]),
    places,
    heights,
    wrt=(0, 2),
)
case(
    "interp extrapolate",
    lambda m, x, xp, fp: m.interp(x, xp, fp, left="extrapolate", right="extrapolate"),
    np.array([-5.0, 0.3, 9.0]),
    places,
    heights,
    wrt=(0, 1, 2),
)
case(
    "interp period",
    lambda m, x, xp, fp: m.interp(x, xp, fp, period=4.0),
    np.array([-5.3, 0.3, 9.1, 3.9]),
    np.array([3.0, 0.5, 6.0]),
    some(3),
    wrt=(0, 2),
)
case(
    "interp period of a tensor",
    lambda m, x, xp, fp, p: m.interp(x, xp, fp, period=p),
    np.array([-5.3, 0.3, 9.1, 3.9]),
    np.array([3.0, 0.5, 6.0]),
    some(3),
    np.array(4.0),
    wrt=(0, 2),
)
case("interp of a number", lambda m, x, xp, fp: m.interp(x, xp, fp), np.array(0.3), places, heights, wrt=(0,))
case(
    "interp of one point",
    lambda m, x, xp, fp: m.interp(x, xp, fp),
    np.array([0.0, 3.0]),
    np.array([1.0]),
    np.array([5.0]),
)
case("interp nan", lambda m, x, xp, fp: m.interp(x, xp, fp), np.array([nan, inf]), places, heights, finite=False)
case(
    "interp of equal points",
    lambda m, x, xp, fp: m.interp(x, xp, fp),
    np.array([0.0, 1.0, 1.5]),
    np.array([0.0, 1.0, 1.0, 2.0]),
    some(4),
)

# ---- Fourier transforms ----

for n in (1, 2, 5, 8, 12, 66, 67, 128):
    case(f"rfft {n}", lambda m, x: m.rfft(x), some(n) if n < 60 else some(n) / 8, wrt=(0,) if n < 60 else ())
    case(f"fft {n}", lambda m, x, y: m.fft((x, y)), some(n), some(n)[::-1].copy(), wrt=(0, 1) if n < 60 else ())
    case(f"ifft {n}", lambda m, x, y: m.ifft((x, y)), some(n), some(n)[::-1].copy(), wrt=(0, 1) if n < 60 else ())
case("fft of reals", lambda m, x: m.fft(x), some(2, 6), wrt=(0,))
case("fft along 0", lambda m, x: m.fft(x, axis=0), some(4, 3), wrt=(0,))
for norm in ("backward", "ortho", "forward"):
    case(f"fft {norm}", lambda m, x, norm=norm: m.fft(x, norm=norm), some(5))
    case(f"ifft {norm}", lambda m, x, norm=norm: m.ifft(x, norm=norm), some(5))
    case(f"irfft {norm}", lambda m, x, y, norm=norm: m.irfft((x, y), norm=norm), some(4), some(4) + 1)
case("fft cut", lambda m, x: m.fft(x, n=3), some(5))
case("rfft filled", lambda m, x: m.rfft(x, n=7), some(5), wrt=(0,))
case("irfft", lambda m, x, y: m.irfft((x, y)), some(5), some(5) + 1, wrt=(0, 1))
case("irfft odd", lambda m, x, y: m.irfft((x, y), n=7), some(2, 4), some(2, 4) + 1, wrt=(0, 1))
case("irfft filled", lambda m, x, y: m.irfft((x, y), n=12, axis=0), some(4, 2), some(4, 2) + 1, wrt=(0, 1))
case("irfft cut", lambda m, x, y: m.irfft((x, y), n=3), some(5), some(5) + 1)
case("irfft one", lambda m, x, y: m.irfft((x, y), n=1), some(3), some(3) + 1)

# ---- special functions ----

case("lgamma", lambda m, x: m.lgamma(x), np.array([0.1, 0.5, 1.0, 1.5, 2.0, 3.7, 8.2, 30.0, 1e5]), wrt=(0,))
case("lgamma below 0", lambda m, x: m.lgamma(x), np.array([-0.1, -0.5, -1.3, -2.75, -7.5]), wrt=(0,))
case("lgamma poles", lambda m, x: m.lgamma(x), np.array([0.0, -1.0, inf, -inf, nan]), finite=False)
case("digamma", lambda m, x: m.digamma(x), np.array([0.1, 0.5, 1.0, 1.4616, 2.0, 3.7, 8.2, 30.0, 1e5]), wrt=(0,))
case("digamma below 0", lambda m, x: m.digamma(x), np.array([-0.1, -0.5, -1.3, -2.75, -7.25]))
case("digamma poles", lambda m, x: m.digamma(x), np.array([0.0, -1.0, inf, nan]), finite=False)
case(
    "betaln",
    lambda m, x, y: m.betaln(x, y),
    np.array([0.1, 1.0, 2.5, 9.0, 50.0, 0.5]),
    np.array([0.3, 2.0, 7.5, 12.0, 1.5, 1e4]),
    wrt=(0, 1),
)
case(
    "logaddexp",
    lambda m, x, y: m.logaddexp(x, y),
    np.array([0.0, 1.0, -3.0, 90.0, -20.0]),
    np.array([0.5, 1.0, 4.0, -90.0, 0.0]),
    wrt=(0, 1),
)
case(
    "logaddexp inf",
    lambda m, x, y: m.logaddexp(x, y),
    np.array([inf, -inf, -inf, inf, nan]),
    np.array([inf, -inf, 1.0, -inf, 0.0]),
    finite=False,
)
case("logaddexp broadcast", lambda m, x, y: m.logaddexp(x, y), some(3, 1), some(2), wrt=(0, 1))
case("erfinv", lambda m, x: m.erfinv(x), np.array([0.0, 0.1, -0.5, 0.9, 0.99]), wrt=(0,))
case("erfinv near 1", lambda m, x: m.erfinv(x), np.array([0.999, -0.9999]), wrt=(0,), smooth=False)
case("erfinv edges", lambda m, x: m.erfinv(x), np.array([1.0, -1.0, 1.5, nan]), finite=False)
