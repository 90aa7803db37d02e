"""What trees are, and how they are walked through.

A tuple, list, dict, NamedTuple, dataclass, None, or an instance of a class given to `register_pytree_node` is a
node; everything else is a leaf.  The children of a dict are addressed by key, those of a dataclass by field.  Those of
a dict come in the order of its keys, sorted, so that trees which differ in that order alone have the same leaves; a
dict that is made anew has the keys in the order in which they were.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import inspect
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numpy as np
from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.errors import AxesError, AxisRangeError, AxisTypeError, OptionError, TreeError
from branded.rows import type_text

C = TypeVar("C")
Axis = int | None


class Node(NamedTuple):
    """One container: its children by key, and how to make the like with other children."""

    keys: tuple[Any, ...]
    children: tuple[Any, ...]
    rebuild: Callable[[Sequence[Any]], Any]


class _Registered(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Hashable, Iterable[Any]], Any]


_registry: dict[type, _Registered] = {}
_LEAVES = frozenset({Tensor, UOp, DType, np.ndarray, int, float, bool, str, bytes, complex})


def register_pytree_node(
    cls: type[C],
    flatten: Callable[[C], tuple[Iterable[Any], Hashable]],
    unflatten: Callable[[Hashable, Iterable[Any]], C],
) -> type[C]:
    """Make instances of `cls` nodes of pytrees, as `jax.tree_util.register_pytree_node` does.

    Args:
        cls: The class.  Subclasses are not included.
        flatten: `flatten(obj) -> (children, aux)`; `aux` is anything hashable.
        unflatten: `unflatten(aux, children) -> obj`.

    Returns:
        `cls`, so that it can stand in an expression.

    Raises:
        TreeError: `cls` is no class, or a node already, or a function does not take what it gets.

    Example:
        >>> from branded import register_pytree_node, vmap
        >>> from tinygrad import Tensor
        >>> class Line:
        ...     def __init__(self, a, b): self.a, self.b = a, b
        >>> _ = register_pytree_node(Line, lambda l: ((l.a, l.b), None), lambda _, ab: Line(*ab))
        >>> lines = Line(Tensor([1, 2]), Tensor([10, 20]))
        >>> vmap(lambda line: line.a * 5 + line.b)(lines).tolist()
        [15, 30]

    Source: JAX, `jax.tree_util`; optree, `optree.register_pytree_node`.
    """
    what = "register_pytree_node"
    if not isinstance(cls, type):
        raise TreeError(f"{what}: {describe(cls)} is not a class", fix=f"{what}(Class, flatten, unflatten)")
    if cls in _registry or cls in _LEAVES or cls in (tuple, list, dict, collections.deque, type(None)):
        raise TreeError(f"{what}: {describe(cls)} is registered already", fix="a class of your own, once")
    for name, f, parameters in (("flatten", flatten, ("object",)), ("unflatten", unflatten, ("aux", "children"))):
        if not callable(f) or not _takes(f, len(parameters)):
            said = "is not a function" if not callable(f) else f"does not take {len(parameters)} arguments"
            raise TreeError(f"{what}: {name} {said}", fix=f"{name}({', '.join(parameters)})")
    _registry[cls] = _Registered(flatten, unflatten)
    return cls


def _takes(f: Callable[..., Any], n: int) -> bool:
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # written in C, without a signature
        return True
    try:
        signature.bind(*range(n))
    except TypeError:
        return False
    return True


def _flattened(x: Any, reg: _Registered) -> tuple[tuple[Any, ...], Hashable]:
    pair = reg.flatten(x)
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Iterable)):
        raise TreeError(
            f"register_pytree_node: flatten of {describe(x)} gave {outline(pair)}", fix="return a pair: (children, aux)"
        )
    return tuple(pair[0]), pair[1]


def _with_fields(obj: Any, values: Sequence[Any]) -> Any:
    """A dataclass made anew, so that what it derives from its fields is derived from the new ones."""
    fields = list(zip(dataclasses.fields(obj), values, strict=True))
    new = dataclasses.replace(obj, **{f.name: value for f, value in fields if f.init})
    for f, value in fields:
        if not f.init:
            object.__setattr__(new, f.name, value)
    return new


def in_order(keys: Iterable[Any]) -> tuple[Any, ...]:
    """The keys of a dict in an order that does not depend on the one in which they were put into it: sorted."""
    found = tuple(keys)
    if len(found) < 2:
        return found
    try:
        if not any(isinstance(key, Set) for key in found):  # of which `<` is no order
            return tuple(sorted(found))
    except TypeError:  # an int and a str
        pass
    return tuple(sorted(found, key=lambda key: (type(key).__qualname__, repr(key))))


def _with_items(obj: Any, keys: Sequence[Any], values: Sequence[Any]) -> Any:
    """A dict with other values; its keys come in the order in which `obj` has them."""
    new, of = copy.copy(obj), dict(zip(keys, values, strict=True))
    for key in obj:
        new[key] = of[key]
    return new


def node(x: Any) -> Node | None:
    """The container that `x` is, or None for a leaf."""
    cls = type(x)
    if cls in _LEAVES:
        return None
    if x is None:
        return Node((), (), lambda _: None)
    if (reg := _registry.get(cls)) is not None:
        kids, aux = _flattened(x, reg)
        return Node(tuple(range(len(kids))), kids, lambda new: reg.unflatten(aux, new))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return Node(x._fields, tuple(x), lambda new: cls(*new))
    if isinstance(x, tuple | list | collections.deque):
        return Node(tuple(range(len(x))), tuple(x), lambda new: cls(new))
    if isinstance(x, dict):
        keys = in_order(x)
        return Node(keys, tuple([x[key] for key in keys]), lambda new: _with_items(x, keys, new))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = tuple(f.name for f in dataclasses.fields(x))
        return Node(names, tuple(getattr(x, n) for n in names), lambda new: _with_fields(x, new))
    return None


IsLeaf = Callable[[Any], bool]
Flat = list[tuple[Any, Node | None]]


def flat(x: Any, is_leaf: IsLeaf | None = None) -> Flat:
    """All that a tree consists of: a container stands before its children, which are in order.

    It does not recurse, so that a tree may be as deep as it likes.  What is said to be a leaf is not looked into.
    """
    found: Flat = []
    waiting, around = [x], dict[int, Any]()
    watching = False
    while waiting:
        x = waiting.pop()
        if type(x) is _End:
            del around[x.of]
            continue
        if type(x) is Tensor:
            found.append((x, None))
            continue
        n = None if is_leaf is not None and is_leaf(x) else node(x)
        found.append((x, n))
        if n is None or not n.children:
            continue
        if watching:
            if id(x) in around or len(around) == _DEEPEST:
                _refuse_endless(x, id(x) in around)
            around[id(x)] = x
            waiting.append(_End(id(x)))
        elif len(found) > _SUSPICIOUS:  # is there an end?  From here on it is looked for
            found, waiting, watching = [], [found[0][0]], True
            continue
        waiting.extend(n.children[::-1])
    return found


class _End:
    """Stands behind the children of a container."""

    __slots__ = ("of",)

    def __init__(self, of: int) -> None:
        self.of = of


_SUSPICIOUS, _DEEPEST = 1000, 100_000


def _refuse_endless(x: Any, is_inside_itself: bool) -> NoReturn:
    if is_inside_itself:
        raise TreeError(
            f"tree: {describe(x)} contains itself, so there is no end of what is in it",
            fix="a container that does not hold what it is a part of",
        )
    raise TreeError(f"tree: {describe(x)} is more than {_DEEPEST} containers deep", fix="tensors with more axes")


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, in order: those of a dict by its keys, sorted.

    Args:
        tree: A tree of anything.
        is_leaf: What it says of a part decides whether that is a leaf, whatever it is.

    Raises:
        TreeError: A container contains itself.

    Example:
        >>> from branded import tree
        >>> tree.leaves({"b": [1, 2], "a": (3, None)})
        [3, 1, 2]

    Source: `jax.tree.leaves`.
    """
    if type(tree) is Tensor:
        return [tree]
    return [leaf for leaf, n in flat(tree, is_leaf) if n is None]


