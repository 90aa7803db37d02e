"""Brands: opening one, entering and leaving it, and the scope outside of which it means nothing."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from tinygrad import Tensor, dtypes
from tinygrad.helpers import Metadata
from tinygrad.tensor import _METADATA, all_tensors
from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.dispatch import expand, leave
from branded.errors import (
    AxisRangeError,
    AxisTypeError,
    EscapeError,
    NameTakenError,
    OptionError,
    SizeError,
    WriteError,
)
from branded.recording import is_recording, put
from branded.rows import SHAPE, Row, keep_shards, row_of, type_text
from branded.scopes import Scope, Scopes
from branded.tree import advice, as_size, as_tensor, check_axis, describe, shown

Randomness = Literal["error", "same", "different"]
if TYPE_CHECKING:
    from branded.vec import Vec

B = TypeVar("B", bound="Brand")
S = TypeVar("S", bound="Brand")
T = TypeVar("T")

_open: Scopes[Row] = Scopes("branded_open")
_branches: Scopes[Region] = Scopes("branded_branches")
_calls: Scopes[None] = Scopes("branded_calls")
_numbers = itertools.count(1)


class Region:
    """What was made since something began, as a scope or a branch: it can tell that from what was there before."""

    first_slot: int
    """The buffers from this one on are of the region."""

    @property
    def _mark(self) -> Tensor | None:
        """The tensors after this one are of the region."""
        raise NotImplementedError

    def has_outside(self, storage: Callable[[UOp], UOp], of: UOp) -> bool:
        """Does a tensor from outside have this storage?"""
        for ref in list(all_tensors):
            if (t := ref()) is self._mark:
                return False
            if t is not None and storage(t.uop) is of:
                return True
        return False

    def made(self, x: Tensor) -> bool:
        """Was `x` made here?"""
        for ref in reversed(all_tensors):
            if (t := ref()) is x:
                return True
            if t is self._mark:
                return False
        return False


class Brand(Region):
    """The identity of one batch dimension.

    Opened by `vmap` or by `with brand(...)`.  A subclass is a name that type checkers know:
    `class Users(Brand): ...`, then `vmap(f, axis_name=Users)` or `with brand(Users, 3) as users`.

    Attributes:
        size: The number of examples.
        name: What messages call it: the name that was given, else that of the parameter that introduced it.

    Raises:
        OptionError: The size is no int from 0 to 2⁶³-1, or the name is empty.
    """

    is_loop = False
    """Is this the scope of a loop's body, whose values differ from step to step?"""
    turn = "step"
    """What such a body is traced for all of at once."""
    is_program = False
    """Is this the scope of a function that is written down, whose arguments have no values?"""

    def __init__(
        self,
        size: int,
        name: str | None = None,
        *,
        hint: Callable[[], str] | None = None,
        where: str = "",
        randomness: Randomness = "error",
    ) -> None:
        check_randomness(randomness)
        if name is not None and not (isinstance(name, str) and name):
            raise OptionError(f"Brand: {shown(name)} is not a name", fix="a string that is not empty")
        self.size, self.where, self.randomness = as_size(size, "Brand"), where, randomness
        self.number = next(_numbers)
        self.outer: Row = open_brands()
        self._explicit, self._name, self._hint = name is not None, name, hint
        self.draws: Any = None
        self.was_left = False
        self._range: weakref.ref[UOp] | None = None
        self._scope: weakref.ref[_Opened] | None = None
        self.first_slot = 0

    @property
    def traced_for(self) -> str:
        return f"for all {self.turn}s"

    # ---- names ----

    @property
    def name(self) -> str:
        if self._name is None:
            taken = {b.name for b in self.outer}
            stem = self._hint() if self._hint else "brand"
            self._name = next(n for n in _numbered(stem) if n not in taken)
        return self._name

    @property
    def is_named(self) -> bool:
        """Did the user name it?  A collective finds only such brands."""
        return self._explicit

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
        r = self._range() if self._range is not None else None
        if r is None:
            r = UOp(Ops.RANGE, dtypes.weakint, (UOp.const(self.size),), (self.number, AxisType.PLACEHOLDER))
            r.__dict__["_brand"] = self
            self._range = weakref.ref(r)
        return r

    def enter(self, x: UOp, axis: int) -> UOp:
        """`x` per example: its axis `axis` becomes this brand."""
        if axis:
            x = UOp(Ops.PERMUTE, x.dtype, (x,), (axis, *(i for i in range(len(x.shape)) if i != axis)))
        out = UOp(Ops.INDEX, x.dtype, (x, self.range))
        out.__dict__[SHAPE] = x.shape[1:]
        return keep_shards(x, out, -1)

    def vec(self: B, x: Vec[S, T], axis: int = 0) -> Vec[S | B, T]:
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
        if (given := as_tensor(x)) is None:
            raise AxisTypeError(f"vec: brand `{self.name}` takes a tensor, not {describe(x)}", fix=advice(x))
        check_live(given.uop, "vec")
        at = normalize_axis(axis, given, f"vec: brand `{self.name}`")
        if given.shape[at] != self.size:
            raise SizeError(
                f"zip: brand `{self.name}` has {examples(self.size)}, but this tensor has {given.shape[at]}",
                ("left", f"{self!r}"),
                ("right", f"{type_text(given.uop)}, axis {at}"),
                fix="another axis=, or another brand for it",
            )
        if self in row_of(given.uop):  # a value that varies over the brand already: each example takes its own entry
            own = tensor(self.enter(UOp.arange(self.size), 0))
            return cast("Vec[S | B, T]", given.permute(at, *(i for i in range(given.ndim) if i != at))[own])
        return cast("Vec[S | B, T]", entered(given, self, at))

    @overload
    def unvec(self: B, x: Vec[S | B, T], axis: int = 0) -> Vec[S, T]: ...
    @overload
    def unvec(self, x: float, axis: int = 0) -> Tensor: ...
    def unvec(self, x: Any, axis: int = 0) -> Any:
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
        what = f"unvec: brand `{self.name}`"
        if not isinstance(x, Tensor):
            if (given := as_tensor(x)) is None:
                raise AxisTypeError(f"{what} gives back tensors and numbers, not {describe(x)}", fix=advice(x))
            x = given
        check_live(x.uop, "unvec")
        if (position := check_axis(axis, what)) is None:
            raise AxisTypeError(f"{what}: None is not an axis here", fix="an int")
        at = out_axis(position, len(x.shape), what)
        if self.draws is not None:
            raise OptionError(
                f"unvec: brand `{self.name}` runs in chunks, so the values of all examples are never together",
                fix="leave out chunk_size",
            )
        self.was_left = True
        return tensor(left_all([x.uop], self, [at], self.size)[0])

    def _check_open(self, what: str) -> None:
        if not self.is_open:
            raise EscapeError(f"{what}: brand `{self.name}` is closed", fix="use it inside its `with` block")

    @property
    def is_open(self) -> bool:
        """Is its scope not over?"""
        return self._scope is None or ((scope := self._scope()) is not None and not scope.closed)

    @property
    def _mark(self) -> Tensor | None:
        scope = self._scope() if self._scope is not None else None
        return scope.mark if scope is not None else None


