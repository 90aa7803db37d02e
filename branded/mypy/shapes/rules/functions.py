"""Rules for `branded.functions`: the shapes of results, and errors for operands that do not fit."""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import Context

from branded.mypy.axes.types import known_length
from branded.mypy.codes import SHAPE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import axis_of, axis_of_value, format_axes, shape_of
from branded.mypy.shapes.rules.arguments import Rule, axes_of_argument, differ, reduction
from branded.mypy.shapes.rules.linalg import LINALG
from branded.mypy.shapes.rules.resized import topk
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    Fact,
    Mutable,
    Shaped,
    Tuple,
    add_brands,
    as_number,
    brands_of,
    data_axes,
    is_number,
    items_of,
)


def of_function(run: FileState, fullname: str, given: Arguments, at: Context) -> Fact:
    """Return the result of a function of `branded.linalg` or `branded.functions`."""
    rule = (LINALG if fullname.startswith("branded.linalg.") else FUNCTIONS).get(fullname.rpartition(".")[2])
    if rule is None or run.declared_only:
        return UNKNOWN
    brands = brands_of(Tuple(tuple(given.all())))
    result = rule(run, given, at) if given.exact else Shaped()
    if isinstance(result, Mutable) and result.items is not None:  # a named tuple of tensors
        return result.with_items({k: add_brands(v, brands) for k, v in result.items.items()})
    return add_brands(result, brands)