def rebuild(x: Any, new: Iterator[Any]) -> Any:
    """The like of `x` with its leaves taken from `new`, in the order of `leaves`."""
    if type(x) is Tensor:
        return next(new)
    parts = flat(x)
    values = [next(new) for _, n in parts if n is None]
    made: list[Any] = []
    for _, n in reversed(parts):  # the children before their container, the last one first
        made.append(values.pop() if n is None else n.rebuild([made.pop() for _ in n.children]))
    return made[0]


def form(x: Any) -> Hashable:
    """What a tree is beside its leaves: equal for trees that differ in leaves, and in the order of dicts, alone."""
    return form_of(flat(x))


def form_of(parts: Flat) -> Hashable:
    return tuple(_LEAF if n is None else (type(y), n.keys, beside(y)) for y, n in parts)


def is_registered(x: Any) -> bool:
    return type(x) in _registry


def beside(x: Any) -> Hashable:
    """What `flatten` of a registered class gives beside the children."""
    reg = _registry.get(type(x))
    return None if reg is None else _flattened(x, reg)[1]


_LEAF = "leaf"


def containers(x: Any) -> list[type]:
    """The types of the containers of a tree, in order."""
    return [type(y) for y, n in flat(x) if n is not None]


def orders(x: Any) -> tuple[tuple[str, ...], ...]:
    """The keys of each dict of a tree as they came."""
    return tuple(tuple(map(repr, y)) for y, n in flat(x) if n is not None and isinstance(y, dict))


