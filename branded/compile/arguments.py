"""The arguments of a compiled function: their form, which identifies the program, and their leaves.

Trees of common containers are traversed in one pass; `branded.tree` handles any other container.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded import tree
from branded.compile.initial_values import write_initial_values
from branded.compile.output_pool import part_in_memory, value_in_memory
from branded.graph.rows import check_live
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import canonicalize_device
from branded.tinygrad_compat.uops import KNOWN

NUMBERS = frozenset({bool, int, float})
_TEXT = frozenset({str})
EXACT = frozenset({bool, int, str, type(None)})
"""The types of static values that are the same if they are equal and have the same type, unlike 0.0 and -0.0."""
_DEEP = 32
_NAMED: dict[tuple[str, ...], tuple[tuple[Any, ...], list[str]]] = {}
"""For the names of a dict, in its order: its form, and its names in order."""
_KEPT = 1024
_CODES = frozenset("?bBhHiIlLqQefd")
"""The dtype codes of the NumPy arrays that kernels read in place, without a copy, and of NumPy numbers."""


class Choices(NamedTuple):
    """Which arguments of a call are static, and for each argument its position and whether it is static or donated."""

    is_static: list[bool]
    every: list[tuple[int, bool, bool]]
    others: list[tuple[int, bool, bool]]
    """The arguments that are not static."""


class Static(tuple[Any, ...]):
    """Static values, which are part of the program; equality also requires equal hashes."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return hash(self) == hash(other) and super().__eq__(other)

    __hash__ = tuple.__hash__


def exactly(x: Any) -> tuple[type, Any]:
    """Return a static value with its type and sign, so that 1 and True, or 0.0 and -0.0, are different keys."""
    cls: Any = type(x)
    if cls is float:
        return cls, x.hex()
    if cls.__eq__ is tuple.__eq__:
        return cls, tuple(map(exactly, x))
    return cls, x


def read_each(xs: Iterable[Any], form: list[Any], leaves: list[Any], depth: int = 0) -> None:
    """Call `read_argument` on each value, with a fast path for tensors in memory."""
    for x in xs:
        # inlined `value_in_memory`: `k.buffers.get(k.device) is k.opaque` checks that the buffer is still allocated
        if type(x) is Tensor and (k := x.uop.__dict__.get(KNOWN)) is not None and k[2].get(k[4]) is k[3]:
            form.append(k[0])
            leaves.append(k)
        elif (
            type(x) is dict
            and (known := _NAMED.get(tuple(x))) is not None
            and _TEXT.issuperset(map(type, x))  # a name of another type, such as an enum of strings, may be equal
            and depth < _DEEP
        ):
            form.append(known[0])
            read_each(map(x.__getitem__, known[1]), form, leaves, depth + 1)
        else:
            read_argument(x, form, leaves, depth)


def read_argument(x: Any, form: list[Any], leaves: list[Any], depth: int = 0) -> None:
    """Append the description of `x` without its values to `form`, and its variables to `leaves`.

        x         {"b": 2.0, "a": [t, None]}
        form      (dict, "b", "a"), (list, 2), ((3,), float, "CPU", None), None, float
        leaves    t, 2.0

    A tensor that is known to be in memory is appended as its `Known`.
    """
    cls = type(x)
    if cls is Tensor:
        _tensor(x, form, leaves)
    elif cls in NUMBERS:
        form.append(cls if cls is not int or -(2**31) <= x < 2**31 else _large(x))
        leaves.append(x)
    elif (cls is tuple or cls is list) and depth < _DEEP:
        form.append((cls, len(x)))
        read_each(x, form, leaves, depth + 1)
    elif cls is dict and depth < _DEEP and _TEXT.issuperset(map(type, x)):
        if len(_NAMED) >= _KEPT:
            _NAMED.clear()
        _NAMED[tuple(x)] = (cls, *x), sorted(x)  # as `tree.in_order` does
        read_each((x,), form, leaves, depth)
    elif cls is np.ndarray and x.dtype.char in _CODES and x.dtype.isnative:
        form.append((cls, x.shape, x.dtype))
        leaves.append(x)
    elif isinstance(x, np.generic) and x.dtype.char in _CODES:
        form.append(cls)
        leaves.append(x)
    elif x is None:
        form.append(None)
    else:
        _other(x, form, leaves)