def _same(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    return Shaped(value.axes if isinstance(value, Shaped) else () if is_number(value) else None)


def _broadcast(run: FileState, given: Arguments, at: Context) -> Fact:
    a, b = axes_of_argument(given, 0, "a"), axes_of_argument(given, 1, "b")
    return Shaped(a if b == () or a == b else b if a == () else None)


def _outer(run: FileState, given: Arguments, at: Context) -> Fact:
    a, b = axes_of_argument(given, 0, "a"), axes_of_argument(given, 1, "b")
    return Shaped((*a, *b)) if a is not None and b is not None and len(a) == len(b) == 1 else Shaped()


def _trace(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = axes_of_argument(given, 0, "a")
    is_default = len(given.positional) < 3 and not given.keywords.keys() & {"axis1", "axis2"}
    return Shaped(axes[2:]) if axes is not None and len(axes) > 1 and is_default else Shaped()


def _fourier(length: Callable[[int], int]) -> Rule:
    """Return the rule of a Fourier transform; `length` maps the length of the last axis to its new length."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        value = given.get(0, "a") or UNKNOWN
        part = (items_of(value) or [value])[0]
        axes = part.axes if isinstance(part, Shaped) else None
        if not axes or len(given.positional) > 2 or "axis" in given.keywords:
            return Shaped()
        size = given.get(1, "n")
        n = known_length(axes[-1]) if size is None or size == NONE else as_number(size)
        return Shaped((*axes[:-1], ANY_AXIS if n is None else run.length(length(n))))

    return rule


def _pair(rule: Rule) -> Rule:
    """Return the rule of a function whose two results, a real and an imaginary part, have the same shape."""

    def both(run: FileState, given: Arguments, at: Context) -> Fact:
        one = rule(run, given, at)
        return Tuple((one, one))

    return both


def _inverse_real(run: FileState, given: Arguments, at: Context) -> Fact:
    size = given.get(1, "n")
    return _fourier(lambda n: 2 * (n - 1) if size is None or size == NONE else n)(run, given, at)


def _real(run: FileState, given: Arguments, at: Context) -> Fact:
    return _fourier(lambda n: n // 2 + 1)(run, given, at)


def _bincount(run: FileState, given: Arguments, at: Context) -> Fact:
    length = given.keywords.get("length")
    return Shaped((axis_of_value(run, length) if length is not None else ANY_AXIS,))


def _histogram(run: FileState, given: Arguments, at: Context) -> Fact:
    bins = given.get(1, "bins") or Const(10)
    n = as_number(bins)
    if n is not None:
        return Tuple((Shaped((run.length(n),)), Shaped((run.length(n + 1),))))
    edges = bins.axes if isinstance(bins, Shaped) else None
    m = known_length(edges[0]) if edges else None
    return Tuple((Shaped((ANY_AXIS if m is None else run.length(m - 1),)), Shaped(edges)))


def _segments(name: str) -> Rule:
    """Return the rule of a reduction over the rows of each segment."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        data, ids, count = (
            axes_of_argument(given, 0, "data"),
            axes_of_argument(given, 1, "segment_ids"),
            given.get(2, "num_segments"),
        )
        if () in (data, ids):
            says, known = (
                f"{name}: segment_ids does not have one int per entry of data",
                {"data": data, "segment_ids": ids},
            )
            shapes = [f"{n}: shape {format_axes(axes)}" for n, axes in known.items() if axes is not None]
            run.report(at, SHAPE, says, *shapes, "try:   pass data[n, ...] and segment_ids[n]")
            return Shaped()
        if data and ids and differ(data[0], ids[0]):
            says = f"{name}: there are {known_length(data[0])} rows, and {known_length(ids[0])} segment ids"
            run.report(at, SHAPE, says, f"given: shape {format_axes(data)} and {format_axes(ids)}")
            return Shaped()
        n = axis_of_value(run, count) if count is not None and count != NONE else ANY_AXIS
        return Shaped((n, *data[1:])) if data and ids and len(ids) == 1 else Shaped()

    return rule


def _searchsorted(run: FileState, given: Arguments, at: Context) -> Fact:
    return Shaped(axes_of_argument(given, 1, "v"))


def _interp(run: FileState, given: Arguments, at: Context) -> Fact:
    xp, fp = axes_of_argument(given, 1, "xp"), axes_of_argument(given, 2, "fp")
    if xp and fp and differ(xp[-1], fp[-1]):
        says = f"interp: there are {known_length(xp[-1])} knots, and {known_length(fp[-1])} values"
        run.report(at, SHAPE, says, f"given: shape {format_axes(xp)} and {format_axes(fp)}")
        return Shaped()
    return Shaped(axes_of_argument(given, 0, "x"))


def _take_along_axis(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, indices, axis = (
        axes_of_argument(given, 0, "arr"),
        axes_of_argument(given, 1, "indices"),
        given.get(2, "axis") or Const(-1),
    )
    i = as_number(axis)
    if not axes or not indices or i is None or len(axes) != len(indices) or not -len(axes) <= i < len(axes):
        return Shaped()
    others = [(a, b) for d, (a, b) in enumerate(zip(axes, indices, strict=True)) if d != i % len(axes)]
    return Shaped(indices if all(a == b for a, b in others) else None)


def _top_k(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, k = axes_of_argument(given, 0, "operand"), given.get(1, "k") or UNKNOWN
    if axes is None:
        return Tuple((Shaped(), Shaped()))
    return topk(run, axes, Arguments([k], {"dim": given.keywords.get("axis") or Const(-1)}), at)


def _dynamic_slice(run: FileState, given: Arguments, at: Context) -> Fact:
    sizes = given.get(2, "slice_sizes")
    return shape_of(run, [sizes]) if sizes is not None and items_of(sizes) is not None else Shaped()


def _convolve(run: FileState, given: Arguments, at: Context) -> Fact:
    a, v, mode = axes_of_argument(given, 0, "a"), axes_of_argument(given, 1, "v"), given.get(2, "mode") or Const("full")
    m, n = known_length(a[0]) if a else None, known_length(v[0]) if v else None
    if m is None or n is None or not isinstance(mode, Const):
        return Shaped((ANY_AXIS,))
    lengths = {"full": m + n - 1, "same": max(m, n), "valid": abs(m - n) + 1}
    length = lengths.get(str(mode.value))
    return Shaped((axis_of(run, length),))


def _nonzero(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, size = axes_of_argument(given, 0, "a"), given.keywords.get("size") or NONE
    one = Shaped((ANY_AXIS if size == NONE else axis_of_value(run, size),))
    return Tuple((one,) * len(axes)) if axes is not None else UNKNOWN


def _argwhere(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, size = axes_of_argument(given, 0, "a"), given.keywords.get("size") or NONE
    n = ANY_AXIS if size == NONE else axis_of_value(run, size)
    return Shaped((n, run.length(len(axes)))) if axes is not None else Shaped()


def _array(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = data_axes(given.get(0, "object") or UNKNOWN, run.length)
    return Shaped(tuple(axes)) if axes is not None else Shaped()


FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(("lgamma", "digamma", "erfinv"), _same),
    **dict.fromkeys(
        ("index_add", "index_max", "index_min", "index_mul", "index_update", "dynamic_update_slice"), _same
    ),
    **dict.fromkeys(("betaln", "logaddexp"), _broadcast),
    **dict.fromkeys(("median", "nanmax", "nanmean", "nanmedian", "nanmin", "nanstd", "nansum", "nanvar"), reduction(1)),
    **dict.fromkeys(("nanquantile", "percentile", "quantile"), reduction(2, quantile=True)),
    **dict.fromkeys(("fft", "ifft"), _pair(_fourier(lambda n: n))),
    **{n: _segments(n) for n in ("segment_max", "segment_min", "segment_prod", "segment_sum")},
    "argwhere": _argwhere,
    "array": _array,
    "bincount": _bincount,
    "convolve": _convolve,
    "cross": _same,
    "dynamic_slice": _dynamic_slice,
    "histogram": _histogram,
    "interp": _interp,
    "irfft": _inverse_real,
    "nonzero": _nonzero,
    "outer": _outer,
    "rfft": _pair(_real),
    "searchsorted": _searchsorted,
    "take_along_axis": _take_along_axis,
    "top_k": _top_k,
    "trace": _trace,
}
