"""One trace of a distributed function: here over tensors with nothing in them, on a worker over blocks.

The function runs the same way both times, so what it does comes in the same order: its distributed vmaps, the arrays
that they map, its collectives.  Each is known by its number.  What one is, in whole and in parts, a `Session` says:
`Plan` is the one here, `Work` that of a worker.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from tinygrad import Tensor

from branded import tree
from branded.brand import Brand
from branded.crossing import enter, every
from branded.derivatives.custom import custom_jvp
from branded.derivatives.levels import is_differentiating
from branded.errors import DerivativeError, OptionError, UnsupportedError
from branded.graph import tensor
from branded.scope import Blocks, Row, in_call_body, open_brands
from branded.tree.given import called
from branded.vmap import MappedCall, Options

Index = tuple[int | None, ...]
"""For each axis of an array the loop that goes over its chunks; None where each task has it whole."""


class Exchange(NamedTuple):
    """A collective: what it is, over which loop, in which other ones."""

    what: str
    over: int
    loops: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: Any


class Scattered:
    """The result of a distributed vmap within another one: a worker has a part of it, so it can only be returned."""

    def __init__(self, value: Tensor, index: Index) -> None:
        self.__dict__.update(value=value, index=index)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f".{name}")

    def __bool__(self) -> bool:
        _refuse("a condition")


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> NoReturn:
        _refuse(name)

    return refuse


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(Scattered, f"__{_name}__", _refused("arithmetic"))
    setattr(Scattered, f"__r{_name}__", _refused("arithmetic"))
for _name in ("neg", "abs", "invert", "lt", "le", "gt", "ge", "getitem", "iter", "len", "float", "int"):
    setattr(Scattered, f"__{_name}__", _refused(_name))


def _refuse(what: str) -> NoReturn:
    raise UnsupportedError(
        f"dask.vmap: {what} of the result of a vmap that is distributed within another one: no worker has all of it",
        fix="in the inner function, a collective (psum) for what needs all examples; or of the result outside",
    )


class TaskPart:
    """What a task has of the examples of a brand; `Draws` says the same of a chunk."""

    def __init__(self, session: Session, loop: int) -> None:
        self.session, self.loop = session, loop
        self.instead = "psum, pmean, pmax or pmin; or a function of the whole batch outside, on the array of dask"

    @property
    def size(self) -> int:
        """The number of examples in all tasks."""
        return self.session.whole(self.loop)

    @property
    def start(self) -> Tensor:
        """The number of the first example here."""
        return self.session.start(self.loop)

    def take(self, draw: Callable[[], Tensor]) -> Tensor:
        raise OptionError("dask.vmap: a random draw", fix="a key as an argument (branded.random)")

    def refuse(self, what: str, b: Brand) -> NoReturn:
        raise OptionError(
            f"{what}: brand `{b.name}` is distributed, so the values of all examples are never together",
            fix=self.instead,
        )

    def reduced(self, what: str, x: Tensor, b: Brand, over: Callable[[Tensor], Tensor]) -> Tensor:
        """A reduction over all examples: of those here by `over`, and then of all tasks."""
        return self.session.exchanged(what, x, b, self, over)


class Session:
    """One trace of a distributed function."""

    def __init__(self) -> None:
        self.around: list[Brand] = []
        self.below: Row = ()
        """What is open around the outermost vmap."""
        self.calls = self.exchanges = 0

    def whole(self, loop: int) -> int:
        """The number of examples of a loop in all tasks."""
        raise NotImplementedError

    def start(self, loop: int) -> Tensor:
        """The number of the first example that is here."""
        raise NotImplementedError

    def exchange(self, number: int, it: Exchange, partial: Tensor) -> Tensor:
        """What a collective gives, with an axis for each loop around it, from what it gives of the examples here."""
        raise NotImplementedError

    def given(self, number: int, leaves: Sequence[Any]) -> list[Any]:
        """What is there for the leaves of the arguments of the vmap of this number."""
        raise NotImplementedError

    def looped(self, number: int, call: MappedCall) -> int:
        """The loop of the vmap of this number."""
        raise NotImplementedError

    def check_alone(self, what: str) -> None:
        """Nothing but distributed vmaps is around what runs."""
        others = [b for b in open_brands() if b not in self.around and b not in self.below]
        if others or in_call_body() or is_differentiating():
            inside = f"`{others[-1].name}`" if others else "a derivative" if is_differentiating() else "a call"
            raise UnsupportedError(
                f"dask.vmap: {what} inside of {inside}, which each worker does for itself",
                fix="it directly in the function that is distributed",
            )

    def exchanged(self, what: str, x: Tensor, b: Brand, part: TaskPart, over: Callable[[Tensor], Tensor]) -> Tensor:
        self.check_alone(f"{what} over the distributed brand `{b.name}`")
        number, self.exchanges = self.exchanges, self.exchanges + 1
        others = [o for o in self.around if o is not b]
        partial = over(_left(x, b))
        shape, dtype = partial.shape, partial.dtype
        for o in reversed(others):
            partial = _left(partial, o)
        it = Exchange(what, part.loop, tuple(o.part.loop for o in others), shape, dtype)
        out = self.exchange(number, it, partial)
        for o in others:
            out = tensor(enter(out.uop, o))
        return _known(x, out)


def _left(x: Tensor, b: Brand) -> Tensor:
    """The values of all examples that are here, along a new leading axis."""
    b.was_left = True
    return tensor(every(x.uop, b))


@custom_jvp
def _known(x: Tensor, out: Tensor) -> Tensor:
    """`out`, which comes from other tasks, where `x` is what this one gave for it."""
    return out


@_known.defjvp
def _no_derivative(primals: Any, tangents: Any) -> NoReturn:
    raise DerivativeError(
        "dask.vmap: a derivative through a collective over a distributed brand, to whose value all workers give",
        fix="the derivative of what an example gives, and then the collective: psum(grad(f)(x), name)",
    )


current: Blocks[Session] = Blocks("branded_dask_session")
"""The trace that runs here."""


# ---- a distributed vmap ----


def mapped(
    session: Session, f: Callable[..., Any], options: Options, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """The results of a vmap over what the session gives for its arguments, each with the loops that are in it."""
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
            out = called(f, args, kwargs, "dask.vmap", "a function with a parameter for each argument")
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
    axes = tree.spread(options.out_axes, out, "out_axes", "the result")
    found = [_scattered(y, i, a, loop) for y, i, a in zip(ys, within, axes, strict=True)]
    return tree.rebuild(out, iter(found))


def _scattered(y: Any, index: Index | None, axis: int | None, loop: int) -> Any:
    """A result with the loop of this vmap where its examples are."""
    if not isinstance(y, Tensor):
        return y
    if axis is None:
        return y if index is None else Scattered(y, index)
    axes = list(index or (None,) * (y.ndim - 1))
    axes.insert(axis % y.ndim, loop)
    return Scattered(y, tuple(axes))