def _large(x: int) -> tuple[Any, ...]:
    """Return the form of an int beyond 32 bits, which records the wider dtypes that it fits into."""
    if not tree.fits(x, dtypes.int64):
        raise tree.too_large(x, dtypes.int64, "jit")
    return int, *(tree.fits(x, d) for d in (dtypes.uint32, dtypes.uint64))


def _tensor(x: Tensor, form: list[Any], leaves: list[Any]) -> None:
    if x.uop.op is Ops.COPY:
        write_initial_values([x])
    if (buffer := value_in_memory(x.uop) or part_in_memory(x.uop)) is not None:
        form.append(buffer.type)
        leaves.append(buffer)
    else:
        form.append(_type_of(x))
        leaves.append(x)


def _other(x: Any, form: list[Any], leaves: list[Any]) -> None:
    """Read a leaf, or a tree of less common containers."""
    if tree.node(x) is not None:
        form.append(Static((tree.treedef_key(x), tuple(tree.paths(x, "")), tree.orders(x))))
    for y in tree.leaves(x):
        _leaf(y, form, leaves)


def _leaf(x: Any, form: list[Any], leaves: list[Any]) -> None:
    if isinstance(x, Tensor):
        form.append(_type_of(x))
    elif type(x) in NUMBERS:
        form.append(type(x) if type(x) is not int or tree.fits(x, dtypes.int32) else _large(x))
    elif (t := tree.as_tensor(x, copy=False)) is not None:
        form.append(_type_of(t))
    else:
        form.append(Static(exactly(x)))
        return
    leaves.append(x)


def _type_of(t: Tensor) -> tuple[Any, ...]:
    check_live(t.uop, "jit")
    device = t.uop.device
    axis = t.uop.axis if isinstance(device, tuple) else None
    return t.uop.shape, t.uop.dtype, device if device is not None else canonicalize_device(None), axis


Builder = Callable[[Any], Any]
"""A function that builds the results of a program from an iterator over their leaves."""


def builder(out: Any, depth: int = 0) -> Builder:
    """Return a function that builds a tree like `out` from an iterator over leaves."""
    cls = type(out) if depth < _DEEP else None
    if cls is Tensor or tree.node(out) is None:
        return next
    if cls is tuple or cls is list:
        parts = [builder(y, depth + 1) for y in out]
        if all(p is next for p in parts):  # the children of this container are leaves
            n = range(len(parts))
            return lambda new: cls([next(new) for _ in n])
        return lambda new: cls([p(new) for p in parts])
    if cls is dict:
        named = [(k, builder(out[k], depth + 1)) for k in tree.in_order(out)]
        if (order := tuple(out)) == tuple(k for k, _ in named):
            return lambda new: {k: p(new) for k, p in named}

        def build(new: Any) -> Any:
            values = {k: p(new) for k, p in named}
            return {k: values[k] for k in order}

        return build
    return lambda new: tree.rebuild(out, new)


def static_options(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Return for each argument the option of `jit` that makes it static, or "" if it is not a Python number.

    f(x, 2, n=3)   ["", "static_argnums=1", 'static_argnames="n"'] if the second parameter has no name
    """
    if not any(isinstance(x, int | float) for x in (*args, *kwargs.values())):
        return [""] * (len(args) + len(kwargs))
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = list(itertools.takewhile(lambda p: p.kind is p.POSITIONAL_OR_KEYWORD, parameters))
    options = [f'static_argnames="{p.name}"' for p in named[: len(args)]]
    options += [f"static_argnums={i}" for i in range(len(options), len(args))]
    options += [f'static_argnames="{name}"' for name in kwargs]
    return [o if isinstance(x, int | float) else "" for x, o in zip((*args, *kwargs.values()), options, strict=True)]
