"""Brands, rows, and the values that vary over them.

A brand is one fresh tinygrad `RANGE`.  A tensor enters it as `INDEX(X, RANGE)`, of per-example shape, and leaves it
as `STAGE(y, RANGE)`, tinygrad's own opposite of INDEX.  The row of a value is the set of ranges that are open in its
graph.  Nothing else is kept about a batch.
"""

from __future__ import annotations

import contextvars
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.tensor import _METADATA, all_tensors
from tinygrad.uop.ops import AxisType, Ops, UOp, srender
from typing_extensions import TypeVar as TypeVarX

from branded.errors import AxisRangeError, AxisTypeError, EscapeError, NameTakenError, OptionError, SizeError

Randomness = Literal["error", "same", "different"]
Row = tuple["Brand", ...]
"""The open brands of a value, outermost (first opened) first."""

B = TypeVar("B", bound="Brand")
S_co = TypeVarX("S_co", bound="Brand", covariant=True)
T = TypeVarX("T", default=Tensor)


class _VecType(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)


class Vec(Generic[S_co, T], metaclass=_VecType):
    """`Vec[S, T]` is a `T` for every example of the brands in the row `S`.

    It is a type, not a container: what a mapped function receives is an ordinary tensor of per-example shape.  Every
    tensor is a `Vec`; a plain one has the empty row.

    Example:
        >>> from branded import Vec, vmap
        >>> from tinygrad import Tensor
        >>> isinstance(Tensor([1.0]), Vec)
        True
        >>> vmap(lambda row: print(row) or row.sum())(Tensor.ones(3, 2)).tolist()
        Vec[row:3, f32[2]]
        [2.0, 2.0, 2.0]

    Source: E. Z. Yang, "vmap in Haskell" (2020), where `Vec s a` is an array indexed by the skolem `s`.
    """

    def __new__(cls, *_: object) -> Vec[S_co, T]:
        raise TypeError("Vec is a type for annotations; vmap, or Brand.vec, makes the values that have it")


@dataclass(frozen=True)
class _Left:
    """The argument of the STAGE by which a value left a brand: tinygrad reads its device there."""

    device: str | tuple[str, ...] | None


_open: contextvars.ContextVar[Row] = contextvars.ContextVar("branded_open", default=())
_numbers = itertools.count(1)


