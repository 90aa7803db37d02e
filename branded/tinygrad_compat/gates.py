"""Gates: a replaced name of tinygrad runs our function where code of this package runs, and the original elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import result_marks
from branded.tinygrad_compat.context_stack import ContextStack
from branded.tinygrad_compat.tinygrad_lock import LOCK

our_code: ContextStack[None] = ContextStack("branded_running")
"""The blocks in which a function of this package runs."""
engine_runs: ContextStack[None] = ContextStack("branded_regions")
"""The blocks in which tinygrad schedules, compiles or runs with the scoped names replaced."""
blocks: list[ContextStack[Any]] = [our_code]
"""The stacks of blocks in which code of this package runs; scopes and derivatives add their stacks."""
enabled: set[str] = set()
"""The features that `branded.enable` made active for every program: `fixes`, `cpu`."""


outermost: list[Callable[[], None]] = []
"""The functions that replace names with the same results for every program, once all changes are under control."""
_faster: dict[tuple[Any, str], Any] = {}


def replace_plain(owner: Any, name: str, faster: Any) -> None:
    """Replace a name by a faster form with the same results, which later changes take for tinygrad's own."""
    setattr(owner, name, faster)
    _faster[owner, name] = faster


def plain_of(owner: Any, name: str, plain: Any) -> Any:
    """Return the original of a replaced name, or its faster form."""
    return _faster.get((owner, name), plain)


def is_on() -> bool:
    """Return whether the fixes are active for the running code."""
    return bool(enabled) or runs_ours()


def is_on_for(u: UOp) -> bool:
    """Return whether the fixes are active for the running code, or for the computation of this graph."""
    return is_on() or result_marks.is_ours(u)


def runs_ours() -> bool:
    """Return whether code of this package runs, or one of its graphs is computed."""
    for block in blocks:  # noqa: SIM110  a generator takes longer than the checks
        if block.any_open():
            return True
    return False


def gate(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that users call: `ours` if code of this package runs or an argument is marked, else `plain`."""

    @functools.wraps(plain)
    def either(*args: Any, **kwargs: Any) -> Any:
        if is_on():
            return ours(*args, **kwargs)
        if result_marks.any_ours(args) or (kwargs and result_marks.any_ours(kwargs.values())):
            with our_code.during(None):
                return ours(*args, **kwargs)
        return plain(*args, **kwargs)

    setattr(either, "ours", ours)  # noqa: B010  mypy: a function has no such attribute
    return either


def write_gate(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a gated method that writes: it waits until a dry run in another thread has undone its writes."""

    @functools.wraps(plain)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with LOCK:
            return plain(*args, **kwargs)

    return gate(alone, ours)


def inner_gate(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that tinygrad calls: `ours` if code of this package runs or its graph is computed."""

    @functools.wraps(plain)
    def either(*args: Any, **kwargs: Any) -> Any:
        return (ours if is_on() else plain)(*args, **kwargs)

    return either


def _gated_property(plain: Any, ours: Any) -> Any:
    """Return a cached property of UOp that is computed by `ours` or by `plain`."""
    first, second = (getattr(x, "func", None) or x.fxn for x in (plain, ours))

    def value(u: UOp) -> Any:
        return (second if is_on() else first)(u)

    prop = functools.cached_property(value)
    prop.__set_name__(UOp, plain.attrname)
    return prop


class GatedRules:
    """A table of rewrite rules that applies our rules while the fixes are active, else tinygrad's rules."""

    def __init__(self, plain: Any, ours: Any) -> None:
        self.plain, self.ours = plain, ours
        self.patterns = ours.patterns

    def rewrite(self, *args: Any, **kwargs: Any) -> Any:
        return (self.ours if is_on() else self.plain).rewrite(*args, **kwargs)


def gated_attribute(kind: Callable[..., Any], owner: Any, plain: Any, ours: Any) -> Any:
    """Return an attribute that is one of two functions, methods or properties."""
    if isinstance(ours, staticmethod):
        return staticmethod(kind(plain.__get__(None, owner), ours.__func__))
    if isinstance(ours, classmethod):
        return classmethod(kind(plain.__func__, ours.__func__))
    return _gated_property(plain, ours) if isinstance(ours, functools.cached_property) else kind(plain, ours)


def python_default(name: str) -> Callable[..., Any] | None:
    """Return Python's behavior for a class without the special method `name`, as a function; None for other names."""

    def sequence(self: Tensor) -> Any:
        class Items:
            __getitem__ = staticmethod(self.__getitem__)

        return iter(Items())

    def refuse(text: str) -> Callable[..., Any]:
        def method(self: Tensor) -> Any:
            raise TypeError(text)

        return method

    def unsupported(self: Tensor, other: Any) -> Any:
        return NotImplemented

    methods: dict[str, Callable[..., Any]] = {
        "__iter__": sequence,
        "__abs__": refuse("bad operand type for abs(): 'Tensor'"),
        "__pos__": refuse("bad operand type for unary +: 'Tensor'"),
        "__divmod__": unsupported,
        "__rdivmod__": unsupported,
        "__format__": object.__format__,
    }
    return methods.get(name)
