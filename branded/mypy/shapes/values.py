"""Abstract values: what is known of a value before the program runs, such as its shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from mypy.nodes import Context, FuncDef, LambdaExpr, SymbolNode, TypeInfo
from mypy.types import AnyType, Type

from branded.mypy.axes.types import known_length
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS


class Fact:
    """A fact about a value; this base class says nothing."""

    __slots__ = ()


UNKNOWN = Fact()


@dataclass(frozen=True)
class FollowedBrand:
    """The brand of a vmap, or of the steps of a loop, while its function is followed."""

    label: str
    at: Context
    """The call of the mapped function, or of the loop."""
    depth: int
    loop: str = ""
    """The name of the loop, if its steps are the brand."""
    name: Fact = field(default=UNKNOWN, compare=False)
    """Its `axis_name`, which collectives use."""


@dataclass(frozen=True)
class Shaped(Fact):
    """A tensor or an array: an axis for each dimension, None if their number is unknown; and its certain brands."""

    axes: tuple[Type, ...] | None = None
    brands: frozenset[FollowedBrand] = frozenset()


@dataclass(frozen=True)
class Const(Fact):
    """A number, a text, None or `...`."""

    value: object


NONE = Const(None)


@dataclass(frozen=True)
class Size(Fact):
    """An int with an unknown value: the length of this axis."""

    axis: Type = ANY_AXIS


@dataclass(frozen=True)
class Number(Fact):
    """A float or an int with an unknown value."""


NUMBER = Number()


@dataclass(frozen=True)
class Tuple(Fact):
    items: tuple[Fact, ...]


@dataclass(frozen=True)
class Stream(Fact):
    """An iterable of unknown length, and the fact that holds for each item."""

    each: Fact


changed = [0]
"""The number of changes so far to global variables, lists, dicts and objects."""


_numbers = count()


@dataclass(eq=False)
class Mutable(Fact):
    """A list, a dict or an object: its items by index, key or attribute; None if they are unknown."""

    kind: str
    items: dict[object, Fact] | None
    info: TypeInfo | None = None
    linked: list[Mutable] = field(default_factory=list)
    """Values that may be this one, in another branch or step of a loop."""
    number: int = field(default_factory=lambda: next(_numbers))
    """A value that was made later has a greater number."""
    is_declared: bool = False
    """Whether only the declarations of its class are known: if it is mapped, it may be an object for all examples."""

    def with_items(self, items: dict[object, Fact]) -> Mutable:
        """Return a value of the same kind and class with other items."""
        return Mutable(self.kind, items, self.info, is_declared=self.is_declared)

    def changes(self) -> None:
        """Forget the values that may be this one, before this one changes."""
        changed[0] += 1
        linked, self.linked = self.linked, []
        for other in linked:
            other.forget()

    def forget(self) -> None:
        """Forget the items, because unknown code may have changed them."""
        self.changes()
        if self.info is None or not is_frozen(self.info):
            held, self.items = self.items or {}, None
            for item in held.values():
                forget(item)


def is_frozen(info: TypeInfo) -> bool:
    return info.is_named_tuple or bool(info.metadata.get("dataclass", {}).get("frozen"))


def forget(value: Fact) -> None:
    """Forget the parts of a value that unknown code may change."""
    if isinstance(value, Mutable):
        value.forget()
    elif isinstance(value, Tuple):
        for item in value.items:
            forget(item)
    elif isinstance(value, Stream):
        forget(value.each)


class Variables:
    """The variables of a function, by their nodes."""

    def __init__(self, outer: Variables | None = None) -> None:
        self.names: dict[SymbolNode, Fact] = {}
        self.outer = outer

    def lookup(self, node: SymbolNode) -> Fact | None:
        frame: Variables | None = self
        while frame is not None:
            if node in frame.names:
                return frame.names[node]
            frame = frame.outer
        return None


@dataclass(frozen=True, eq=False)
class Function(Fact):
    """A function of this file, and the variables that it closes over."""

    node: FuncDef | LambdaExpr
    frame: Variables
    bound: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Class(Fact):
    info: TypeInfo


@dataclass(frozen=True)
class LibraryName(Fact):
    """A module, function or method of a library, by its full name, and the value whose method it is."""

    name: str
    owner: Fact | None = None


@dataclass(frozen=True, eq=False)
class Wrapped(Fact):
    """The result of a transform or of `partial`: a function that is called with the transform's rule."""

    call: Callable[[Arguments], Fact]
    inner: Fact | None = None
    """The function that is called."""


@dataclass
class Arguments:
    """The arguments of a call."""

    positional: list[Fact] = field(default_factory=list)
    keywords: dict[str, Fact] = field(default_factory=dict)
    exact: bool = True
    """False if there are star arguments of unknown length."""

    def get(self, position: int | None, name: str) -> Fact | None:
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)

    def all(self) -> Iterator[Fact]:
        yield from self.positional
        yield from self.keywords.values()


def is_tree(value: Mutable) -> bool:
    """Return whether transforms map the items of a value."""
    info = value.info
    is_record = info is not None and (info.is_named_tuple or "dataclass" in info.metadata)
    return value.kind in ("list", "dict") or is_record


