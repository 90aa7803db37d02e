"""The class `Brand`, and `with brand(...)`: `with brand("users", 3) as users`, `users.vec(X)`, `users.unvec(y)`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, Self, cast, overload

from tinygrad import Tensor
from tinygrad.uop.ops import UOp
from typing_extensions import TypeVar

from branded.core.boundary import enter, enter_recorded, exit_brand
from branded.core.entry import mark_results
from branded.core.sharding.layout import devices_of, evenly
from branded.core.validation.arguments import Randomness, as_int, caller, check_randomness, normalize_axis, out_axis
from branded.errors import AxisTypeError, EscapeError, NameTakenError, OptionError, SizeError, examples
from branded.errors.calls import check_calls
from branded.graph.rows import check_live, row_of, type_text
from branded.graph.scope import OpenedOne, Scope, in_step, open_brands
from branded.graph.uops import tensor
from branded.tree import describe, short_repr
from branded.tree.leaf_tensors import advice, as_tensor
from branded.tree.nodes import check_axis

if TYPE_CHECKING:
    from branded.vec import Vec

B = TypeVar("B", bound="Brand")
S = TypeVar("S", bound="Brand", default=Never)
"""The row of an argument; empty for a number. Functions of several arguments use S1, S2 and S3."""
S1 = TypeVar("S1", bound="Brand", default=Never)
S2 = TypeVar("S2", bound="Brand", default=Never)
S3 = TypeVar("S3", bound="Brand", default=Never)
T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
R_contra = TypeVar("R_contra", contravariant=True)


class Brand(Scope):
    """The identity of one batch dimension.

    Opened by `vmap` or by `with brand(...)`.  A subclass is a name that type checkers know:
    `class Users(Brand): ...`, then `vmap(f, axis_name=Users)` or `with brand(Users, 3) as users`.

    Attributes:
        size: The number of examples.
        name: The name in messages: the given name, or the name of the parameter that introduced the brand.

    Raises:
        OptionError: The size is not an int from 0 to 2⁶³-1, or the name is empty.
    """

    is_brand = True
    turn = "example"

    if TYPE_CHECKING:  # how the type `Users` acts on a row: see Only, Rest and Without

        @classmethod
        def _only(cls, row: OfRow[Self], /) -> None: ...
        @classmethod
        def _rest(cls, row: OfRow[Self | R], /) -> OfRow[R]: ...
        @classmethod
        def _without(cls, x: Vec[Self | S, T], /) -> Vec[S, T]: ...

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
            raise OptionError(f"Brand: {short_repr(name)} is not a name", fix="pass a non-empty string")
        super().__init__(as_size(size, "Brand"), name, hint=hint, where=where)
        self.randomness = randomness
        self.used_keys: dict[UOp, str] | None = None
        """The random keys that were used, and by which function; None unless the vmap is strict."""
        self.part: Any = None
        """The part of the examples that is present, if they are not together: one chunk, or the task of one worker."""

    @property
    def whole(self) -> int:
        """The total number of examples, including the examples of other chunks or workers."""
        return self.size if self.part is None else int(self.part.size)

    @check_calls
    def vec(self: B, x: Vec[S, T], axis: int = 0) -> Vec[S | B, T]:
        """Enter the brand: return `x` per example, where the axis `axis` indexes the examples.

        Args:
            x: A tensor whose axis `axis` has one entry per example.
            axis: The axis that becomes the brand; negative ones count from the end.

        Returns:
            `Vec[S | self, T]`: the tensor of per-example shape.

        Raises:
            EscapeError: The brand is closed.
            AxisRangeError: `axis` is out of range.
            SizeError: The axis has a different length than the brand has examples.

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
        if (t := as_tensor(x)) is None:
            raise AxisTypeError(
                f"vec: brand `{self.name}` takes a tensor, not {describe(x)}", fix=advice(x) or "pass a tensor"
            )
        check_live(t.uop, "vec")
        axis = normalize_axis(axis, t, f"vec: brand `{self.name}`")
        if t.shape[axis] != self.size:
            raise SizeError(
                f"vec: brand `{self.name}` has {examples(self.size)}, but axis {axis} has {t.shape[axis]}",
                ("brand", repr(self)),
                ("tensor", type_text(t.uop)),
                fix="use another axis, or another brand",
            )
        if self in row_of(t.uop):  # already batched over the brand: each example takes its own entry
            index = tensor(enter(UOp.arange(self.size), self))
            return cast("Vec[S | B, T]", t.permute(axis, *(i for i in range(t.ndim) if i != axis))[index])
        return cast("Vec[S | B, T]", enter_recorded(t, self, axis))

    @overload
    def unvec(self: B, x: Vec[S | B, T], axis: int = 0) -> Vec[S, T]: ...
    @overload
    def unvec(self, x: float, axis: int = 0) -> Tensor: ...
    @check_calls
    def unvec(self, x: Any, axis: int = 0) -> Any:
        """Leave the brand: return the values of all examples, stacked along `axis`.

        Args:
            x: A value; one that does not vary over the brand is repeated.
            axis: The position of the new axis in the result.

        Returns:
            `Vec[S - self, T]`, with one more axis than `x`.

        Raises:
            EscapeError: This brand, or another brand of `x`, is closed.
            AxisRangeError: `axis` is out of range for the result.
        """
        self._check_open("unvec")
        api_name = f"unvec: brand `{self.name}`"
        if not isinstance(x, Tensor):
            if (value := as_tensor(x)) is None:
                raise AxisTypeError(
                    f"{api_name} takes tensors and numbers, not {describe(x)}",
                    fix=advice(x) or "pass a tensor or a number",
                )
            x = value
        check_live(x.uop, "unvec")
        if (position := check_axis(axis, api_name)) is None:
            raise AxisTypeError(f"{api_name}: None is not an axis here", fix="pass an int")
        result_axis = out_axis(position, len(x.shape), api_name)
        if self.part is not None:
            self.part.refuse("unvec", self)
        self.was_left = True
        return mark_results(tensor(exit_brand([x.uop], self, [result_axis], self.size)[0]))

    def _check_open(self, api_name: str) -> None:
        if not self.is_open:
            raise EscapeError(f"{api_name}: brand `{self.name}` is closed", fix="use it inside its `with` block")