class Brand:
    """The identity of one batch dimension.

    Opened by `vmap` or by `with brand(...)`.  A subclass is a name that type checkers know:
    `class Users(Brand): ...`, then `vmap(f, axis_name=Users)` or `with brand(Users, 3) as users`.

    Attributes:
        size: The number of examples.
        name: What messages call it: the name that was given, else that of the parameter that introduced it.
    """

    _named: ClassVar[bool] = False

    def __init__(
        self,
        size: int,
        name: str | None = None,
        *,
        hint: Callable[[], str] | None = None,
        where: str = "",
        randomness: Randomness = "error",
    ) -> None:
        self.size, self.where, self.randomness = size, where, randomness
        self.number = next(_numbers)
        self.outer: Row = _open.get()
        self.is_open = True
        self._explicit, self._name, self._hint = name is not None, name, hint
        self.draws: Any = None
        # buffers and tensors made from here on belong to the scope of this brand
        self.first_slot = next(UOp.unique_num)
        self._mark: Tensor | None = Tensor.__new__(Tensor)
        self._mark.uop = _NOTHING
        all_tensors[weakref.ref(self._mark)] = None

    # ---- names ----

    @property
    def name(self) -> str:
        if self._name is None:
            taken = {b.name for b in self.outer}
            stem = self._hint() if self._hint else "brand"
            self._name = next(n for n in _numbered(stem) if n not in taken)
        return self._name

    def _avoid(self, name: str) -> None:
        """Give way to a brand that the user named: two open brands never print the same name."""
        if not self._explicit and self.name == name:
            self._name = next(n for n in _numbered(name) if n not in {name, *(b.name for b in self.outer)})

    def __repr__(self) -> str:
        return f"{self.name}:{self.size}"

    # ---- entering and leaving ----

    @property
    def range(self) -> UOp:
        """The tinygrad RANGE that is this brand; tinygrad keeps one UOp for equal ones."""
        r = UOp(Ops.RANGE, dtypes.weakint, (UOp.const(self.size),), (self.number, AxisType.PLACEHOLDER))
        r.__dict__["_brand"] = self
        return r

    def enter(self, x: UOp, axis: int) -> UOp:
        """`x` per example: its axis `axis` becomes this brand."""
        if axis:
            x = UOp(Ops.PERMUTE, x.dtype, (x,), (axis, *(i for i in range(len(x.shape)) if i != axis)))
        out = UOp(Ops.INDEX, x.dtype, (x, self.range))
        if isinstance(x.device, tuple):
            out.__dict__["axis"] = _shifted(x.axis, -1)
        return out

    def vec(self, x: Tensor, axis: int = 0) -> Tensor:
        """Enter the brand: `x` with the axis `axis` taken for the examples.

        Args:
            x: A tensor whose axis `axis` has as many entries as the brand has examples.
            axis: The axis that becomes the brand; negative ones count from the end.

        Returns:
            `Vec[S | self, T]`: the tensor of per-example shape.

        Raises:
            EscapeError: The brand is closed.
            AxisRangeError: `axis` is out of range.
            SizeError: The axis has another size.

        Example:
            >>> from branded import brand
            >>> from tinygrad import Tensor
            >>> with brand("users", 3) as users, brand("items", 2) as items:
            ...     u, i = users.vec(Tensor([1, 2, 3])), items.vec(Tensor([10, 20]))
            ...     table = users.unvec(items.unvec(u + i, axis=0), axis=0)
            >>> table.tolist()
            [[11, 21], [12, 22], [13, 23]]
        """
        self._check_open("vec")
        if not isinstance(x, Tensor):
            raise AxisTypeError(f"vec: brand `{self.name}` takes a tensor, not {type(x).__name__}")
        at = normalize_axis(axis, x, f"vec: brand `{self.name}`")
        if x.shape[at] != self.size:
            raise SizeError(
                f"zip: brand `{self.name}` has {_examples(self.size)}, but this tensor has {x.shape[at]}",
                ("left", f"{self!r}"),
                ("right", f"{vec_type(x)}, axis {at}"),
                fix="another axis=, or another brand for it",
            )
        return Tensor(self.enter(x.uop, at))

    def unvec(self, x: Tensor, axis: int = 0) -> Tensor:
        """Leave the brand: the values of all examples, stacked along `axis`.

        Args:
            x: A value; one that does not vary over the brand is repeated.
            axis: Where the examples go in the result.

        Returns:
            `Vec[S - self, T]`, with one more axis than `x`.

        Raises:
            EscapeError: This brand, or one that `x` varies over, is closed.
            AxisRangeError: `axis` is out of range for the result.
        """
        self._check_open("unvec")
        from branded.dispatch import leave

        x = x if isinstance(x, Tensor) else Tensor(x)
        check_live(x.uop, "unvec")
        at = _out_axis(axis, len(x.shape), f"unvec: brand `{self.name}`")
        return Tensor(leave([x.uop], self, [at], self.size)[0])

    def _check_open(self, what: str) -> None:
        if not self.is_open:
            raise EscapeError(f"{what}: brand `{self.name}` is closed", fix="use it inside its `with` block")

    def close(self) -> None:
        self.is_open, self._mark = False, None

    def made(self, x: Tensor) -> bool:
        """Was `x` made inside this brand's scope?"""
        for ref in reversed(all_tensors):
            if (t := ref()) is x:
                return True
            if t is self._mark:
                return False
        return False


_NOTHING = UOp.const(0)


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    for i in itertools.count(2):
        yield f"{stem}{i}"


def _shifted(axis: int | None, by: int) -> int | None:
    """The shard axis of a value that gained or lost its leading axis."""
    return None if axis is None or axis + by < 0 else axis + by


def _examples(n: int) -> str:
    return f"{n} example" if n == 1 else f"{n} examples"


def normalize_axis(axis: int, x: Any, what: str) -> int:
    """`axis` of `x` counted from the front."""
    from branded.tree import check_axis

    at = check_axis(axis, what)
    if at is None:
        raise AxisTypeError(f"{what}: None is not an axis here", fix="an int")
    rank = len(x.shape)
    if not -rank <= at < rank:
        raise AxisRangeError(
            f"{what}: axis {at} is out of range for {vec_type(x)}",
            fix=f"an axis from {-rank} to {rank - 1}" if rank else "a tensor with an axis; a 0-d one has none",
        )
    return at % rank


def _out_axis(axis: int, rank: int, what: str) -> int:
    if not -rank - 1 <= axis <= rank:
        raise AxisRangeError(
            f"{what}: axis {axis} is out of range for a result with {rank + 1} axes", fix=f"{-rank - 1} to {rank}"
        )
    return axis % (rank + 1)


# ---- rows ----

_PLAIN: tuple[Row, bool] = ((), False)
_KEY = "_branded"


def union(a: Row, b: Row) -> Row:
    if a is b or not b:
        return a
    if not a:
        return b
    return a if (both := {*a, *b}) == set(a) else tuple(sorted(both, key=lambda brand: brand.number))


