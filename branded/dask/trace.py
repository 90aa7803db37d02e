"""A trace of a distributed function: in the calling process with tensors without values, on a worker with blocks.

Both traces run the function in the same way. Its distributed vmaps, the arrays that they map, and its collectives occur
in the same order, so each is identified by its number. A `Session` supplies the values for a number: `MetaTrace` in the
calling process, `BlockTrace` on a worker.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from tinygrad import Tensor

from branded import tree
from branded.autodiff.custom_rules.custom_derivatives import custom_jvp
from branded.core.boundary import enter, stack_examples
from branded.core.brand import Brand
from branded.core.tracing.state import is_differentiating
from branded.core.validation.arguments import call_checked
from branded.core.vmap import MappedCall, Options
from branded.errors import DerivativeError, OptionError, UnsupportedError
from branded.graph.scope import Row, in_call_body, open_brands
from branded.graph.uops import tensor
from branded.tinygrad_compat.context_stack import ContextStack

Index = tuple[int | None, ...]
"""For each axis of an array the loop over its chunks; None if each task receives the whole axis."""


class Exchange(NamedTuple):
    """A collective: its name, the loop that it reduces, the loops around it, and the type of its result."""

    api_name: str
    over: int
    loops: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: Any


class Scattered:
    """The result of a nested distributed vmap. A worker has only a part of it, so it can only be returned."""

    def __init__(self, value: Tensor, index: Index) -> None:
        self.__dict__.update(value=value, index=index)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _raise_unavailable(f".{name}")

    def __bool__(self) -> bool:
        _raise_unavailable("a condition")


def _rejecting_method(name: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> NoReturn:
        _raise_unavailable(name)

    return refuse


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(Scattered, f"__{_name}__", _rejecting_method("arithmetic"))
    setattr(Scattered, f"__r{_name}__", _rejecting_method("arithmetic"))
for _name in ("neg", "abs", "invert", "lt", "le", "gt", "ge", "getitem", "iter", "len", "float", "int"):
    setattr(Scattered, f"__{_name}__", _rejecting_method(_name))


def _raise_unavailable(api_name: str) -> NoReturn:
    raise UnsupportedError(
        f"dask.vmap: {api_name} needs the full result of an inner distributed vmap, which no worker has",
        fix="use a collective such as psum in the inner function, or read the result outside",
    )


class TaskPart:
    """The examples of a brand that a task has; `Draws` has the same interface for a chunk."""

    def __init__(self, session: Session, loop: int) -> None:
        self.session, self.loop = session, loop
        self.instead = "psum, pmean, pmax or pmin; or a function of the whole batch outside, on the array of dask"

    @property
    def size(self) -> int:
        """The number of examples in all tasks."""
        return self.session.whole(self.loop)

    @property
    def start(self) -> Tensor:
        """The index of the first example in this task."""
        return self.session.start(self.loop)

    def take(self, draw: Callable[[], Tensor]) -> Tensor:
        raise OptionError(
            "dask.vmap: Tensor.rand cannot be sampled on several workers",
            fix="pass a key (branded.random) as an argument",
        )

    def refuse(self, api_name: str, b: Brand) -> NoReturn:
        raise OptionError(
            f"{api_name}: brand `{b.name}` is distributed, so no operation sees all examples at the same time",
            fix=self.instead,
        )

    def reduced(self, api_name: str, x: Tensor, b: Brand, over: Callable[[Tensor], Tensor]) -> Tensor:
        """Reduce over all examples: first this task's examples with `over`, then all tasks."""
        return self.session.exchanged(api_name, x, b, self, over)


