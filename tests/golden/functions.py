"""The functions of `branded.functions`: a table of calls, each with its values, and its derivatives in both modes.

`tests/test_functions.py` puts the same calls to the laws.
"""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.golden import registry

Arrays = tuple[np.ndarray, ...]


class Case(NamedTuple):
    """`f(m, *args)`, in the names of a module `m`, differentiated by the arguments `wrt`."""

    f: Callable[..., Any]
    args: Arrays
    wrt: tuple[int, ...]
    finite: bool
    smooth: bool  # is it differentiable at these arguments?


CASES: dict[str, Case] = {}


def case(
    name: str, f: Callable[..., Any], *args: Any, wrt: tuple[int, ...] = (), finite: bool = True, smooth: bool = True
) -> None:
    """A line of the table; its name begins with that of the function."""
    if name in CASES:
        raise ValueError(f"two cases have the name {name}")
    given = tuple(registry.array(a) for a in args)
    CASES[name] = Case(f, given, wrt, finite, smooth)
    registry.PROGRAMS[f"functions.{name}"] = registry.Program(lambda m: answers(m, CASES[name]), finite)


def answers(m: Any, c: Case) -> dict[str, Any]:
    """The values, and how those that are floats change with the arguments."""
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
    """The results that are floats, as a function of the arguments that are differentiated."""

    def f(*ys: Any) -> dict[str, Any]:
        new = dict(zip(c.wrt, ys, strict=True))
        leaves = registry.flat(c.f(m, *(new.get(i, x) for i, x in enumerate(xs))))
        return {path or "all": y for path, y in leaves if "float" in str(y.dtype) or "double" in str(y.dtype)}

    return f


def weighted(m: Any, out: dict[str, Any]) -> Any:
    """A number that every entry changes, each by another factor."""
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