class Lost(Brand):
    """The brand of what cannot be used any more: a `view` of it was `written`, and it did not see that."""

    def __init__(self, view: UOp, written: UOp) -> None:
        super().__init__(1, "lost")
        self.view, self.written = view, written

    @property
    def is_open(self) -> bool:
        return False

    def lose(self, u: UOp) -> UOp:
        return self.enter(expand(u, (1,)), 0)

    def found(self, u: UOp) -> UOp:
        return u.src[0].src[0]


def entered(x: Tensor, b: Brand, axis: int) -> Tensor:
    """`x` per example, as the user asked for it."""
    out = b.enter(x.uop, axis)
    if is_recording():
        parts = {"devices": x.device} if isinstance(x.device, tuple) and x.uop.axis == axis else {}
        put("enter", (x.uop,), {"brand": b, "axis": axis, **parts}, (out,))
    return tensor(out)


def left_all(us: Sequence[UOp], b: Brand, axes: Sequence[int], repeat: int) -> list[UOp]:
    """The values of all examples, as the user asked for them; one that does not vary is repeated."""
    out = leave(us, b, axes, repeat)
    for u, axis, y in zip(us, axes, out, strict=True) if is_recording() else ():
        if repeat == b.size or b in row_of(u):
            put("leave", (u,), {"brand": b, "axis": axis}, (y,))
    return out