class Session:
    """A trace of a distributed function."""

    def __init__(self) -> None:
        self.around: list[Brand] = []
        self.below: Row = ()
        """The brands that are open around the outermost vmap."""
        self.calls = self.exchanges = 0

    def whole(self, loop: int) -> int:
        """Return the number of examples of a loop in all tasks."""
        raise NotImplementedError

    def start(self, loop: int) -> Tensor:
        """Return the index of the first example in this task."""
        raise NotImplementedError

    def exchange(self, number: int, it: Exchange, partial: Tensor) -> Tensor:
        """Return the result of a collective from its partial result; it has an axis for each loop around it."""
        raise NotImplementedError

    def given(self, number: int, leaves: Sequence[Any]) -> list[Any]:
        """Return the values for the leaves of the arguments of a vmap."""
        raise NotImplementedError

    def looped(self, number: int, call: MappedCall) -> int:
        """Return the loop of a vmap."""
        raise NotImplementedError

    def check_alone(self, api_name: str) -> None:
        """Raise if anything but distributed vmaps is around the current call."""
        others = [b for b in open_brands() if b not in self.around and b not in self.below]
        if others or in_call_body() or is_differentiating():
            inside = f"`{others[-1].name}`" if others else "a derivative" if is_differentiating() else "a call"
            raise UnsupportedError(
                f"dask.vmap: {api_name} inside {inside}, which each worker runs separately",
                fix="call it directly in the distributed function",
            )

    def exchanged(self, api_name: str, x: Tensor, b: Brand, part: TaskPart, over: Callable[[Tensor], Tensor]) -> Tensor:
        self.check_alone(f"{api_name} over the distributed brand `{b.name}`")
        number, self.exchanges = self.exchanges, self.exchanges + 1
        others = [o for o in self.around if o is not b]
        partial = over(_stack_local_examples(x, b))
        shape, dtype = partial.shape, partial.dtype
        for o in reversed(others):
            partial = _stack_local_examples(partial, o)
        it = Exchange(api_name, part.loop, tuple(o.part.loop for o in others), shape, dtype)
        out = self.exchange(number, it, partial)
        for o in others:
            out = tensor(enter(out.uop, o))
        return _combined_result(x, out)


def _stack_local_examples(x: Tensor, b: Brand) -> Tensor:
    """Stack the values of the examples in this task along a new leading axis."""
    b.was_left = True
    return tensor(stack_examples(x.uop, b))


@custom_jvp
def _combined_result(x: Tensor, out: Tensor) -> Tensor:
    """Return `out`, the combined result of a collective; `x` only makes a derivative through it raise."""
    return out


@_combined_result.defjvp
def _no_derivative(primals: Any, tangents: Any) -> NoReturn:
    raise DerivativeError(
        "dask.vmap: a derivative through a collective over a distributed brand is not supported",
        fix="differentiate per example, then use the collective: psum(grad(f)(x), name)",
    )


current: ContextStack[Session] = ContextStack("branded_dask_session")
"""The traces that are running in this context, innermost last."""


def run_vmap(
    session: Session, f: Callable[..., Any], options: Options, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """Run a vmap over the session's values for its arguments; each result carries the loops that it varies over."""
    number, session.calls = session.calls, session.calls + 1
    if not number:
        session.below = open_brands()
    leaves = [leaf for x in (*args, *kwargs.values()) for leaf in tree.leaves(x)]
    new = iter(session.given(number, leaves))
    here = [tree.rebuild(x, new) for x in args]
    by_name = {k: tree.rebuild(x, new) for k, x in kwargs.items()}
    within: list[Index | None] = []

    @functools.wraps(f)
    def body(*args: Any, **kwargs: Any) -> Any:
        brand = open_brands()[-1]
        assert isinstance(brand, Brand)
        session.around.append(brand)
        try:
            out = call_checked(f, args, kwargs, "dask.vmap", "pass a function with one parameter per argument")
        finally:
            session.around.pop()
        ys = tree.leaves(out)
        within.extend(y.index if isinstance(y, Scattered) else None for y in ys)
        return tree.rebuild(out, iter([y.value if isinstance(y, Scattered) else y for y in ys]))

    call = MappedCall(body, options, tuple(here), by_name)
    call.devices = ()
    loop = session.looped(number, call)
    part: Any = TaskPart(session, loop)
    out = call.run_on(call.leaves, call.size, part)
    ys = tree.leaves(out)
    axes = tree.broadcast_prefix(options.out_axes, out, "out_axes", "the result")
    results = [_scatter_result(y, i, a, loop) for y, i, a in zip(ys, within, axes, strict=True)]
    return tree.rebuild(out, iter(results))


def _scatter_result(y: Any, index: Index | None, axis: int | None, loop: int) -> Any:
    """Mark the loop of this vmap on the axis of the result that holds its examples."""
    if not isinstance(y, Tensor):
        return y
    if axis is None:
        return y if index is None else Scattered(y, index)
    axes = list(index or (None,) * (y.ndim - 1))
    axes.insert(axis % y.ndim, loop)
    return Scattered(y, tuple(axes))