def positions(given: Any, what: str, option: str = "static_argnums") -> tuple[int, ...]:
    """`given` as positions of arguments: an int, or several."""
    found = [as_int(i) for i in (given if isinstance(given, tuple | list) else (given,))]
    if None in found:
        raise OptionError(
            f"{what}: {option}={shown(given)} are no positions of arguments",
            fix=f"ints, counted from 0: {option}=(1,)",
        )
    return tuple(i for i in found if i is not None)


def static(
    f: Callable[..., Any], nums: Sequence[int], n: int, what: str, option: str = "static_argnums"
) -> tuple[frozenset[int], frozenset[str]]:
    """The positions, of `n`, and the names of the arguments of `f` that an option names."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    total = max(n, len(names))
    if parameters and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        for i in nums:
            if not -total <= i < total:
                raise OptionError(
                    f"{what}: {option}={i} for a function of {total} argument{'' if total == 1 else 's'}",
                    fix="the positions of arguments, counted from 0",
                )
    at = [i + total if i < 0 else i for i in nums]
    return frozenset(i for i in at if i < n), frozenset(names[i] for i in at if 0 <= i < len(names))


def paths(x: Any, at: str) -> list[str]:
    """How each leaf of `x` is reached from it, as Python would write it: `['w'][0].bias`."""
    if type(x) is Tensor:
        return [at]
    parts = flat(x)
    return [place for place, (_, n) in zip(places(parts, at), parts, strict=True) if n is None]


def places(parts: Flat, at: str) -> Iterator[str]:
    """How each part of a tree is reached from it."""
    waiting = [at]
    for y, n in parts:
        yield (place := waiting.pop())
        if n is not None:
            waiting.extend([place + _step(y, key) for key in n.keys[::-1]])


def _step(x: Any, key: Any) -> str:
    by_name = isinstance(key, str) and not isinstance(x, dict)
    return f".{key}" if by_name else f"[{key!r}]"


def check_axis(axis: Any, option: str) -> Axis:
    """`axis` as an int or None; anything else is a mistake."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, bool):
        raise AxisTypeError(
            f"{option}: {axis} is a bool, not an axis", fix="0 for the first axis, or None for a value that all share"
        )
    try:
        return operator.index(axis)
    except TypeError:
        pass
    hint = (
        "call vmap(f)(x), not vmap(f, x)"
        if isinstance(axis, Tensor | np.ndarray)
        else "an int, None, or a tree of them"
    )
    raise AxisTypeError(f"{option}: {describe(axis)} is not an axis", fix=hint)