def brands_of(value: Fact | None) -> frozenset[FollowedBrand]:
    """Return the brands that a tensor, or the tensors of a tuple, a list or a dict, are certain to have."""
    if isinstance(value, Shaped):
        return value.brands
    if isinstance(value, Stream):
        return brands_of(value.each)
    items: Iterable[Fact] = ()
    if isinstance(value, Tuple):
        items = value.items
    elif isinstance(value, Mutable) and is_tree(value):
        items = (value.items or {}).values()
    return frozenset[FollowedBrand]().union(*map(brands_of, items))


def add_brands(value: Fact, brands: frozenset[FollowedBrand]) -> Fact:
    """Return a result of an operation with the brands of its operands."""
    if not brands:
        return value
    if isinstance(value, Shaped):
        return Shaped(value.axes, value.brands | brands)
    return Tuple(tuple(add_brands(item, brands) for item in value.items)) if isinstance(value, Tuple) else value


def is_immutable(value: Fact) -> bool:
    """Return whether a value is the same whenever it is used."""
    if isinstance(value, Tuple):
        return all(map(is_immutable, value.items))
    is_literal = isinstance(value, Const) and not isinstance(value.value, bool)
    return is_literal or isinstance(value, Shaped | Size | Number) or value is UNKNOWN


def as_number(value: Fact | None) -> int | None:
    """Return the int that a value is certain to be."""
    v = value.value if isinstance(value, Const) else None
    return v if isinstance(v, int) and not isinstance(v, bool) else None


def items_of(value: Fact | None) -> list[Fact] | None:
    """Return the items of a tuple or a list; None if they are unknown."""
    if isinstance(value, Tuple):
        return list(value.items)
    if isinstance(value, Mutable) and value.kind == "list" and value.items is not None:
        return list(value.items.values())
    if isinstance(value, Mutable) and value.items is not None and value.info and value.info.is_named_tuple:
        return list(value.items.values())
    return None


def list_of(items: Sequence[Fact]) -> Mutable:
    return Mutable("list", dict(enumerate(items)))


def size_of(axis: Type) -> Fact:
    """Return the length of an axis as a value."""
    n = known_length(axis)
    return Const(n) if n is not None else Size(axis)


def is_same(a: Fact, b: Fact) -> bool:
    """Return whether two values are certain to be equal, as far as this analysis can tell them apart."""
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        return type(a.value) is type(b.value) and a.value == b.value
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.items) == len(b.items) and all(map(is_same, a.items, b.items))
    if isinstance(a, Mutable) and isinstance(b, Mutable):  # a copy by `_joined`
        is_copy = a in b.linked and a.items is not None and b.items is not None and a.items.keys() == b.items.keys()
        return is_copy and all(is_same(v, (b.items or {})[k]) for k, v in (a.items or {}).items())
    return a == b


def join(a: Fact, b: Fact) -> Fact:
    """Return the fact that holds for a value that is either `a` or `b`."""
    if is_same(a, b):
        return a
    if isinstance(a, Shaped) and isinstance(b, Shaped):
        brands = a.brands & b.brands
        if a.axes is None or b.axes is None or len(a.axes) != len(b.axes):
            return Shaped(None, brands)
        return Shaped(tuple(x if x == y else ANY_AXIS for x, y in zip(a.axes, b.axes, strict=True)), brands)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        return Tuple(tuple(map(join, a.items, b.items)))
    if isinstance(a, Stream) and isinstance(b, Stream):
        return Stream(join(a.each, b.each))
    if is_int(a) and is_int(b):
        return Size()
    if is_number(a) and is_number(b):
        return NUMBER
    if isinstance(a, Mutable) and isinstance(b, Mutable):
        return _join_mutables(a, b)
    return UNKNOWN


def _join_mutables(a: Mutable, b: Mutable) -> Fact:
    if (a.kind, a.info) != (b.kind, b.info) or a.items is None or b.items is None or a.items.keys() != b.items.keys():
        return UNKNOWN
    if all(is_same(a.items[k], b.items[k]) for k in a.items):
        made = Mutable(a.kind, dict(a.items), a.info, [a, b])
    else:
        made = Mutable(a.kind, {k: join(a.items[k], b.items[k]) for k in a.items}, a.info, [a, b])
    made.is_declared = a.is_declared or b.is_declared
    for other in (a, b):
        other.linked.append(made)
    return made


def is_int(value: Fact) -> bool:
    return isinstance(value, Size) or as_number(value) is not None


def is_number(value: Fact) -> bool:
    is_literal = isinstance(value, Const) and isinstance(value.value, int | float)
    return is_literal or isinstance(value, Size | Number)


def is_any_axis(axis: Type) -> bool:
    return isinstance(axis, AnyType)


def data_axes(value: Fact, axis: Callable[[int], Type]) -> list[Type] | None:
    """Return the axes of the tensor of nested lists of numbers; None if they are unknown."""
    if isinstance(value, Shaped):
        return list(value.axes) if value.axes is not None else None
    if is_number(value):
        return []
    items = items_of(value)
    if items is None:
        return None
    inner = [data_axes(i, axis) for i in items]
    if not inner or any(i is None or i != inner[0] for i in inner):
        return None
    return [axis(len(items)), *(inner[0] or [])]