def enter_all(x: UOp, brands: Iterable[Brand]) -> UOp:
    """`x` per example: its leading axes become these brands."""
    for b in brands:
        x = b.enter(x, 0)
    return x


def copied(x: UOp, brands: Iterable[Brand]) -> UOp:
    """A value that the examples of these brands share as one that varies over them: a copy for each."""
    for b in brands:
        x = b.enter(expand(x, (b.size,)), 0)
    return x


_NOTHING = UOp.const(0)
_VMAP = Metadata("vmap")


def tensor(u: UOp) -> Tensor:
    """`Tensor(u)`, without looking for the device of `u`: that walks the whole graph."""
    t = Tensor.__new__(Tensor)
    t.uop, t.grad, t.is_param = u, None, True
    method = _METADATA.set(_VMAP)  # inside of a method: tinygrad takes the time of each other one, hash(t) too
    all_tensors[weakref.ref(t)] = None
    _METADATA.set(method)
    return t


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    for i in itertools.count(2):
        yield f"{stem}{i}"


def examples(n: int) -> str:
    return f"{n} example" if n == 1 else f"{n} examples"


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


def check_live(u: UOp, what: str | Callable[[], str]) -> None:
    """Refuse a value of a closed brand."""
    if dead := [b for b in row_of(u) if not b.is_open]:
        names = ", ".join(f"`{b.name}`" for b in dead)
        where = what if isinstance(what, str) else what()
        if lost := next((b for b in dead if isinstance(b, Lost)), None):
            raise WriteError(
                f"{where}: a view of this value was written, and it has no memory in which it would see that",
                ("value", f"{type_text(u, tuple(b for b in row_of(u) if b.is_open))}, not worked out yet"),
                ("written", type_text(lost.view)),
                fix="x = x.clone() before the view is taken; or x[1:3] = ... in place of v = x[1:3]; v.assign(...)",
            )
        raise EscapeError(
            f"{where}: this value belongs to {names}, which {'is' if len(dead) == 1 else 'are'} closed",
            ("value", type_text(u)),
            *((f"{b.name}", f"opened by {b.where}") for b in dead if b.where),
            fix="return the value from the mapped function, or brand.unvec it, and use what comes back",
        )


# ---- scopes ----


def open_brands(*, waiting: bool = False) -> Row:
    """The brands that are open here, outermost first; `waiting` adds those of generators that wait."""
    return tuple(b for row in _open.get(waiting=waiting) for b in row)


def outside() -> Scope[Row]:
    """As if no brand were open."""
    return _open.without(())


class _Opened(Scope[Row]):
    """The scope of brands."""

    def __init__(self, brands: Iterable[Brand]) -> None:
        super().__init__(_open, tuple(brands))

    def __enter__(self) -> Row:  # type: ignore[override]
        # tensors and buffers made from here on belong to the scope
        self.mark, first_slot = tensor(_NOTHING), next(UOp.unique_num)
        for b in self.value:
            b._scope, b.first_slot = weakref.ref(self), first_slot
        return super().__enter__()


class _OpenedOne(_Opened, Generic[B]):
    """The scope of one brand, which is made when the scope is entered."""

    def __init__(self, make: Callable[[], B]) -> None:
        super().__init__(())
        self.make = make

    def __enter__(self) -> B:  # type: ignore[override]
        if self.closed:
            raise OptionError("brand: this scope is over", fix="brand(...) anew for each `with` block")
        brand = self.make()
        self.value = (brand,)
        self.within(sys._getframe(1))
        super().__enter__()
        return brand


