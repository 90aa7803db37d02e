"""Abstract values: facts about the values of a program before it runs, such as the shape of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from operator import attrgetter
from typing import ClassVar

from mypy.nodes import Context, FuncDef, LambdaExpr, SymbolNode, TypeInfo
from mypy.types import AnyType, Type

from branded.mypy.axes.types import known_length
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.rows.static_fields import static_fields


class EqualByParts:
    """Values of which two of a class are equal if their `parts` are, which the class statement names.

    The classes of this module are plain ones: each run of mypy that follows a file creates them, and a dataclass
    takes 70 times as long to create.
    """

    __slots__ = ()

    def __init_subclass__(cls, parts: str) -> None:
        cls._parts = attrgetter(*parts.split())

    _parts: ClassVar[attrgetter[object]]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, EqualByParts) and type(self) is type(other) and self._parts(self) == other._parts(other)
        )

    def __hash__(self) -> int:
        return hash(self._parts(self))


class Fact:
    """A fact about a value.  An instance of this base class states nothing."""

    __slots__ = ()


UNKNOWN = Fact()


class FollowedBrand(EqualByParts, parts="label at depth loop"):
    """The brand of a vmap, or of the steps of a loop, while the interpreter follows its function.

    Attributes:
        at: The call of the mapped function or of the loop, for messages.
        loop: The name of the loop, if its steps are the brand.
        name: The `axis_name`, by which collectives refer to the brand.
        needs_randomness: Whether a random sample needs the option `randomness` of vmap, which is not given.
    """

    def __init__(self, label: str, at: Context, depth: int, loop: str = "", name: Fact = UNKNOWN) -> None:
        self.label, self.at, self.depth, self.loop, self.name = label, at, depth, loop, name
        self.needs_randomness = False


class Shaped(Fact, EqualByParts, parts="axes brands dtype"):
    """A tensor or an array.

    Attributes:
        axes: The type of each axis; None if the number of axes is unknown.
        brands: The brands that the value certainly has.
        dtype: The kind of its dtype: "bool", "weakint", "int" or "float", or "" if it is unknown.
    """

    def __init__(
        self, axes: tuple[Type, ...] | None = None, brands: frozenset[FollowedBrand] = frozenset(), dtype: str = ""
    ) -> None:
        self.axes, self.brands, self.dtype = axes, brands, dtype

    def with_axes(self, axes: tuple[Type, ...] | None) -> Shaped:
        return Shaped(axes, self.brands, self.dtype)

    def with_brands(self, brands: frozenset[FollowedBrand]) -> Shaped:
        return Shaped(self.axes, brands, self.dtype)


class Const(Fact, EqualByParts, parts="value"):
    """A number, a text, None or `...`."""

    def __init__(self, value: object) -> None:
        self.value = value


NONE = Const(None)


class Size(Fact, EqualByParts, parts="axis"):
    """An int whose value is unknown, but known to be the length of an axis."""

    def __init__(self, axis: Type = ANY_AXIS) -> None:
        self.axis = axis


class Number(Fact):
    """A float or an int with an unknown value."""


NUMBER = Number()


class Tuple(Fact, EqualByParts, parts="items"):
    """A tuple of known length."""

    def __init__(self, items: tuple[Fact, ...]) -> None:
        self.items = items


class Stream(Fact, EqualByParts, parts="each"):
    """An iterable of unknown length, with a fact that holds for each item."""

    def __init__(self, each: Fact) -> None:
        self.each = each


changed = [0]
"""The number of changes so far to global variables, lists, dicts and objects."""


_numbers = count()


class Mutable(Fact):
    """A list, a dict or an object, with its items by index, key or attribute, or None if they are unknown."""

    def __init__(
        self,
        kind: str,
        items: dict[object, Fact] | None,
        info: TypeInfo | None = None,
        linked: Iterable[Mutable] = (),
        is_declared: bool = False,
        is_typed: bool = False,
    ) -> None:
        self.kind, self.items, self.info = kind, items, info
        self.linked = list(linked)
        """Copies of this value in other branches or in other steps of a loop: the same object in the program."""
        self.number = next(_numbers)
        """The position in the order of creation: later values have greater numbers."""
        self.is_declared = is_declared
        """Whether only the declarations of its class are known. If it is mapped, it may have values of all examples."""
        self.is_typed = is_typed
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


class Function(Fact):
    """A function with a body to follow, and the variables that it closes over."""

    def __init__(self, node: FuncDef | LambdaExpr, frame: Variables, bound: tuple[Fact, ...] = ()) -> None:
        self.node, self.frame, self.bound = node, frame, bound


class Class(Fact, EqualByParts, parts="info"):
    """A class of the program."""

    def __init__(self, info: TypeInfo) -> None:
        self.info = info


class LibraryName(Fact, EqualByParts, parts="name owner"):
    """A module, function or method of a library, by its full name; `owner` is the value whose method it is."""

    def __init__(self, name: str, owner: Fact | None = None) -> None:
        self.name, self.owner = name, owner


class Wrapped(Fact):
    """The function that a transform of `inner` or `partial` returned; `call` computes its result.

    A partial passes the first `bound` arguments.
    """

    def __init__(self, call: Callable[[Arguments], Fact], inner: Fact | None = None, bound: int = 0) -> None:
        self.call, self.inner, self.bound = call, inner, bound


class Arguments:
    """The arguments of a call, as facts.

    Attributes:
        exact: Whether the number of arguments is known; it is not if there are star arguments of unknown length.
        given: The arguments as the call has them: a star-argument is one.
    """

    def __init__(
        self,
        positional: list[Fact] | None = None,
        keywords: dict[str, Fact] | None = None,
        exact: bool = True,
        given: list[Fact] | None = None,
    ) -> None:
        self.positional = [] if positional is None else positional
        self.keywords = {} if keywords is None else keywords
        self.exact = exact
        self.given = [] if given is None else given

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


def children_of(value: Fact) -> dict[object, Fact] | None:
    """Return the children of a pytree by index, key or field; None for a leaf, and if they are unknown."""
    if isinstance(value, Tuple):
        return dict(enumerate(value.items))
    if not isinstance(value, Mutable) or not is_tree(value) or value.items is None:
        return None
    static = static_fields(value.info) if value.info is not None else ()
    return {k: v for k, v in value.items.items() if k not in static}


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
        return value.with_brands(value.brands | brands)
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
        both = Shaped(None, a.brands & b.brands, a.dtype if a.dtype == b.dtype else "")
        if a.axes is None or b.axes is None or len(a.axes) != len(b.axes):
            return both
        return both.with_axes(tuple(x if x == y else ANY_AXIS for x, y in zip(a.axes, b.axes, strict=True)))
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