def _annotate(u: UOp) -> tuple[Row, bool]:
    """(the brands open in `u`, whether one was left below it), kept on the UOp as tinygrad keeps its own."""
    seen = u.__dict__.get(_KEY)
    if seen is not None:
        return cast("tuple[Row, bool]", seen)
    for v in u.toposort(gate=lambda v: _KEY not in v.__dict__):
        info = _PLAIN
        for s in v.src:
            if (below := s.__dict__[_KEY]) is not _PLAIN and below is not info:
                info = below if info is _PLAIN else (union(info[0], below[0]), info[1] or below[1])
        if v.op is Ops.RANGE and (b := v.__dict__.get("_brand")) is not None:
            info = ((b,), False)
        elif v.op is Ops.STAGE and type(v.arg) is _Left:
            left = v.src[1].__dict__["_brand"]
            # what the value itself had, without the brand that it left
            info = (tuple(b for b in v.src[0].__dict__[_KEY][0] if b is not left), True)
        v.__dict__[_KEY] = info
    return cast("tuple[Row, bool]", u.__dict__[_KEY])


def row_of(u: UOp) -> Row:
    """The brands that are open in a graph."""
    return _annotate(u)[0]


def is_touched(u: UOp) -> bool:
    """Does a brand occur anywhere in the graph, open or left?"""
    return _annotate(u) is not _PLAIN


def has_left(u: UOp) -> bool:
    """Was a brand left somewhere in the graph, and not yet closed?"""
    return _annotate(u)[1]


def stage(y: UOp, brand: Brand) -> UOp:
    """`y` with the examples of `brand` as its leading axis, not yet worked out: an outer brand is still open in it."""
    out = UOp(Ops.STAGE, y.dtype, (y, brand.range), _Left(y.device))
    if isinstance(y.device, tuple):
        out.__dict__["axis"] = _shifted(y.axis, 1)
    return out


def check_live(u: UOp, what: str) -> None:
    """Refuse a value of a closed brand."""
    if dead := [b for b in row_of(u) if not b.is_open]:
        names = ", ".join(f"`{b.name}`" for b in dead)
        raise EscapeError(
            f"{what}: this value belongs to {names}, which {'is' if len(dead) == 1 else 'are'} closed",
            ("value", type_text(u)),
            *((f"{b.name}", f"opened by {b.where}") for b in dead if b.where),
            fix="return the value from the mapped function, and use what vmap gives back",
        )


def brands(x: Any) -> Row:
    """The row of a value: the brands that it varies over, outermost first.

    Args:
        x: A tensor; anything else has the empty row.

    Returns:
        A tuple of `Brand`, each with its `name` and `size`.

    Example:
        >>> from branded import brands, vmap
        >>> from tinygrad import Tensor
        >>> _ = vmap(lambda a: vmap(lambda b: print(brands(a + b)) or a + b)(Tensor([1, 2, 3])))(Tensor([4, 5]))
        (a:2, b:3)

    Source: the "varying manual axes" of `jax.shard_map`, which say the same of a value while it is traced.
    """
    return row_of(x.uop) if isinstance(x, Tensor) else ()


def vec_type(x: Any) -> str:
    """The type of a value as text: `Vec[users:3, f32[8]]`, or `f32[8]` for a plain tensor.

    Args:
        x: A tensor, or an array or number that could be one.

    Returns:
        The brands with their sizes, the dtype and the per-example shape.

    Example:
        >>> from branded import vec_type, vmap
        >>> from tinygrad import Tensor
        >>> vec_type(Tensor.ones(4, 2))
        'f32[4, 2]'
        >>> _ = vmap(lambda users: print(vec_type(users)) or users)(Tensor.ones(4, 2))
        Vec[users:4, f32[2]]

    Source: jaxprs, which print the type of each value as `f32[4,2]`.
    """
    if not isinstance(x, Tensor):
        from branded.tree import describe

        return describe(x)
    return type_text(x.uop)


def type_text(u: UOp, row: Row | None = None) -> str:
    per_example = f"{dtype_text(u.dtype)}[{', '.join(map(srender, u.shape))}]"
    row = row_of(u) if row is None else row
    return f"Vec[{' | '.join(map(repr, row))}, {per_example}]" if row else per_example


_SHORT = {
    "float": "f32", "double": "f64", "half": "f16", "__bf16": "bf16", "bool": "bool",
    "weakint": "int", "weakfloat": "float",
    "signed char": "i8", "short": "i16", "int": "i32", "long": "i64",
    "unsigned char": "u8", "unsigned short": "u16", "unsigned int": "u32", "unsigned long": "u64",
}  # fmt: skip