def normalize_axis(axis: int, x: Any, what: str) -> int:
    """`axis` of `x` counted from the front."""
    at = check_axis(axis, what)
    if at is None:
        raise AxisTypeError(f"{what}: None is not an axis here", fix="an int")
    rank = len(x.shape)
    if not -rank <= at < rank:
        raise AxisRangeError(
            f"{what}: axis {at} is out of range for {type_text(x.uop)}",
            fix=f"an axis from {-rank} to {rank - 1}" if rank else "a tensor with an axis; a 0-d one has none",
        )
    return at % rank


def out_axis(axis: int, rank: int, what: str) -> int:
    if not -rank - 1 <= axis <= rank:
        raise AxisRangeError(
            f"{what}: axis {axis} is out of range for a result with {rank + 1} axes", fix=f"{-rank - 1} to {rank}"
        )
    return axis % (rank + 1)


def check_axes(axes: Any, option: str) -> None:
    """Look for mistakes in a tree of axes before anything is mapped."""
    for axis in leaves(axes):
        check_axis(axis, option)


def spread(axes: Any, x: Any, option: str, at: str) -> list[Axis]:
    """One axis for each leaf of `x`, from a prefix tree of axes: an axis for a container holds for all in it."""
    found: list[Axis] = []
    waiting = [(axes, x, at)]
    while waiting:
        axes, x, at = waiting.pop()
        ax = None if axes is None else node(axes)
        if ax is None:
            found += [check_axis(axes, option)] * (1 if type(x) is Tensor else len(leaves(x)))
            continue
        n = node(x)
        if n is None:
            raise AxesError(
                f"{option}: a {type(axes).__name__} of axes stands where {at} is a single leaf",
                ("axes", shown(axes)),
                ("value", describe(x)),
                fix="one int or None for it",
            )
        if isinstance(axes, dict) == isinstance(x, dict) and set(ax.keys) == set(n.keys):
            by_key = dict(zip(ax.keys, ax.children, strict=True))
        elif isinstance(x, tuple) and isinstance(axes, tuple | list) and len(ax.keys) == len(n.keys):
            by_key = dict(zip(n.keys, ax.children, strict=True))
        else:
            raise AxesError(
                f"{option}: the axes do not fit {at}",
                ("axes", f"{shown(axes)}  ({_count(axes, ax)})"),
                ("value", f"{type(x).__name__} with {_count(x, n)}"),
                fix="an axis for each of them, or one int or None for all",
            )
        children = [(by_key[k], child, at + _step(x, k)) for k, child in zip(n.keys, n.children, strict=True)]
        waiting.extend(children[::-1])
    return found


def _count(x: Any, n: Node) -> str:
    if isinstance(x, dict) or (n.keys and isinstance(n.keys[0], str)):
        return f"keys {', '.join(map(repr, n.keys))}"
    return f"{len(n.keys)} entries" if len(n.keys) != 1 else "1 entry"


def as_int(x: object) -> int | None:
    """`x` if it is an int that Python knows; None for a bool, a float, a tensor."""
    if type(x) is int:
        return x
    if isinstance(x, bool | Tensor | np.ndarray):
        return None
    try:
        return operator.index(cast(Any, x))
    except TypeError:
        return None


_MOST = 2**63 - 1


