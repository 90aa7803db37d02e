"""The functions of `branded.linalg` and `branded.functions`: shapes of results, and operands that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from mypy.nodes import Context
from mypy.types import Type

from branded.mypy.axes.types import known_length
from branded.mypy.codes import MATRIX, SHAPE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import axis_of_value, format_axes, shape_of
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

Axes = tuple[Type, ...]
Rule = Callable[[FileState, Arguments, Context], Fact]
LINALG, FUNCTIONS = "branded.linalg.", "branded.functions."


def of_function(run: FileState, fullname: str, given: Arguments, at: Context) -> Fact:
    """Return the result of a function of `branded.linalg` or `branded.functions`."""
    rule = (_LINALG if fullname.startswith(LINALG) else _FUNCTIONS).get(fullname.rpartition(".")[2])
    if rule is None or run.declared_only:
        return UNKNOWN
    brands = brands_of(Tuple(tuple(given.all())))
    result = rule(run, given, at) if given.exact else Shaped()
    if isinstance(result, Mutable) and result.items is not None:  # a named tuple of tensors
        return result.with_items({k: add_brands(v, brands) for k, v in result.items.items()})
    return add_brands(result, brands)


def _axes(given: Arguments, position: int, name: str) -> Axes | None:
    """Return the axes of an argument; None if they are unknown."""
    value = given.get(position, name)
    if isinstance(value, Shaped):
        return value.axes
    return () if value is not None and is_number(value) else None


def _named(run: FileState, fullname: str, **items: Fact) -> Fact:
    """Return a named tuple of results."""
    return Mutable("object", dict(items.items()), run.scope.instance(fullname).type)


def _known(axes: Axes | None) -> Fact:
    return Shaped(axes)


def _shortest(run: FileState, a: Type, b: Type) -> Type:
    lengths = known_length(a), known_length(b)
    return run.length(min(lengths[0], lengths[1])) if lengths[0] is not None and lengths[1] is not None else ANY_AXIS


def _differ(a: Type, b: Type) -> bool:
    """Return whether two lengths are known and different."""
    m, n = known_length(a), known_length(b)
    return m is not None and n is not None and m != n


# ---- linear algebra ----


def _matrix(run: FileState, name: str, given: Arguments, at: Context, parameter: str = "a") -> Axes | None:
    """Return the axes of a square matrix, and report one that is not square."""
    axes = _axes(given, 0, parameter)
    if axes is None or len(axes) < 2:
        return None
    if _differ(axes[-2], axes[-1]):
        run.report(at, MATRIX, f"{name}: the matrix is not square", f"given: shape {format_axes(axes)}")
        return None
    return axes


def _square(name: str, drop: int = 0, parameter: str = "a") -> Rule:
    """Return the rule of a function of square matrices whose result loses the last `drop` axes."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        axes = _matrix(run, name, given, at, parameter)
        return _known(axes if axes is None else axes[: len(axes) - drop])

    return rule


