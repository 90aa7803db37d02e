"""Abstract values: facts about the values of a program before it runs, such as the shape of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from mypy.nodes import Context, FuncDef, LambdaExpr, SymbolNode, TypeInfo
from mypy.types import AnyType, Type

from branded.mypy.axes.types import known_length
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.rows.static_fields import static_fields


class Fact:
    """A fact about a value.  An instance of this base class states nothing."""

    __slots__ = ()


UNKNOWN = Fact()


@dataclass(frozen=True)
class FollowedBrand:
    """The brand of a vmap, or of the steps of a loop, while the interpreter follows its function."""

    label: str
    at: Context
    """The call of the mapped function or of the loop, for messages."""
    depth: int
    loop: str = ""
    """The name of the loop, if its steps are the brand."""
    name: Fact = field(default=UNKNOWN, compare=False)
    """The `axis_name`, by which collectives refer to the brand."""
    needs_randomness: bool = field(default=False, compare=False)
    """Whether a random sample needs the option `randomness` of vmap, which is not given."""


@dataclass(frozen=True)
class Shaped(Fact):
    """A tensor or an array.

    Attributes:
        axes: The type of each axis; None if the number of axes is unknown.
        brands: The brands that the value certainly has.
    """

    axes: tuple[Type, ...] | None = None
    brands: frozenset[FollowedBrand] = frozenset()


@dataclass(frozen=True)
class Const(Fact):
    """A number, a text, None or `...`."""

    value: object


NONE = Const(None)


@dataclass(frozen=True)
class Size(Fact):
    """An int whose value is unknown, but known to be the length of an axis."""

    axis: Type = ANY_AXIS


@dataclass(frozen=True)
class Number(Fact):
    """A float or an int with an unknown value."""


NUMBER = Number()


@dataclass(frozen=True)
class Tuple(Fact):
    """A tuple of known length."""

    items: tuple[Fact, ...]


@dataclass(frozen=True)
class Stream(Fact):
    """An iterable of unknown length, with a fact that holds for each item."""

    each: Fact


changed = [0]
"""The number of changes so far to global variables, lists, dicts and objects."""


_numbers = count()


@dataclass(eq=False)
class Mutable(Fact):
    """A list, a dict or an object, with its items by index, key or attribute, or None if they are unknown."""

    kind: str
    items: dict[object, Fact] | None
    info: TypeInfo | None = None
    linked: list[Mutable] = field(default_factory=list)
    """Copies of this value in other branches or in other steps of a loop: the same object in the program."""
    number: int = field(default_factory=lambda: next(_numbers))
    """The position in the order of creation: later values have greater numbers."""
    is_declared: bool = False
    """Whether only the declarations of its class are known.  A mapped object may then have values of all examples."""
    is_typed: bool = False
    """Whether this is a dict that is declared as a TypedDict, whose keys mypy checks."""

    def with_items(self, items: dict[object, Fact]) -> Mutable:
        """Return a value of the same kind and class with these items."""
        return Mutable(self.kind, items, self.info, is_declared=self.is_declared, is_typed=self.is_typed)

    def changes(self) -> None:
        """Prepare for a change of this value: forget the items of its copies in other branches."""
        changed[0] += 1
        linked, self.linked = self.linked, []
        for other in linked:
            other.forget()

    def forget(self) -> None:
        """Forget the items, for example because unknown code may have changed them."""
        self.changes()
        if self.info is None or not is_frozen(self.info):
            items, self.items = self.items or {}, None
            for item in items.values():
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
    """The variables of one call of a function, by their nodes in mypy's tree, and those of the enclosing functions."""

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
    """A function with a body to follow, and the variables that it closes over."""

    node: FuncDef | LambdaExpr
    frame: Variables
    bound: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Class(Fact):
    """A class of the program."""

    info: TypeInfo


@dataclass(frozen=True)
class LibraryName(Fact):
    """A module, function or method of a library, by its full name; `owner` is the value whose method it is."""

    name: str
    owner: Fact | None = None


@dataclass(frozen=True, eq=False)
class Wrapped(Fact):
    """A function that a transform or `partial` returned; `call` computes its result."""

    call: Callable[[Arguments], Fact]
    inner: Fact | None = None
    """The function that was transformed."""


