"""Gradient transformations, and the helper functions of all optimizers."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Never, Protocol, Self

from tinygrad import Tensor, dtypes
from typing_extensions import TypeVar

from branded import tree
from branded.core.brand import Brand
from branded.errors import OptionError, StateError, StateTypeError
from branded.errors.calls import check_calls
from branded.tree.api import map_leaves
from branded.tree.nodes import PyTree

T = TypeVar("T")
S_co = TypeVar("S_co", bound=Brand, covariant=True, default=Never)


class OptState(Generic[S_co]):
    """The static type of an optimizer's state, for annotations.

    `OptState[S]` is the state of each example of the brands `S`.  At run time, a state is a pytree of tensors.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> def begin(params: Tensor) -> optim.OptState: return optim.sgd(0.5, momentum=0.9).init(params)
        >>> begin(Tensor([3.0]))[0].trace.tolist()
        [0.0]

    Source: optax, `OptState`.
    """

    if TYPE_CHECKING:

        def __getitem__(self, i: int, /) -> Any: ...
        def __getattr__(self, name: str, /) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...


class InitFn(Protocol[S_co]):
    """A function that returns the initial state for some parameters."""

    def __call__(self, params: Any, /) -> OptState[S_co]: ...


class UpdateFn(Protocol[S_co]):
    """A function that takes updates and a state, and returns new updates and the next state."""

    def __call__(self, updates: T, state: Any, params: Any = None) -> tuple[T, OptState[S_co]]: ...


if TYPE_CHECKING:  # a custom update may have any types, and each call of `update` keeps the type of its updates

    class _Pair(tuple[InitFn[S_co], UpdateFn[S_co]], Generic[S_co]):
        def __new__(cls, init: Callable[[Any], Any], update: Callable[..., tuple[Any, Any]]) -> Self: ...
        @property
        def init(self) -> InitFn[S_co]: ...
        @property
        def update(self) -> UpdateFn[S_co]: ...

else:
    _Pair = namedtuple("_Pair", ("init", "update"))


class GradientTransformation(_Pair[S_co], Generic[S_co]):
    """A pair of pure functions, `init` and `update`, that turns gradients into updates of the parameters.

    Each optimizer is a gradient transformation, and so is each part of a `chain`.

    Attributes:
        init: `init(params) -> state`, a pytree of tensors.
        update: `update(updates, state, params=None) -> (updates, state)`.  The first transformation of a chain gets
            the gradients.  The updates that the last one returns are added to the parameters.

    Example:
        >>> from branded import grad, optim
        >>> from tinygrad import Tensor
        >>> params, (init, update) = Tensor([3.0, 4.0]), optim.sgd(0.5)
        >>> updates, state = update(grad(lambda p: p.square().sum())(params), init(params))
        >>> optim.apply_updates(params, updates).tolist()
        [0.0, 0.0]

    Source: optax, `GradientTransformation`.
    """

    __slots__ = ()

    if not TYPE_CHECKING:
        # the functions of an optimizer are public too
        def __new__(cls, init, update):
            return super().__new__(cls, check_calls(init), check_calls(update))


class EmptyState(NamedTuple):
    """The state of a transformation without state."""


Number = Any
"""A number or a scalar tensor, which may be batched."""
Mask = Any | Callable[[Any], Any]
"""A pytree of bools, or a function of the parameters that returns one."""
Schedule = Callable[[Any], Any]
"""A function that returns a number for the count of completed steps."""


def stateless(api_name: str, f: Callable[[Any, Any], Any]) -> GradientTransformation:
    """Return a transformation without state, whose new updates are `f(updates, params)`."""

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return f(updates, params), check_state(api_name, state, EmptyState)

    return GradientTransformation(lambda params: EmptyState(), update)


def identity() -> GradientTransformation:
    """Return the transformation that leaves updates unchanged.

    Returns:
        A `GradientTransformation`.

    Example:
        >>> from branded import optim
        >>> optim.identity().update(1.0, optim.identity().init(None))
        (1.0, EmptyState())

    Source: optax, `identity`.
    """
    return stateless("identity", lambda updates, params: updates)


def chain(*parts: GradientTransformation[Any]) -> GradientTransformation:
    """Return a transformation that applies several transformations in order.

    Args:
        parts: The transformations, in the order of application.

    Returns:
        A `GradientTransformation` whose state is a tuple.

    Raises:
        OptionError: A part is not a transformation.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> clipped = optim.chain(optim.clip_by_global_norm(1.0), optim.sgd(10.0))
        >>> updates, _ = clipped.update(Tensor([3.0, 4.0]), clipped.init(Tensor([0.0, 0.0])))
        >>> [round(x, 4) for x in updates.tolist()]
        [-6.0, -8.0]

    Source: optax, `chain`.
    """
    for i, part in enumerate(parts):
        if not (isinstance(part, tuple) and len(part) == 2 and all(map(callable, part))):
            raise OptionError(
                f"chain: part {i + 1} is {tree.describe(part)}, not a transformation",
                fix="chain(clip_by_global_norm(1.0), adam(1e-3))",
            )
    return chain_of("chain", *parts)


def chain_of(api_name: str, *parts: GradientTransformation[Any], needs_params: bool = False) -> GradientTransformation:
    """Chain parts that are known to be transformations; errors use the name `api_name`."""

    def init(params: Any) -> Any:
        return tuple(start(params) for start, _ in parts)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        if needs_params:
            require_params(api_name, params)
        if not isinstance(state, tuple) or len(state) != len(parts):
            raise StateTypeError(
                f"{api_name}: the state is {tree.outline(state)}, not a tuple of {len(parts)} states",
                fix="pass the state from init or the last update",
            )
        new = []
        for (_, step), s in zip(parts, state, strict=True):
            updates, s = step(updates, s, params)
            new.append(s)
        return updates, tuple(new)

    return GradientTransformation(init, update)


def apply_updates(params: T, updates: PyTree) -> T:
    """Return `params + updates` in the dtypes of the parameters.

    Args:
        params: A pytree of tensors.
        updates: A pytree of the same structure, as returned by an optimizer.

    Returns:
        The new parameters.

    Raises:
        TreeError: The structures of the pytrees differ.
        StateTypeError: A leaf is not a tensor.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> optim.apply_updates({"w": Tensor([1.0, 2.0])}, {"w": Tensor([0.5, 0.5])})["w"].tolist()
        [1.5, 2.5]

    Source: optax, `apply_updates`.
    """

    def add(p: Tensor, u: Tensor) -> Tensor:
        return (p + u).cast(p.dtype)

    updated: T = map_tensors("apply_updates", add, params, updates, names=("the params", "the updates"))
    return updated


def global_norm(updates: PyTree) -> Tensor:
    """Compute the Euclidean norm of all elements of a pytree.

    Args:
        updates: A pytree of tensors.

    Returns:
        An `f32[]`, or a scalar of the dtype of the tensors.

    Raises:
        StateTypeError: A leaf is not a tensor.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> optim.global_norm([Tensor([3.0]), Tensor([[4.0]])]).item()
        5.0

    Source: optax, `global_norm`.
    """
    squares = [leaf("global_norm", x).square().sum() for x in tree.leaves(updates)]
    return sum(squares[1:], squares[0]).sqrt() if squares else Tensor(0.0)


def map_tensors(
    api_name: str, f: Callable[..., Any], *trees: Any, names: tuple[str, ...] = ("the updates", "the state")
) -> Any:
    """Apply `f` to the corresponding tensors of pytrees that have the same structure, and return a pytree."""
    return map_leaves(api_name, lambda *xs: f(*(leaf(api_name, x) for x in xs)), trees[0], trees[1:], names=names)


def leaf(api_name: str, x: Any) -> Tensor:
    """Return a leaf as a tensor; raise `StateTypeError` if it is neither a tensor nor a number."""
    if (t := tree.as_tensor(x)) is None:
        raise StateTypeError(
            f"{api_name}: {tree.describe(x)} is not a tensor",
            fix=tree.advice(x) or "pass pytrees of tensors and numbers",
        )
    return tree.with_memory_dtype(t, api_name)


def like_params(api_name: str, params: Any, dtype: Any = None, value: Any = 0) -> Any:
    """Return a pytree with the structure and shapes of the parameters, filled with `value`."""
    return map_tensors(api_name, lambda p: p.full_like(value, dtype=dtype or p.dtype), params, names=("the params",))


def zero_count() -> Tensor:
    """Return the initial step count, 0."""
    return Tensor(0, dtype=dtypes.int32)


def check_state(api_name: str, state: Any, kind: type[T]) -> T:
    """Return the state; raise `StateTypeError` if it belongs to another transformation."""
    if not isinstance(state, kind):
        raise StateTypeError(
            f"{api_name}: the state is {tree.describe(state)}, not one of its own ({kind.__name__})",
            fix="pass the state from init or the last update of this optimizer",
        )
    return state


def require_params(api_name: str, params: Any) -> Any:
    """Return the parameters; raise `StateError` if they are missing."""
    if params is None:
        raise StateError(f"{api_name}: the update needs params", fix="update(grads, state, params)")
    return params


def number(api_name: str, name: str, x: Any) -> Any:
    """Return a hyperparameter; raise `OptionError` unless it is a number or a scalar tensor."""
    if (t := tree.as_tensor(x)) is None or t.shape:
        raise OptionError(
            f"{api_name}: {name} is {tree.describe(x)}, not a scalar", fix=f"{name}=0.1, or a tensor f32[]"
        )
    return x if isinstance(x, int | float) else t


def cast_like(h: Any, x: Tensor) -> Any:
    """Cast a hyperparameter to the dtype of `x`; a Python number is returned unchanged."""
    return h.cast(x.dtype) if isinstance(h, Tensor) else h