def opened(brand: B) -> AbstractContextManager[B]:
    """The scope of a brand that was just made."""
    return _OpenedOne(lambda: brand)


@contextmanager
def method_restored() -> Iterator[None]:
    """tinygrad notes which method runs, for the names of kernels, and does not take it back when that raises."""
    method = _METADATA.get()
    try:
        yield
    except BaseException:
        _METADATA.set(method)
        raise


def all_opened(brands: Iterable[Brand]) -> AbstractContextManager[Row]:
    """One scope of many brands that were just made."""
    return _Opened(brands)


def reopened(brands: Iterable[Brand]) -> AbstractContextManager[Row]:
    """While a rule runs for a call that was made in the scope of these brands: gives those that were closed."""
    return _Opened(b for b in brands if not b.is_open or b._scope is None)


class Branch(Region):
    """What is made while a branch runs, though another one may be taken."""

    def __init__(self) -> None:
        self.first_slot = next(UOp.unique_num)
        self._began = tensor(_NOTHING)

    @property
    def _mark(self) -> Tensor | None:
        return self._began


def branch() -> Scope[Region]:
    """While a branch runs."""
    return _branches.during(Branch())


def branches() -> tuple[Region, ...]:
    """The branches that we are in, outermost first."""
    return _branches.get()


def call_body() -> Scope[None]:
    """While what runs becomes the body of a call in a graph, in which nothing is scheduled by itself."""
    return _calls.during(None)


def in_call_body() -> bool:
    """Does what runs here become the body of a call?"""
    return bool(_calls.get())


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
    if name is Brand:
        raise OptionError("axis_name: `Brand` is every brand", fix="class Users(Brand): ..., and its name here")
    if isinstance(name, type) and issubclass(name, Brand):
        cls, text = name, name.__name__
    elif isinstance(name, str) and name:
        cls, text = Brand, name
    else:
        raise OptionError(
            f"axis_name: {shown(name)} is not a name", fix="a string that is not empty, or a subclass of Brand"
        )
    taken = open_brands(waiting=True)  # a generator that goes on finds its own brand by its name
    for b in taken:
        if b._explicit and b.name == text:
            raise NameTakenError(
                f"axis_name: brand `{text}` is open already",
                ("open", ", ".join(map(repr, taken))),
                *([("first", f"opened by {b.where}")] if b.where else []),
                fix="another name; two brands of one name could not be told apart",
            )
        b._avoid(text)
    return cls(size, text, where=where, randomness=randomness)


if TYPE_CHECKING:

    class Opened(Brand, Generic[B]):
        """What `with brand(…)` gives, for type checkers: a brand of the type `B`."""

        def vec(self, x: Vec[S, T], axis: int = 0) -> Vec[S | B, T]: ...  # type: ignore[override]
        @overload  # type: ignore[override]
        def unvec(self, x: Vec[S | B, T], axis: int = 0) -> Vec[S, T]: ...
        @overload
        def unvec(self, x: float, axis: int = 0) -> Tensor: ...
        def unvec(self, x: Any, axis: int = 0) -> Any: ...


@overload
def brand(name: type[B], size: int, *, randomness: Randomness = "error") -> AbstractContextManager[Opened[B]]: ...
@overload
def brand(name: str, size: int, *, randomness: Randomness = "error") -> AbstractContextManager[Opened[Brand]]: ...
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
    size = as_size(size, "brand")
    check_randomness(randomness)
    where = caller(2, "brand")
    return _OpenedOne(lambda: make_brand(name, size, where=where, randomness=randomness))


def check_randomness(randomness: object) -> None:
    if not (isinstance(randomness, str) and randomness in ("error", "same", "different")):
        raise OptionError(f"randomness: {shown(randomness)} is not a choice", fix='"error", "same" or "different"')


def caller(depth: int, what: str) -> str:
    """Where the user called us: `vmap at app.py:12`."""
    frame = sys._getframe(depth)
    file = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{what} at {file}:{frame.f_lineno}"