@dataclass
class Arguments:
    """The arguments of a call, as facts."""

    positional: list[Fact] = field(default_factory=list)
    keywords: dict[str, Fact] = field(default_factory=dict)
    exact: bool = True
    """Whether the number of arguments is known; it is not if there are star arguments of unknown length."""
    given: list[Fact] = field(default_factory=list)
    """The arguments as the call has them: a star-argument is one."""

    def get(self, position: int | None, name: str) -> Fact | None:
        """Return an argument by position or name, or None if it is not given."""
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)

    def all(self) -> Iterator[Fact]:
        yield from self.positional
        yield from self.keywords.values()


def is_tree(value: Mutable) -> bool:
    """Return whether a value is a pytree, whose items transforms map."""
    info = value.info
    is_record = info is not None and (info.is_named_tuple or "dataclass" in info.metadata)
    return value.kind in ("list", "dict") or is_record


def change_leaves(value: Mutable, items: dict[object, Fact], change: Callable[[object, Fact], Fact]) -> Mutable:
    """Return an object, a list or a dict with changed items; static fields of a dataclass keep their values."""
    static = static_fields(value.info) if value.info is not None else ()
    return value.with_items({k: v if k in static else change(k, v) for k, v in items.items()})


def brands_of(value: Fact | None) -> frozenset[FollowedBrand]:
    """Return the brands that a tensor, or a tensor in a pytree, certainly has."""
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
    """Add brands to a tensor, or to the tensors in a tuple."""
    if not brands:
        return value
    if isinstance(value, Shaped):
        return Shaped(value.axes, value.brands | brands)
    return Tuple(tuple(add_brands(item, brands) for item in value.items)) if isinstance(value, Tuple) else value


def is_immutable(value: Fact) -> bool:
    """Return whether a value cannot change after it is created."""
    if isinstance(value, Tuple):
        return all(map(is_immutable, value.items))
    is_literal = isinstance(value, Const) and not isinstance(value.value, bool)
    return is_literal or isinstance(value, Shaped | Size | Number) or value is UNKNOWN


def is_lasting(value: Fact) -> bool:
    """Return whether no later code can change a value."""
    if isinstance(value, Tuple):
        return all(map(is_lasting, value.items))
    if isinstance(value, Mutable):
        return value.info is not None and is_frozen(value.info) and all(map(is_lasting, (value.items or {}).values()))
    return isinstance(value, Const | Function | Wrapped | Class | LibraryName) or is_immutable(value)


def as_number(value: Fact | None) -> int | None:
    """Return the value of a known int, else None."""
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
    """Return whether the same facts are known about two values."""
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        return type(a.value) is type(b.value) and a.value == b.value
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.items) == len(b.items) and all(map(is_same, a.items, b.items))
    if isinstance(a, Mutable) and isinstance(b, Mutable):  # `_joined` makes copies
        is_copy = a in b.linked and a.items is not None and b.items is not None and a.items.keys() == b.items.keys()
        return is_copy and all(is_same(v, (b.items or {})[k]) for k, v in (a.items or {}).items())
    return a == b


def join(a: Fact, b: Fact) -> Fact:
    """Return a fact that is true of a value that is either `a` or `b`."""
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
        joined = Mutable(a.kind, dict(a.items), a.info, [a, b])
    else:
        joined = Mutable(a.kind, {k: join(a.items[k], b.items[k]) for k in a.items}, a.info, [a, b])
    joined.is_declared = a.is_declared or b.is_declared
    joined.is_typed = a.is_typed or b.is_typed
    for other in (a, b):
        other.linked.append(joined)
    return joined


def is_int(value: Fact) -> bool:
    return isinstance(value, Size) or as_number(value) is not None


def is_number(value: Fact) -> bool:
    is_literal = isinstance(value, Const) and isinstance(value.value, int | float)
    return is_literal or isinstance(value, Size | Number)


def is_any_axis(axis: Type) -> bool:
    return isinstance(axis, AnyType)


def data_axes(value: Fact, axis: Callable[[int], Type]) -> list[Type] | None:
    """Return the axes of the tensor that nested lists of numbers would give; None if they are unknown."""
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
