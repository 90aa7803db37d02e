"""Functions that programs call, written once for branded and JAX, from the library and its test for floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Both:
    """`lib` has `jvp`, `vjp`, `vmap`, `custom_jvp`, `custom_vjp` and `custom_vmap`."""

    def __init__(self, lib: Any, is_float: Callable[[Any], bool]) -> None:
        self.lib, self.is_float = lib, is_float

    def with_jvp(self, f: Callable[..., Any], by: float, zeros: Any) -> Any:
        g = self.lib.custom_jvp(f)

        def rule(primals: Any, tangents: Any) -> Any:
            _, dy = self.lib.jvp(f, primals, tangents)
            return g(*primals), tuple(d * by if z else d * 0 for d, z in zip(dy, zeros, strict=True))

        g.defjvp(rule)
        return g

    def with_jvp_by_hand(self, f: Callable[..., Any], rule: Callable[..., Any]) -> Any:
        g = self.lib.custom_jvp(f)
        g.defjvp(lambda primals, tangents: (g(*primals), rule(*primals, *tangents)))
        return g

    def with_vjp(self, f: Callable[..., Any], by: float, none: Any) -> Any:
        g = self.lib.custom_vjp(f)

        def bwd(residuals: Any, ct: Any) -> Any:
            grads = self.lib.vjp(f, *residuals)[1](ct)
            return tuple(None if i in none else d * by for i, d in enumerate(grads))

        g.defvjp(lambda *xs: (f(*xs), xs), bwd)
        return g

    def with_vmap(self, f: Callable[..., Any], by: float) -> Any:
        g = self.lib.custom_vmap(f)

        @g.def_vmap
        def rule(axis_size: int, in_batched: Any, *xs: Any) -> Any:
            ys = self.lib.vmap(f, [0 if b else None for b in in_batched], axis_size=axis_size)(*xs)
            return tuple(y * by for y in ys), (True,) * len(ys)

        return g

    def with_jvp_static(self, f: Callable[..., Any], by: float, at: int) -> Any:
        scaled = self.scaled(f, at)
        g = self.lib.custom_jvp(scaled, nondiff_argnums=(at,))
        g.defjvp(lambda by, ps, ts: self.lib.jvp(lambda *xs: scaled(*insert(xs, by, at)), ps, ts))
        return lambda *xs: g(*insert(xs, by, at))

    def with_vjp_static(self, f: Callable[..., Any], by: float, at: int) -> Any:
        scaled = self.scaled(f, at)
        g = self.lib.custom_vjp(scaled, nondiff_argnums=(at,))

        def fwd(*args: Any) -> Any:
            return scaled(*args), (*args[:at], *args[at + 1 :])

        g.defvjp(fwd, lambda by, xs, ct: self.lib.vjp(lambda *xs: scaled(*insert(xs, by, at)), *xs)[1](ct))
        return lambda *xs: g(*insert(xs, by, at))

    def scaled(self, f: Callable[..., Any], at: int) -> Callable[..., Any]:
        """Return `f` with its results multiplied by a number, which is the argument at position `at`."""

        def scaled(*args: Any) -> Any:
            ys = f(*args[:at], *args[at + 1 :])
            return tuple(y * args[at] if self.is_float(y.dtype) else y for y in ys)

        return scaled


def insert(xs: Any, by: float, at: int) -> Any:
    return (*xs[:at], by, *xs[at:])