def dtype_text(dtype: DType) -> str:
    return _SHORT.get(dtype.name, str(dtype).removeprefix("dtypes."))


def unvec(x: Tensor) -> Tensor:
    """The plain tensor that a value with the empty row is; the identity at run time.

    Args:
        x: `Vec[Never, T]`.

    Returns:
        `T`: the same tensor.

    Raises:
        EscapeError: The row of `x` is not empty.

    Example:
        >>> from branded import unvec
        >>> from tinygrad import Tensor
        >>> unvec(Tensor([1, 2])).tolist()
        [1, 2]

    Source: E. Z. Yang, "vmap in Haskell" (2020): `unvec :: Vec s a -> [a]`.
    """
    if row := brands(x):
        raise EscapeError(
            f"unvec: this value still varies over {', '.join(f'`{b.name}`' for b in row)}",
            ("value", vec_type(x)),
            fix="leave the brand first: return it from the mapped function, or brand.unvec(x)",
        )
    return x


# ---- scopes ----


def open_brands() -> Row:
    return _open.get()


@contextmanager
def opened(brand: B) -> Iterator[B]:
    """The scope of a brand that was just made."""
    token, method = _open.set((*_open.get(), brand)), _METADATA.get()
    try:
        yield brand
    finally:
        _open.reset(token)
        _METADATA.set(method)  # tinygrad does not take it back when a method raises
        brand.close()


def make_brand(
    name: str | type[Brand] | None,
    size: int,
    *,
    hint: Callable[[], str] | None = None,
    where: str = "",
    randomness: Randomness = "error",
) -> Brand:
    """A fresh brand; a name that is open already is refused."""
    if name is None:
        return Brand(size, hint=hint, where=where, randomness=randomness)
    if isinstance(name, type) and issubclass(name, Brand):
        cls, text = name, name.__name__
    elif isinstance(name, str) and name:
        cls, text = Brand, name
    else:
        raise OptionError(
            f"axis_name: {name!r} is not a name", fix="a string that is not empty, or a subclass of Brand"
        )
    for b in _open.get():
        if b._explicit and b.name == text:
            raise NameTakenError(
                f"axis_name: brand `{text}` is open already",
                ("open", ", ".join(map(repr, _open.get()))),
                *([("first", f"opened by {b.where}")] if b.where else []),
                fix="another name; two brands of one name could not be told apart",
            )
        b._avoid(text)
    return cls(size, text, where=where, randomness=randomness)


def brand(name: str | type[Brand], size: int, *, randomness: Randomness = "error") -> Any:
    """Open a brand for a `with` block: broadcasting by brand, without a mapped function.

    `brand.vec(X, axis=0)` enters it, arithmetic zips and broadcasts by brand, `brand.unvec(z, axis=0)` leaves it.
    Several may be open at once and be left in any order.  Nothing outlives the block but what `unvec` gave back.

    Args:
        name: A string, or a subclass of `Brand`.
        size: The number of examples, an int of 0 or more.
        randomness: What random draws do over it: `"error"`, `"same"` or `"different"` (see `vmap`).

    Returns:
        A context manager that gives the `Brand`.

    Raises:
        NameTakenError: A brand of that name is open.
        OptionError: `size` or `name` means nothing.

    Example:
        >>> from branded import brand
        >>> from tinygrad import Tensor
        >>> X, Y = Tensor([1.0, 2.0]), Tensor([4.0, 6.0, 8.0])
        >>> with brand("users", 2) as users, brand("items", 3) as items:
        ...     z = users.vec(X) * items.vec(Y)
        ...     print(z)
        ...     by_item = items.unvec(users.unvec(z))
        Vec[users:2 | items:3, f32[]]
        >>> by_item.tolist()
        [[4.0, 8.0], [6.0, 12.0], [8.0, 16.0]]

    Source: torchdim's first-class dimensions, with a scope that they do not outlive.
    """
    if type(size) is not int or size < 0:
        raise OptionError(f"brand: {size!r} is not a size", fix="an int of 0 or more")
    check_randomness(randomness)
    return opened(make_brand(name, size, where=caller(2, "brand"), randomness=randomness))


def check_randomness(randomness: object) -> None:
    if randomness not in ("error", "same", "different"):
        raise OptionError(f"randomness: {randomness!r} is not a choice", fix='"error", "same" or "different"')


def caller(depth: int, what: str) -> str:
    """Where the user called us: `vmap at app.py:12`."""
    frame = sys._getframe(depth)
    file = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{what} at {file}:{frame.f_lineno}"