def as_size(x: object, what: str) -> int:
    """`x` as a number of examples; anything else is a mistake."""
    n = as_int(x)
    if n is None or n < 0:
        raise OptionError(f"{what}: {shown(x)} is not a size", fix="an int of 0 or more")
    if n > _MOST:
        raise OptionError(f"{what}: {shown(n)} is more than a tensor can have", fix="an int below 2**63")
    return n


def as_tensor(x: Any) -> Tensor | None:
    """The tensor that a leaf is, or that a number or an array of numbers could be; None for anything else."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, bool | int | float):
        return Tensor(x)
    if isinstance(x, np.ndarray | np.generic) and _has_dtype(x):
        return Tensor(np.asarray(x, dtype=x.dtype.newbyteorder("=")))
    return None


def _has_dtype(x: np.ndarray | np.generic) -> bool:
    """Are these bools, ints or floats of a size that tinygrad knows?"""
    return x.dtype.kind in "biuf" and x.dtype.itemsize <= 8 and not np.ma.is_masked(x)


_OTHERS = {"jaxlib": "jax"}
_ARRAYS = frozenset({"torch", "jax", "tensorflow", "cupy", "mlx", "pandas", "polars", "xarray"})


def package_of(x: object) -> str:
    """The package that an array of another kind is from, by its name alone; empty for all else."""
    top = (getattr(type(x), "__module__", None) or "").partition(".")[0]
    name = _OTHERS.get(top, top)
    return name if name in _ARRAYS else ""


def advice(x: Any) -> str | None:
    """How to make a tensor of what is none, where there is a way."""
    if isinstance(x, np.ma.MaskedArray) and not _has_dtype(x):
        return "x.filled(0), and the mask as an array of its own"
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f" and not _has_dtype(x):
        return 'x.astype("float64")'
    if package_of(x):
        return "Tensor(numpy.asarray(x))"
    if isinstance(x, list | tuple) and x and all(isinstance(v, Tensor) for v in x):
        return "Tensor.stack(...) of them"
    return None


def outline(x: Any, levels: int = 6) -> str:
    """A tree in a few words, for messages: `(f32[3], dict(f32[]))`."""
    n = node(x)
    if n is None or x is None:
        return "None" if x is None else describe(x)
    parts = [outline(child, levels - 1) for child in n.children[:_FEW]] if levels else ["..."]
    inside = ", ".join([*parts, *(["..."] if levels and len(n.children) > _FEW else [])])
    return f"({inside})" if isinstance(x, tuple) else f"{type(x).__name__}({inside})"


_FEW = 16


def describe(x: Any) -> str:
    """A value in a few words, for messages: `f32[3, 8]`, `the str 'train'`, `a Linear`."""
    if isinstance(x, Tensor):
        return type_text(x.uop)
    if isinstance(x, np.ndarray):
        masked = "masked " if isinstance(x, np.ma.MaskedArray) else ""
        return f"numpy {masked}{x.dtype}[{', '.join(map(str, x.shape))}]"
    if isinstance(x, np.generic):
        return f"the {type(x).__name__} {x}"
    if isinstance(x, int | float | complex | str | bytes | bool):
        return f"the {type(x).__name__} {_short(x)}"
    if x is None:
        return "None"
    if isinstance(x, type):
        return f"the class {x.__name__}"
    name = type(x).__name__
    of = f" of {package}" if (package := package_of(x)) else ""
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}{of}"


def shown(x: Any) -> str:
    """A value as it was written, if that is short; else what it is."""
    if x is None or isinstance(x, int | float | complex | str | bytes):
        text = _short(x)
        return f"an int {text}" if text.startswith("of about") else text
    if isinstance(x, tuple | list | dict | set):
        try:
            text = repr(x)
        except Exception:  # of what is in it
            return describe(x)
        return text if len(text) < 80 and "<" not in text else describe(x)
    return describe(x)


def _short(x: object) -> str:
    if isinstance(x, int) and abs(x) >= 10**40:
        return f"of about {abs(x).bit_length() * 301 // 1000} digits"
    text = repr(x)
    return text if len(text) < 40 else text[:36] + "..."
