"""Questions about a value: its brands, its type, and the plain tensor of an unbatched value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Never, Protocol, TypeAlias, cast, overload

from tinygrad import Tensor
from typing_extensions import TypeVar

from branded import tree
from branded.core.brand import Brand
from branded.core.entry import entry
from branded.core.validation.arguments import call_checked, check_function
from branded.errors import EscapeError
from branded.errors.calls import check_calls
from branded.graph.rows import check_live, row_of, visible
from branded.graph.scope import Row
from branded.vec import Vec

if TYPE_CHECKING:
    from branded.vec import Whole

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
S3 = TypeVar("S3", bound=Brand)
S4 = TypeVar("S4", bound=Brand, default=Never)
"""The row of the keyword arguments; it is empty for constants alone."""
_Constant: TypeAlias = float | str | tuple[float | str | None, ...] | list[int] | list[float] | None


@check_calls
def brands(x: object) -> Row:
    """Return the brands over which a value is batched, outermost first.

    Args:
        x: A tensor; any other value has no brands.

    Returns:
        A tuple of `Brand`, each with its `name` and `size`.

    Example:
        >>> from branded import brands, vmap
        >>> from tinygrad import Tensor
        >>> _ = vmap(lambda a: vmap(lambda b: print(brands(a + b)) or a + b)(Tensor([1, 2, 3])))(Tensor([4, 5]))
        (a:2, b:3)

    Source: the "varying manual axes" of `jax.shard_map`, which give the same information about a traced value.
    """
    return visible(row_of(x.uop)) if isinstance(x, Tensor) else ()


@check_calls
def vec_type(x: object) -> str:
    """Return the type of a value as text: `Vec[users:3, f32[8]]`, or `f32[8]` for a plain tensor.

    Args:
        x: A tensor.  Any other value is described in words.

    Returns:
        The brands with their sizes, the dtype and the per-example shape.

    Example:
        >>> from branded import vec_type, vmap
        >>> from tinygrad import Tensor
        >>> vec_type(Tensor.ones(4, 2))
        'f32[4, 2]'
        >>> vec_type(3)
        'the int 3'
        >>> _ = vmap(lambda users: print(vec_type(users)) or users)(Tensor.ones(4, 2))
        Vec[users:4, f32[2]]

    Source: jaxprs, which print the type of each value as `f32[4,2]`.
    """
    return tree.describe(x)


@check_calls
def unvec(x: Vec[Never, T]) -> Whole[T]:
    """Return the plain tensor of a value without brands; the identity at run time.

    Args:
        x: `Vec[Never, T]`.

    Returns:
        `T`: the same tensor.

    Raises:
        EscapeError: `x` is batched.

    Example:
        >>> from branded import unvec
        >>> from tinygrad import Tensor
        >>> unvec(Tensor([1, 2])).tolist()
        [1, 2]

    Source: E. Z. Yang, "vmap in Haskell" (2020): `unvec :: Vec s a -> [a]`.
    """
    if row := row_of(x.uop) if isinstance(x, Tensor) else ():
        raise EscapeError(
            f"unvec: this value still varies over {', '.join(f'`{b.name}`' for b in row)}",
            ("value", vec_type(x)),
            fix="return it from the mapped function, or call brand.unvec(x) first",
        )
    return cast(T, x)


class _Lifted1(Protocol[T1, T]):
    def __call__(self, x: Vec[S1, T1], /, **others: Vec[S4] | _Constant) -> Vec[S1 | S4, T]: ...


class _Lifted2(Protocol[T1, T2, T]):  # type: ignore[misc]  # a Vec is invariant in its value
    @overload
    def __call__(
        self, x: Vec[S1, T1], y: Vec[S2, T2] | T2, /, **others: Vec[S4] | _Constant
    ) -> Vec[S1 | S2 | S4, T]: ...
    @overload
    def __call__(self, x: Vec[S1, T1], /, **others: Vec[S4] | _Constant) -> Vec[S1 | S4, T]: ...


class _Lifted3(Protocol[T1, T2, T3, T]):  # type: ignore[misc]
    @overload
    def __call__(
        self, x: Vec[S1, T1], y: Vec[S2, T2] | T2, z: Vec[S3, T3] | T3, /, **others: Vec[S4] | _Constant
    ) -> Vec[S1 | S2 | S3 | S4, T]: ...
    @overload
    def __call__(
        self, x: Vec[S1, T1], y: Vec[S2, T2] | T2, /, **others: Vec[S4] | _Constant
    ) -> Vec[S1 | S2 | S4, T]: ...
    @overload
    def __call__(self, x: Vec[S1, T1], /, **others: Vec[S4] | _Constant) -> Vec[S1 | S4, T]: ...


class _Lifted(Protocol[T]):
    def __call__(self, *args: Vec[S1] | _Constant, **others: Vec[S4] | _Constant) -> Vec[S1 | S4, T]: ...


@overload
def lift(f: Callable[[T1], T]) -> _Lifted1[T1, T]: ...
@overload
def lift(f: Callable[[T1, T2], T]) -> _Lifted2[T1, T2, T]: ...
@overload
def lift(f: Callable[[T1, T2, T3], T]) -> _Lifted3[T1, T2, T3, T]: ...
@overload
def lift(f: Callable[Concatenate[T1, ...], T]) -> _Lifted[T]: ...
@overload
def lift(f: Callable[..., T]) -> Callable[..., Vec[Brand, T]]: ...
@check_calls
def lift(f: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a function of plain tensors into a function of `Vec`s: `lift(f)(x, y)` applies `f` to each example.

    A function that only calls tinygrad operations already works on batched tensors; only its type is too narrow.
    `lift` gives it the wider type, and checks that no argument belongs to a closed brand.

    Args:
        f: A function of tensors `T`.

    Returns:
        The function of `Vec[S, T]`, `Vec[S1, T]`, …; its result has all brands of the arguments and of the values that
        `f` captures.

    Raises:
        CallError: `f` is not a function, or does not take the arguments.
        EscapeError: An argument belongs to a brand that is closed.

    Example:
        >>> from branded import brand, lift
        >>> from tinygrad import Tensor
        >>> def distance(x: Tensor, y: Tensor) -> Tensor:
        ...     return (x - y).square().sum().sqrt()
        >>> with brand("p", 2) as p, brand("q", 1) as q:
        ...     d = lift(distance)(p.vec(Tensor([[0.0, 0.0], [3.0, 0.0]])), q.vec(Tensor([[0.0, 4.0]])))
        ...     print(d)
        ...     table = p.unvec(q.unvec(d))
        Vec[p:2 | q:1, f32[]]
        >>> table.tolist()
        [[4.0], [5.0]]

    Source: E. Z. Yang, "vmap in Haskell" (2020): `lift2 :: (a -> b -> c) -> Vec s a -> Vec s b -> Vec s c`.
    """

    check_function(f, "lift", "lift(f)(x)")

    @entry
    @functools.wraps(f)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        for i, x in enumerate([leaf for a in (*args, *kwargs.values()) for leaf in tree.leaves(a)]):
            if isinstance(x, Tensor):
                check_live(x.uop, f"lift: value {i + 1}")
        return call_checked(f, args, kwargs, "lift", "pass a function with one parameter per argument")

    return lifted
