"""Writes into per-example values: scatter, `__setitem__`, `assign` and in-place operators."""

import copy
import operator
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor, dtypes

from ..table import bools, family, index, ints, real
from .closures import INDEX, K, V

case = family("Writing")

case("scatter", "scatter", lambda x, i, s: x.scatter(0, i, s), real(4), index(3), real(3))
case("scatter along axis 1", "scatter", lambda x, i, s: x.scatter(1, i, s), real(3, 4), index(2, 3), real(3, 3))
case(
    "scatter a number",
    "scatter",
    lambda x, i: (x.scatter(0, i, 2.0), x.scatter(0, i, 3.0, reduce="add"), x.scatter(0, i, 2.0, reduce="multiply")),
    real(4),
    index(3),
)
case("closure.scatter(x)", "scatter", lambda i, s: V.scatter(0, i, s), index(3), real(3))
case("x.scatter(closure)", "scatter", lambda x: (x.scatter(0, INDEX, V), x.scatter(0, INDEX, x)), real(4))
for mode in ("sum", "prod", "mean", "amax", "amin"):
    case(
        f"scatter_reduce, {mode}",
        "scatter_reduce",
        lambda x, i, s, mode=mode: (
            x.scatter_reduce(0, i, s, mode),
            x.scatter_reduce(0, i, s, mode, include_self=False),
        ),
        real(4),
        index(3),
        real(3),
    )
case(
    "scatter_reduce along axis 1",
    "scatter_reduce",
    lambda x, i, s: x.scatter_reduce(1, i, s, "sum"),
    real(2, 4),
    index(2, 3),
    real(2, 3),
)
case("closure.scatter_reduce(x)", "scatter_reduce", lambda i, s: V.scatter_reduce(0, i, s, "sum"), index(3), real(3))


def setting(at: Any, value: Any = None) -> Callable[..., Tensor]:
    """Return a function that writes into a copy of its first argument; the others may give `at` and `value`."""

    def write(x: Tensor, *args: Tensor) -> Tensor:
        y = x * 1
        y[at(*args) if callable(at) else at] = value(*args) if callable(value) else value
        return y

    return write


case("[int] = number", "__setitem__", setting(1, 5.0), real(4))
case("[-1] = number", "__setitem__", setting(-1, 5.0), real(4, 2))
case("[int] = value", "__setitem__", setting(1, lambda v: v), real(4, 2), real(2))
case("[int, int] = value", "__setitem__", setting((1, 0), lambda v: v), real(4, 2), real())
case("[slice] = number", "__setitem__", setting(slice(1, 3), 0.0), real(4))
case("[slice] = value", "__setitem__", setting(slice(1, 3), lambda v: v), real(4), real(2))
case("[:] = value", "__setitem__", setting(slice(None), lambda v: v), real(4), real(4))
case("[...] = value", "__setitem__", setting(..., lambda v: v), real(2, 3), real(3))
case("[..., int] = value", "__setitem__", setting((..., 0), lambda v: v), real(2, 3), real(2))
case("[slice with step] = value", "__setitem__", setting(slice(None, None, 2), lambda v: v), real(5), real(3))
case("[reversed slice] = value", "__setitem__", setting(slice(None, None, -1), lambda v: v), real(4), real(4))
case("[slice, slice] = value", "__setitem__", setting((slice(1, 3), slice(0, 2)), lambda v: v), real(4, 3), real(2, 2))
case("[None, slice] = value", "__setitem__", setting((None, slice(0, 2)), lambda v: v), real(4), real(1, 2))
case("[list] = number", "__setitem__", setting([0, 2], 1.5), real(4))
case("[list] = value", "__setitem__", setting([0, 2], lambda v: v), real(4, 2), real(2, 2))
case("[tensor] = number", "__setitem__", setting(lambda i: i, 9.0), real(4), index(2))
case("[tensor] = value", "__setitem__", setting(lambda i, v: i, lambda i, v: v), real(4), index(3), real(3))
case("[scalar tensor] = value", "__setitem__", setting(lambda i, v: i, lambda i, v: v), real(4, 2), index(), real(2))
case(
    "[tensor, tensor] = value",
    "__setitem__",
    setting(lambda i, v: (i, i), lambda i, v: v),
    real(4, 4),
    index(3),
    real(3),
)
case(
    "[slice, tensor] = value",
    "__setitem__",
    setting(lambda i, v: (slice(0, 2), i), lambda i, v: v),
    real(3, 4),
    index(2),
    real(2, 2),
)
case(
    "[tensor, slice, tensor] = value",
    "__setitem__",
    setting(lambda i, v: (i, slice(0, 2), i), lambda i, v: v),
    real(4, 3, 4),
    index(2),
    real(2, 2),
)
case("[closure] = value", "__setitem__", setting(INDEX, lambda v: v), real(4), real(3))
case("[int] = closure", "__setitem__", setting(1, V), real(2, 4))
case("[int] = a list", "__setitem__", setting(slice(0, 2), [1.0, 2.0]), real(4))
case("[int] = value, of integers", "__setitem__", setting(2, lambda v: v), ints(4), ints())
case(
    "[tensor] = value, of integers", "__setitem__", setting(lambda i, v: i, lambda i, v: v), ints(4), index(2), ints(2)
)
case("[mask as where] = value", "where", lambda x, m, v: m.where(v, x), real(4), bools(4), real(4))


def set_twice(x: Tensor, v: Tensor) -> Tensor:
    y = x * 1
    y[0] = v
    y[1:] = y[:1] + v
    return y


