"""The functions of `branded.linalg`: the shapes of their results, and matrices that do not fit."""

from __future__ import annotations

from itertools import pairwise

from mypy.nodes import Context
from mypy.types import Type

from branded.mypy.axes.types import known_length
from branded.mypy.codes import MATRIX, SHAPE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.rules.arguments import Axes, Rule, axes_of_argument, differ, reduction
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import UNKNOWN, Arguments, Const, Fact, Mutable, Shaped, Tuple, items_of


def _result_tuple(run: FileState, fullname: str, **items: Fact) -> Fact:
    """Return a named tuple of results."""
    return Mutable("object", dict(items.items()), run.scope.instance(fullname).type)


def _shortest(run: FileState, a: Type, b: Type) -> Type:
    lengths = known_length(a), known_length(b)
    return run.length(min(lengths[0], lengths[1])) if lengths[0] is not None and lengths[1] is not None else ANY_AXIS


def _matrix(run: FileState, name: str, given: Arguments, at: Context, parameter: str = "a") -> Axes | None:
    """Return the axes of a square matrix, and report one that is not square."""
    axes = axes_of_argument(given, 0, parameter)
    if axes is None or len(axes) < 2:
        return None
    if differ(axes[-2], axes[-1]):
        run.report(at, MATRIX, f"{name}: the matrix is not square", f"given: shape {format_axes(axes)}")
        return None
    return axes


def _square(name: str, drop: int = 0, parameter: str = "a") -> Rule:
    """Return the rule of a function of square matrices whose result loses the last `drop` axes."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        axes = _matrix(run, name, given, at, parameter)
        return Shaped(axes if axes is None else axes[: len(axes) - drop])

    return rule


def _eigh(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = _matrix(run, "eigh", given, at)
    values = Shaped(axes[:-1] if axes is not None else None)
    return _result_tuple(run, "branded.linalg.factors.EighResult", eigenvalues=values, eigenvectors=Shaped(axes))


def _slogdet(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = _matrix(run, "slogdet", given, at)
    one = Shaped(axes[:-2] if axes is not None else None)
    return _result_tuple(run, "branded.linalg.solving.SlogdetResult", sign=one, logabsdet=one)


def _svd(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = axes_of_argument(given, 0, "a")
    is_full, has_factors = given.get(1, "full_matrices") or Const(True), given.get(2, "compute_uv") or Const(True)
    if axes is None or len(axes) < 2 or not isinstance(is_full, Const) or not isinstance(has_factors, Const):
        return UNKNOWN
    *batch, m, n = axes
    k = _shortest(run, m, n)
    if not has_factors.value:
        return Shaped((*batch, k))
    left, right = (m, n) if is_full.value else (k, k)
    factors = {"U": Shaped((*batch, m, left)), "S": Shaped((*batch, k)), "Vh": Shaped((*batch, right, n))}
    return _result_tuple(run, "branded.linalg.factors.SVDResult", **factors)


def _qr(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, mode = axes_of_argument(given, 0, "a"), given.get(1, "mode") or Const("reduced")
    if axes is None or len(axes) < 2 or not isinstance(mode, Const):
        return UNKNOWN
    *batch, m, n = axes
    k = m if mode.value == "complete" else _shortest(run, m, n)
    upper = Shaped((*batch, k, n))
    if mode.value == "r":
        return upper
    return _result_tuple(run, "branded.linalg.factors.QRResult", Q=Shaped((*batch, m, k)), R=upper)


def _solve(name: str) -> Rule:
    """Return the rule of a solution of `a x = b`."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        axes, right = _matrix(run, name, given, at), axes_of_argument(given, 1, "b")
        return _solution(run, name, axes, right, at)

    return rule


def _has_rows(run: FileState, name: str, a: Axes, b: Axes, wanted: Type, given: Type, at: Context) -> bool:
    """Return whether the right side may have as many rows as the matrix, and report it if not."""
    if not differ(wanted, given):
        return True
    says = f"{name}: the matrix has {known_length(wanted)} rows, and the right side has {known_length(given)}"
    run.report(at, MATRIX, says, f"given: shape {format_axes(a)} and {format_axes(b)}")
    return False


def _solution(run: FileState, name: str, axes: Axes | None, right: Axes | None, at: Context) -> Fact:
    if axes is None or not right:
        return Shaped()
    is_vector = len(right) == 1
    rows = right[-1] if is_vector else right[-2]
    if not _has_rows(run, name, axes, right, axes[-1], rows, at):
        return Shaped()
    if is_vector:
        return Shaped(axes[:-1])
    return Shaped(right) if len(axes) in (2, len(right)) else Shaped()


def _cho_solve(run: FileState, given: Arguments, at: Context) -> Fact:
    pair, right = items_of(given.get(0, "c_and_lower")), axes_of_argument(given, 1, "b")
    factor = pair[0] if pair else None
    axes = factor.axes if isinstance(factor, Shaped) and factor.axes and len(factor.axes) > 1 else None
    return _solution(run, "cho_solve", axes, right, at)


def _cho_factor(run: FileState, given: Arguments, at: Context) -> Fact:
    return Tuple((Shaped(_matrix(run, "cho_factor", given, at)), given.get(1, "lower") or Const(False)))


def _lstsq(run: FileState, given: Arguments, at: Context) -> Fact:
    axes, right = axes_of_argument(given, 0, "a"), axes_of_argument(given, 1, "b")
    if axes is None or len(axes) != 2 or not right or len(right) > 2:
        return UNKNOWN
    m, n = axes
    if not _has_rows(run, "lstsq", axes, right, m, right[0], at):
        return UNKNOWN
    items = {"x": Shaped((n, *right[1:])), "residuals": Shaped(), "rank": Shaped(())}
    return _result_tuple(run, "branded.linalg.factors.LstsqResult", **items, s=Shaped((_shortest(run, m, n),)))


def _pinv(run: FileState, given: Arguments, at: Context) -> Fact:
    axes = axes_of_argument(given, 0, "a")
    return Shaped((*axes[:-2], axes[-1], axes[-2])) if axes is not None and len(axes) > 1 else Shaped()


def _multi_dot(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [v.axes if isinstance(v, Shaped) else None for v in items_of(given.get(0, "arrays")) or ()]
    known = [a for a in each if a]
    if len(known) != len(each) or len(known) < 2 or any(len(a) != 2 for a in known[1:-1]):
        return Shaped()
    for a, b in pairwise(known):
        if differ(a[-1], b[0]):
            says = f"multi_dot: the inner axes are `{known_length(a[-1])}` and `{known_length(b[0])}`"
            run.report(at, SHAPE, says, f"given: shape {format_axes(a)} and {format_axes(b)}")
            return Shaped()
    return Shaped((*known[0][:-1], *known[-1][1:]))


LINALG: dict[str, Rule] = {
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
    "norm": reduction(2, "x"),
    "pinv": _pinv,
    "qr": _qr,
    "slogdet": _slogdet,
    "solve": _solve("solve"),
    "solve_triangular": _solve("solve_triangular"),
    "svd": _svd,
}