_MOST = 2**63 - 1


def as_size(x: object, api_name: str, least: int = 0, most: float = _MOST) -> int:
    """Return `x` as a batch size; raise OptionError if it is not an int from `least` to `most`."""
    n = x if type(x) is int else as_int(x)
    if n is None or n < least:
        raise OptionError(f"{api_name}: {short_repr(x)} is not a size", fix=f"pass an int of {least} or more")
    if n > most:
        raise OptionError(f"{api_name}: {short_repr(n)} is more than a tensor can have", fix="pass an int below 2**63")
    return n


def make_brand(
    name: str | type[Brand] | None,
    size: int,
    *,
    hint: Callable[[], str] | None = None,
    where: str = "",
    randomness: Randomness = "error",
) -> Brand:
    """Create a brand without opening it; raise NameTakenError if a brand with that name is open."""
    if name is None:
        return Brand(size, hint=hint, where=where, randomness=randomness)
    if name is Brand:
        raise OptionError(
            "axis_name: `Brand` is the base class, not a brand", fix="class Users(Brand): ..., and axis_name=Users"
        )
    if isinstance(name, type) and issubclass(name, Brand):
        cls, text = name, name.__name__
    elif isinstance(name, str) and name:
        cls, text = Brand, name
    else:
        raise OptionError(
            f"axis_name: {short_repr(name)} is not a name", fix="pass a non-empty string, or a subclass of Brand"
        )
    brands = open_brands(waiting=True)  # a resumed generator finds its own brand by its name
    for b in brands:
        if b.is_named and b.name == text:
            raise NameTakenError(
                f"axis_name: brand `{text}` is already open",
                ("open", ", ".join(map(repr, brands))),
                *([("first", f"opened by {b.where}")] if b.where else []),
                fix="use another name for the inner brand",
            )
        b.avoid(text)
    return cls(size, text, where=where, randomness=randomness)


if TYPE_CHECKING:

    class Opened(Brand, Generic[B]):
        """The type of the brand that `with brand(…)` opens, for type checkers: a brand of the type `B`."""

        def vec(self, x: Vec[S, T], axis: int = 0) -> Vec[S | B, T]: ...  # type: ignore[override]
        @overload  # type: ignore[override]
        def unvec(self, x: Vec[S | B, T], axis: int = 0) -> Vec[S, T]: ...
        @overload
        def unvec(self, x: float, axis: int = 0) -> Tensor: ...
        def unvec(self, x: Any, axis: int = 0) -> Any: ...
        @classmethod
        def _only(cls, row: OfRow[B], /) -> None: ...  # type: ignore[override]
        @classmethod
        def _rest(cls, row: OfRow[B | R], /) -> OfRow[R]: ...  # type: ignore[override]
        @classmethod
        def _without(cls, x: Vec[S | B, T], /) -> Vec[S, T]: ...  # type: ignore[override]

    # To remove `Users` from `Users | Items`, a type checker must know `Users` first. For `f(x: Vec[S | B], b: type[B])`
    # it infers from `x` first. To match `Users` with one of these protocols, it looks at the method of `Users` instead.

    class OfRow(Generic[R_co]):
        """A row: a set of brands."""

    class Only(Protocol[R_contra]):
        """The only brand of a row, or an empty row."""

        def _only(self, row: OfRow[R_contra], /) -> None: ...

    class Rest(Protocol[R_contra, R_co]):
        """A brand, with the row that remains when it is removed; nothing matches if no brand remains."""

        def _rest(self, row: OfRow[R_contra], /) -> OfRow[R_co]: ...

    class Without(Protocol[R_contra, R_co]):
        """A brand, with the type of a value after the brand is removed from its row; unknown if no brand remains."""

        def _without(self, x: R_contra, /) -> R_co: ...


@overload
def brand(name: type[B], size: int, *, randomness: Randomness = "error") -> AbstractContextManager[Opened[B]]: ...
@overload
def brand(name: str, size: int, *, randomness: Randomness = "error") -> AbstractContextManager[Opened[Brand]]: ...
@check_calls
def brand(name: str | type[Brand], size: int, *, randomness: Randomness = "error") -> Any:
    """Open a brand for a `with` block: broadcasting by brand, without a mapped function.

    `brand.vec(X, axis=0)` enters it, arithmetic zips and broadcasts by brand, `brand.unvec(z, axis=0)` leaves it.
    Several brands may be open at the same time and be left in any order.  Only results of `unvec` outlive the block.

    Args:
        name: A string, or a subclass of `Brand`.
        size: The number of examples, an int of 0 or more.
        randomness: The behavior of `Tensor.rand` over the brand: `"error"`, `"same"` or `"different"` (see `vmap`).

    Returns:
        A context manager that gives the `Brand`.

    Raises:
        NameTakenError: A brand of that name is open.
        OptionError: `size` is not a batch size, or `name` is not a name.

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
    where = caller(3, "brand")

    def make() -> Brand:
        b = make_brand(name, size, where=where, randomness=randomness)
        b.devices = () if in_step() else evenly(size, devices_of(b.name), f"brand `{b.name}`")
        return b

    return OpenedOne(make)