def add_to_part(x: Tensor, v: Tensor) -> Tensor:
    y = x * 1
    y[1:3] += v
    return y


def set_in_new(make: Callable[[], Tensor]) -> Callable[[Tensor], Tensor]:
    def write(x: Tensor) -> Tensor:
        y = make()
        y[1] = x.sum()
        y[2:] = x[:2]
        return y

    return write


def set_in_argument(x: Tensor, v: Tensor) -> Tensor:
    x[0] = v
    return x


def set_integer_in_argument(x: Tensor, v: Tensor) -> Tensor:
    x[1:3] = v
    return x


case("two writes", "__setitem__ __getitem__", set_twice, real(4), real())
case("[slice] += value", "__setitem__ __getitem__ __iadd__", add_to_part, real(4), real(2))
case("zeros, then written", "__setitem__", set_in_new(lambda: Tensor.zeros(4)), real(3))
case("ones, then written", "__setitem__", set_in_new(lambda: Tensor.ones(4).contiguous()), real(3))
case("empty, then written", "__setitem__ empty", set_in_new(lambda: Tensor.empty(4).assign(V)), real(3))
case("a copy of a closure, then written", "__setitem__ clone", set_in_new(lambda: V.clone()), real(3))
case("into the argument", "__setitem__", set_in_argument, real(4), real(), writes=(0,))
case("into the argument, of integers", "__setitem__", set_integer_in_argument, ints(4), ints(2), writes=(0,))


def in_place(name: str, copy: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def write(x: Tensor, y: Tensor) -> Tensor:
        return getattr(operator, name)(copy(x), y)  # type: ignore[no-any-return]

    return write


OF_FLOATS = ("iadd", "isub", "imul", "itruediv", "ipow")
OF_INTS = ("iand", "ior", "ixor", "ilshift", "irshift", "ifloordiv")
for name in OF_FLOATS:
    case(f"{name} on an own value", f"__{name}__", in_place(name, lambda x: x.exp()), real(4), real(4))
for name in OF_INTS:
    case(
        f"{name} on an own value",
        f"__{name}__",
        lambda x, y, name=name: in_place(name, lambda x: x * 3)(x, y + 1),
        index(4),
        index(4),
    )
case("imatmul on an own value", "__imatmul__", lambda x: in_place("imatmul", lambda y: y * 2)(x, K), real(4))
case("iadd on a closure's copy", "__iadd__", lambda x: in_place("iadd", lambda v: V * v.sum())(x, x), real(4))
case("iadd on the argument", "__iadd__", in_place("iadd", lambda x: x), real(4), real(4), writes=(0,))
case(
    "iadd of a number on the argument",
    "__imul__",
    lambda x: in_place("imul", lambda y: y)(x, 2.0),
    real(4),
    writes=(0,),
)

case("assign", "assign", lambda x, y: ((x * 1).assign(y) + x, (x + 1).assign(y * 2)), real(4), real(4))
case("assign a number", "assign", lambda x: (x * 1).assign(2.0) + x, real(4))
case("assign what broadcasts", "assign", lambda x, y: (x * 1).assign(y), real(2, 3), real(3))
case("assign a closure", "assign", lambda x: (x * 1).assign(V) * x, real(4))
case(
    "assign to a new tensor",
    "assign zeros_like empty_like",
    lambda x: (
        Tensor.zeros(4).assign(x),
        Tensor.empty(4).assign(x),
        x.zeros_like().assign(x * 2),
        x.empty_like().assign(x),
    ),
    real(4),
)
case("assign to the argument", "assign", lambda x, y: x.assign(y * 2), real(4), real(4), writes=(0,))


def assign_to_view(x: Tensor, y: Tensor) -> Tensor:
    z = Tensor.zeros(2, 4)
    z[0].assign(x)
    z[1, 1:3].assign(y)
    return z


def assign_twice(x: Tensor, y: Tensor) -> Tensor:
    z = x * 1
    z.assign(z + y)
    z.assign(z * y)
    return z


def replace(x: Tensor, y: Tensor) -> Tensor:
    z = x * 1
    return z.replace(y + x) * 2


case("assign to a view", "assign zeros __getitem__", assign_to_view, real(4), real(2))
case("assign twice", "assign", assign_twice, real(4), real(4))
case("replace", "replace", replace, real(4), real(4))
case("running total in place", "__iadd__", lambda x: sum_in_place(x), real(3, 2))


def sum_in_place(x: Tensor) -> Tensor:
    total = Tensor.zeros(2)
    for row in x:
        total += row
    return total


case("contiguous", "contiguous", lambda x: (x.contiguous() + 1, (x * 2).contiguous().sum()), real(3))
case("realize", "realize", lambda x: (x.realize() + 1, (x * 2).realize().sum(), x.realize(x + 1)), real(3))
case("contiguous of a movement", "contiguous permute", lambda x: x.permute(1, 0).contiguous().reshape(6), real(2, 3))
case("detach", "detach", lambda x: x.detach() * 2, real(3))
case("clone", "clone", lambda x: (x.clone(), (x * 2).clone() + x), real(3))
case("clone of a closure", "clone", lambda x: V.clone() * x, real(4))
case("deep copy", "__deepcopy__", lambda x: copy.deepcopy(x * 2) + x, real(3))
case(
    "new tensors like an example",
    "full_like zeros_like ones_like const_like",
    lambda x: (
        x.full_like(2),
        x.zeros_like(),
        x.ones_like() * x,
        x.const_like(3) + x,
        x.full_like(2, dtype=dtypes.int32),
    ),
    real(2, 3),
)
