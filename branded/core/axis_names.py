"""`Axes[Users, Features]`: a tensor with named axes.

The names are for type checkers; mypy with our plugin follows them. At run time the value is a plain tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from tinygrad import Tensor

from branded.core.brand import Brand
from branded.errors import AxesError, AxisTypeError, SizeError, count_noun
from branded.errors.calls import check_calls
from branded.graph.known_axes import names_of, set_axes
from branded.graph.rows import type_text
from branded.graph.scope import open_brands
from branded.tinygrad_compat import activation, result_marks
from branded.tree import describe, short_repr
from branded.tree.leaf_tensors import advice

if TYPE_CHECKING:
    from typing_extensions import TypeAliasType, TypeVarTuple

    from branded.vec import Vec

    _Names = TypeVarTuple("_Names")
    Axes = TypeAliasType("Axes", Tensor, type_params=(_Names,))
else:

    class _AxesType(type):
        def __instancecheck__(cls, x: object) -> bool:
            return isinstance(x, Tensor)

    class Axes(metaclass=_AxesType):
        """A tensor with these axes, in this order: `Axes[Users, Features]`.

        An entry is a subclass of `Brand` (the name of the axis), `Literal[3]` (its length) or `int` (any axis).  Mypy
        with our plugin treats `Axes[Users, Features]` and `Axes[Features, Users]` as different types, and infers the
        axes of each result.  A plain `Tensor` is accepted wherever `Axes` is expected.  To other type checkers, and at
        run time, `Axes[...]` is `Tensor`.

        Example:
            >>> from branded import Axes, Brand, vmap
            >>> from tinygrad import Tensor
            >>> class Users(Brand): ...
            >>> class Features(Brand): ...
            >>> def norms(X: Axes[Users, Features]) -> Axes[Users]:
            ...     return (X * X).sum(axis=1).sqrt()
            >>> norms(Tensor([[3.0, 4.0], [6.0, 8.0]])).tolist()
            [5.0, 10.0]

        Source: PEP 646, "Variadic Generics", whose example is `Array[Height, Width]`.
        """

        def __class_getitem__(cls, names: object) -> type[Tensor]:
            return Tensor

        def __new__(cls, *_: object, **__: object) -> Axes:
            raise TypeError("Axes is a type for annotations; as_axes(x, Users, Features) returns a tensor of this type")


S = TypeVar("S", bound=Brand)
Axis = type[Brand] | int | None
"""A name, a length, or any axis."""


@overload
def as_axes(x: Tensor, *names: Axis) -> Tensor: ...
@overload
def as_axes(x: Vec[S], *names: Axis) -> Vec[S]: ...
@check_calls
def as_axes(x: Any, *names: Axis) -> Any:
    """Declare the axes of a tensor: `as_axes(X, Users, Features)` is `X`, with the type `Axes[Users, Features]`.

    Args:
        x: A tensor, batched or not.
        names: For each axis, a subclass of `Brand`, a length, or None for any axis.

    Returns:
        `x` itself.

    Raises:
        AxisTypeError: `x` is not a tensor, or one of `names` is not an axis.
        AxesError: The number of names differs from the number of axes of `x`.
        SizeError: An axis has a different length than its name requires: the given length, the length of an earlier
            axis with the same name, or the batch size of an open brand with that name.

    Example:
        >>> from branded import Brand, as_axes, axes
        >>> from tinygrad import Tensor
        >>> class Users(Brand): ...
        >>> X = as_axes(Tensor.ones(4, 3), Users, 3)
        >>> [getattr(axis, "__name__", axis) for axis in axes(X)]
        ['Users', 3]

    Source: `jaxtyping.Float[Array, "users 3"]`, which is checked at run time.
    """
    if not isinstance(x, Tensor):
        raise AxisTypeError(f"as_axes: the argument is {describe(x)}, not a tensor", fix=advice(x) or "Tensor(x)")
    for name in names:
        _check_axis(name)
    value, declared = ("value", type_text(x.uop)), ("axes", ", ".join(map(_text, names)) or "none")
    if len(names) != len(x.shape):
        raise AxesError(
            f"as_axes: {count_noun(len(names), 'name')} for a tensor with {count_noun(len(x.shape), 'axis', 'axes')}",
            *(value, declared),
            fix="give one name per axis, and None for an unnamed axis",
        )
    sizes: dict[type[Brand], int] = {}
    for i, (name, size) in enumerate(zip(names, x.shape, strict=True)):
        for wanted, where in _lengths(name, sizes):
            if wanted != size:
                raise SizeError(
                    f"as_axes: axis {i} has {size} entries, and `{_text(name)}` has {wanted}{where}", value, declared
                )
        if isinstance(name, type):
            sizes.setdefault(name, size)
    set_axes(x, names)
    activation.activate()
    result_marks.mark_itself(x.uop)  # errors about values computed from it name the axes
    return x


def _check_axis(name: object) -> None:
    is_name = isinstance(name, type) and issubclass(name, Brand) and name is not Brand
    if not (is_name or name is None or (isinstance(name, int) and not isinstance(name, bool))):
        raise AxisTypeError(
            f"as_axes: {_text(name)} is not an axis", fix="use a subclass of Brand, a length, or None for any axis"
        )


def _text(name: object) -> str:
    return name.__name__ if isinstance(name, type) else short_repr(name)


def _lengths(name: Axis, sizes: dict[type[Brand], int]) -> list[tuple[int, str]]:
    """Return the lengths that an axis must have, each with the reason for the error message."""
    if isinstance(name, int):
        return [(name, "")]
    if name is None:
        return []
    before = [(sizes[name], " on an axis before it")] if name in sizes else []
    return before + [(b.size, " examples here") for b in open_brands() if isinstance(b, name) and b.size is not None]


@check_calls
def axes(x: Vec[Brand]) -> tuple[type[Brand] | int, ...]:
    """Return the axes of a tensor: for each axis its name, if `as_axes` declared one, or its length.

    Names propagate from `X` to `X + 1`, `X.T`, `X[:3]`, `X @ W` and to each example of them.  They are found in the
    graph of the value, as long as `X` is alive.  A realized tensor has no graph, so it has no names.

    Args:
        x: A tensor, batched or not; only the axes of one example are returned.

    Returns:
        A tuple of subclasses of `Brand` and ints.

    Raises:
        AxisTypeError: `x` is not a tensor.

    Example:
        >>> from branded import Brand, as_axes, axes
        >>> from tinygrad import Tensor
        >>> axes(Tensor.ones(4, 3))
        (4, 3)
        >>> class Users(Brand): ...
        >>> X = as_axes(Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Users, 2)
        >>> [getattr(axis, "__name__", axis) for axis in axes((X * X).sum(axis=1))]
        ['Users']

    Source: `torch.Tensor.names`, of named tensors.
    """
    if not isinstance(x, Tensor):
        raise AxisTypeError(f"axes: the argument is {describe(x)}, not a tensor", fix=advice(x) or "Tensor(x)")
    t: Any = x
    return tuple(s if n is None else n for n, s in zip(names_of(t), t.shape, strict=True))


def axes_text(x: object) -> str:
    """Return the known axes of a tensor as text, such as `Users, 3`; empty if no axis has a name."""
    names = axes(x) if isinstance(x, Tensor) else ()
    return ", ".join(map(_text, names)) if any(isinstance(n, type) for n in names) else ""