def _eigh(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = _matrix(run, "eigh", given, at)
    values = _known(axes[:-1] if axes is not None else None)
    return _named(run, "branded.linalg.factors.EighResult", eigenvalues=values, eigenvectors=_known(axes))


def _slogdet(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = _matrix(run, "slogdet", given, at)
    one = _known(axes[:-2] if axes is not None else None)
    return _named(run, "branded.linalg.solving.SlogdetResult", sign=one, logabsdet=one)


def _svd(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = _axes(given, 0, "a")
    is_full, has_factors = given.get(1, "full_matrices") or Const(True), given.get(2, "compute_uv") or Const(True)
    if axes is None or len(axes) < 2 or not isinstance(is_full, Const) or not isinstance(has_factors, Const):
        return UNKNOWN
    *batch, m, n = axes
    k = _shortest(run, m, n)
    if not has_factors.value:
        return Shaped((*batch, k))
    left, right = (m, n) if is_full.value else (k, k)
    factors = {"U": Shaped((*batch, m, left)), "S": Shaped((*batch, k)), "Vh": Shaped((*batch, right, n))}
    return _named(run, "branded.linalg.factors.SVDResult", **factors)


def _qr(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, mode = _axes(given, 0, "a"), given.get(1, "mode") or Const("reduced")
    if axes is None or len(axes) < 2 or not isinstance(mode, Const):
        return UNKNOWN
    *batch, m, n = axes
    k = m if mode.value == "complete" else _shortest(run, m, n)
    upper = Shaped((*batch, k, n))
    if mode.value == "r":
        return upper
    return _named(run, "branded.linalg.factors.QRResult", Q=Shaped((*batch, m, k)), R=upper)


def _solve(name: str, parameter: str = "a") -> Rule:
    """Return the rule of a solution of `a x = b`."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        axes, right = _matrix(run, name, given, at, parameter), _axes(given, 1, "b")
        return _solution(run, name, axes, right, at)

    return rule


def _solution(run: FileState, name: str, axes: Axes | None, right: Axes | None, at: Context) -> Fact:
    if axes is None or not right:
        return Shaped()
    is_vector = len(right) == 1
    rows = right[-1] if is_vector else right[-2]
    if _differ(axes[-1], rows):
        says = f"{name}: the matrix has {known_length(axes[-1])} rows, and the right side has {known_length(rows)}"
        run.report(at, MATRIX, says, f"given: shape {format_axes(axes)} and {format_axes(right)}")
        return Shaped()
    if is_vector:
        return Shaped(axes[:-1])
    return Shaped(right) if len(axes) in (2, len(right)) else Shaped()


def _cho_solve(run: FileState, given: Arguments, at: Context) -> Fact:
    pair, right = items_of(given.get(0, "c_and_lower")), _axes(given, 1, "b")
    factor = pair[0] if pair else None
    axes = factor.axes if isinstance(factor, Shaped) and factor.axes and len(factor.axes) > 1 else None
    return _solution(run, "cho_solve", axes, right, at)


def _cho_factor(run: FileState, given: Arguments, at: Context) -> Fact:
    return Tuple((_known(_matrix(run, "cho_factor", given, at)), given.get(1, "lower") or Const(False)))


def _lstsq(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, right = _axes(given, 0, "a"), _axes(given, 1, "b")
    if axes is None or len(axes) != 2 or not right or len(right) > 2:
        return UNKNOWN
    m, n = axes
    if _differ(m, right[0]):
        says = f"lstsq: the matrix has {known_length(m)} rows, and the right side has {known_length(right[0])}"
        run.report(at, MATRIX, says, f"given: shape {format_axes(axes)} and {format_axes(right)}")
        return UNKNOWN
    items = {"x": Shaped((n, *right[1:])), "residuals": Shaped(), "rank": Shaped(())}
    return _named(run, "branded.linalg.factors.LstsqResult", **items, s=Shaped((_shortest(run, m, n),)))


def _pinv(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = _axes(given, 0, "a")
    return Shaped((*axes[:-2], axes[-1], axes[-2])) if axes is not None and len(axes) > 1 else Shaped()


def _multi_dot(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [v.axes if isinstance(v, Shaped) else None for v in items_of(given.get(0, "arrays")) or ()]
    known = [a for a in each if a]
    if len(known) != len(each) or len(known) < 2 or any(len(a) != 2 for a in known[1:-1]):
        return Shaped()
    for a, b in pairwise(known):
        if _differ(a[-1], b[0]):
            says = f"multi_dot: the inner axes are `{known_length(a[-1])}` and `{known_length(b[0])}`"
            run.report(at, SHAPE, says, f"given: shape {format_axes(a)} and {format_axes(b)}")
            return Shaped()
    return Shaped((*known[0][:-1], *known[-1][1:]))


# ---- functions ----


def _same(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    return value if isinstance(value, Shaped) else Shaped(() if is_number(value) else None)


def _broadcast(run: FileState, given: Arguments, at: Context) -> Fact:
    a, b = _axes(given, 0, "a"), _axes(given, 1, "b")
    return Shaped(a if b == () or a == b else b if a == () else None)


def _reduction(position: int, name: str = "a", quantile: bool = False) -> Rule:
    """Return the rule of a function with `axis` at this position and `keepdims`."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        axes, axis = _axes(given, 0, name), given.get(position, "axis") or NONE
        kept = given.get(position + 1, "keepdims")
        if axes is None or (quantile and _axes(given, 1, "q") != ()):
            return Shaped()
        entries = items_of(axis)
        chosen = list(range(len(axes))) if axis == NONE else [as_number(i) for i in entries or [axis]]
        if any(i is None or not -len(axes) <= i < len(axes) for i in chosen):
            return Shaped()
        dropped = {i % len(axes) for i in chosen if i is not None} if axes else set()
        if kept is None or kept == Const(False):
            return Shaped(tuple(a for i, a in enumerate(axes) if i not in dropped))
        ones = tuple(run.length(1) if i in dropped else a for i, a in enumerate(axes))
        return Shaped(ones if kept == Const(True) else None)

    return rule


def _outer(run: FileState, given: Arguments, at: Context) -> Fact:
    a, b = _axes(given, 0, "a"), _axes(given, 1, "b")
    return Shaped((*a, *b)) if a is not None and b is not None and len(a) == len(b) == 1 else Shaped()


def _trace(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = _axes(given, 0, "a")
    is_default = len(given.positional) < 3 and not given.keywords.keys() & {"axis1", "axis2"}
    return Shaped(axes[2:]) if axes is not None and len(axes) > 1 and is_default else Shaped()


def _transformed(length: Callable[[int], int]) -> Rule:
    """Return the rule of a Fourier transform whose last axis gets the length of a function of its own one."""

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
    """Return the rule of a function that returns two tensors of one shape: a real and an imaginary part."""

    def both(run: FileState, given: Arguments, at: Context) -> Fact:
        one = rule(run, given, at)
        return Tuple((one, one))

    return both


def _inverse_real(run: FileState, given: Arguments, at: Context) -> Fact:
    size = given.get(1, "n")
    return _transformed(lambda n: 2 * (n - 1) if size is None or size == NONE else n)(run, given, at)


def _real(run: FileState, given: Arguments, at: Context) -> Fact:
    return _transformed(lambda n: n // 2 + 1)(run, given, at)


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
    """Return the rule of a reduction of the rows of each segment."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        data, ids, count = _axes(given, 0, "data"), _axes(given, 1, "segment_ids"), given.get(2, "num_segments")
        if data and ids and _differ(data[0], ids[0]):
            says = f"{name}: there are {known_length(data[0])} rows, and {known_length(ids[0])} segment ids"
            run.report(at, SHAPE, says, f"given: shape {format_axes(data)} and {format_axes(ids)}")
            return Shaped()
        n = axis_of_value(run, count) if count is not None and count != NONE else ANY_AXIS
        return Shaped((n, *data[1:])) if data and ids and len(ids) == 1 else Shaped()

    return rule


def _searched(run: FileState, given: Arguments, at: Context) -> Fact:
    return Shaped(_axes(given, 1, "v"))


def _interpolated(run: FileState, given: Arguments, at: Context) -> Fact:
    xp, fp = _axes(given, 1, "xp"), _axes(given, 2, "fp")
    if xp and fp and _differ(xp[-1], fp[-1]):
        says = f"interp: there are {known_length(xp[-1])} knots, and {known_length(fp[-1])} values"
        run.report(at, SHAPE, says, f"given: shape {format_axes(xp)} and {format_axes(fp)}")
        return Shaped()
    return Shaped(_axes(given, 0, "x"))


def _taken(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, indices, axis = _axes(given, 0, "arr"), _axes(given, 1, "indices"), given.get(2, "axis") or Const(-1)
    i = as_number(axis)
    if not axes or not indices or i is None or len(axes) != len(indices) or not -len(axes) <= i < len(axes):
        return Shaped()
    others = [(a, b) for d, (a, b) in enumerate(zip(axes, indices, strict=True)) if d != i % len(axes)]
    return Shaped(indices if all(a == b for a, b in others) else None)


def _top_k(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, k, axis = _axes(given, 0, "operand"), given.get(1, "k"), as_number(given.keywords.get("axis") or Const(-1))
    if axes is None or k is None or axis is None or not -len(axes) <= axis < len(axes):
        return Tuple((Shaped(), Shaped()))
    i = axis % len(axes)
    part = Shaped((*axes[:i], axis_of_value(run, k), *axes[i + 1 :]))
    return Tuple((part, part))


def _sliced(run: FileState, given: Arguments, at: Context) -> Fact:
    sizes = given.get(2, "slice_sizes")
    return shape_of(run, [sizes]) if sizes is not None and items_of(sizes) is not None else Shaped()


def _convolved(run: FileState, given: Arguments, at: Context) -> Fact:
    a, v, mode = _axes(given, 0, "a"), _axes(given, 1, "v"), given.get(2, "mode") or Const("full")
    m, n = known_length(a[0]) if a else None, known_length(v[0]) if v else None
    if m is None or n is None or not isinstance(mode, Const):
        return Shaped((ANY_AXIS,))
    lengths = {"full": m + n - 1, "same": max(m, n), "valid": abs(m - n) + 1}
    length = lengths.get(str(mode.value))
    return Shaped((ANY_AXIS if length is None else run.length(length),))


def _found(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, size = _axes(given, 0, "a"), given.keywords.get("size") or NONE
    one = Shaped((ANY_AXIS if size == NONE else axis_of_value(run, size),))
    return Tuple((one,) * len(axes)) if axes is not None else UNKNOWN


def _argwhere(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, size = _axes(given, 0, "a"), given.keywords.get("size") or NONE
    n = ANY_AXIS if size == NONE else axis_of_value(run, size)
    return Shaped((n, run.length(len(axes)))) if axes is not None else Shaped()


def _array(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = data_axes(given.get(0, "object") or UNKNOWN, run.length)
    return Shaped(tuple(axes)) if axes is not None else Shaped()


def _each(names: Sequence[str], rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names, rule)


_LINALG: dict[str, Rule] = {
    **{n: _square(n) for n in ("cholesky", "inv")},
    "expm": _square("expm", parameter="A"),
    "matrix_power": _square("matrix_power"),
    "det": _square("det", 2),
    "eigvalsh": _square("eigvalsh", 1),
    "cho_factor": _cho_factor,
    "cho_solve": _cho_solve,
    "eigh": _eigh,
    "lstsq": _lstsq,
    "multi_dot": _multi_dot,
    "norm": _reduction(2, "x"),
    "pinv": _pinv,
    "qr": _qr,
    "slogdet": _slogdet,
    "solve": _solve("solve"),
    "solve_triangular": _solve("solve_triangular"),
    "svd": _svd,
}
_FUNCTIONS: dict[str, Rule] = {
    **_each(("lgamma", "digamma", "erfinv"), _same),
    **_each(("index_add", "index_max", "index_min", "index_mul", "index_update", "dynamic_update_slice"), _same),
    **_each(("betaln", "logaddexp"), _broadcast),
    **_each(("median", "nanmax", "nanmean", "nanmedian", "nanmin", "nanstd", "nansum", "nanvar"), _reduction(1)),
    **_each(("nanquantile", "percentile", "quantile"), _reduction(2, quantile=True)),
    **_each(("fft", "ifft"), _pair(_transformed(lambda n: n))),
    **{n: _segments(n) for n in ("segment_max", "segment_min", "segment_prod", "segment_sum")},
    "argwhere": _argwhere,
    "array": _array,
    "bincount": _bincount,
    "convolve": _convolved,
    "cross": _same,
    "dynamic_slice": _sliced,
    "histogram": _histogram,
    "interp": _interpolated,
    "irfft": _inverse_real,
    "nonzero": _found,
    "outer": _outer,
    "rfft": _pair(_real),
    "searchsorted": _searched,
    "take_along_axis": _taken,
    "top_k": _top_k,
    "trace": _trace,
}
