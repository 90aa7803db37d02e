"""`jit`: a function that is traced once for each type of its arguments, and whose kernels are replayed after that."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

from tinygrad import Tensor, TinyJit
from tinygrad.dtype import strong_dtype
from tinygrad.engine.realize import capturing
from tinygrad.function import _function

from branded import recording, tree
from branded.brand import check_live, open_brands, tensor
from branded.dispatch import replaced
from branded.errors import OptionError, ProgramTypeError
from branded.transforms.leaves import is_differentiating
from branded.transforms.loops import LeafType, trace

F = TypeVar("F", bound=Callable[..., Any])


def jit(f: F, *, static_argnums: int | Sequence[int] = ()) -> F:
    """`jit(f)(*args)` is `f(*args)`, traced once for each type of the arguments, and compiled.

    Under vmap, a derivative or a loop it is `f` itself: they compile what it becomes.  In a typed program it is one
    equation.  What it gives is the caller's own: the next call does not write into it.

    Args:
        f: A function of trees of tensors and numbers, without reads, draws and writes.
        static_argnums: The positions of arguments that are part of the program: for each value of them it is traced
            anew.  They must be hashable.

    Returns:
        A function like `f`.

    Raises:
        ReadError: `f` reads a value: it is traced before there are any.
        RandomnessError: `f` draws random numbers, which would be the same at each call; `branded.random` takes keys.
        WriteError: `f` writes into a tensor from outside.
        OptionError: An argument that is neither tensor nor number is not hashable.
        ProgramTypeError: A result is not a tensor or number.

    Example:
        >>> from branded import jit
        >>> from tinygrad import Tensor
        >>> @jit
        ... def scaled(x, by): return x / x.sum() * by
        >>> scaled(Tensor([1.0, 3.0]), 8).tolist(), scaled(Tensor([1.0, 1.0]), 2).tolist()
        ([2.0, 6.0], [1.0, 1.0])

    Source: `jax.jit`; `tinygrad.TinyJit`, which replays the kernels.
    """
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    made: dict[Hashable, _Compiled] = {}

    @functools.wraps(f)
    def jitted(*args: Any, **kwargs: Any) -> Any:
        if recording.is_recording():
            return _written(f, args, kwargs)
        if open_brands() or is_differentiating() or _function.depth or capturing:
            return f(*args, **kwargs)
        fixed = {i % len(args) for i in static} if args else set()
        leaves = [
            x if i in fixed else _input(x) for i, a in enumerate(args) for x in ([a] if i in fixed else tree.leaves(a))
        ]
        leaves += [_input(x) for a in kwargs.values() for x in tree.leaves(a)]
        paths = [() if i in fixed else tuple(tree.paths(a, type(a).__name__)) for i, a in enumerate(args)]
        key = (*paths, *((k, *tree.paths(a, type(a).__name__)) for k, a in kwargs.items()), *map(_key, leaves))
        try:
            compiled = made.get(key)
        except TypeError:
            raise OptionError("jit: a static argument is not hashable", fix="a tuple in place of a list") from None
        if compiled is None:
            compiled = made[key] = _Compiled(f, args, kwargs, fixed, leaves)
        return compiled(leaves)

    return cast(F, jitted)


def _input(x: Any) -> Any:
    """An argument as a tensor; what cannot be one is part of the program."""
    if (t := tree.as_tensor(x)) is None:
        return x
    check_live(t.uop, "jit")
    return t.cast(strong_dtype(t.dtype))


def _key(x: Any) -> Hashable:
    return (x.shape, x.dtype, x.device, x.uop.axis) if isinstance(x, Tensor) else (type(x), x)


class _Compiled:
    """A function for arguments of one type: its graph over parameters, and the kernels that it became."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], fixed: set[int], leaves: list[Any]
    ) -> None:
        def body(given: list[Tensor]) -> Any:
            variables = iter(given)
            new = iter([next(variables) if isinstance(x, Tensor) else x for x in leaves])
            positional = [next(new) if i in fixed else tree.rebuild(a, new) for i, a in enumerate(args)]
            return f(*positional, **{k: tree.rebuild(a, new) for k, a in kwargs.items()})

        types = [LeafType.of(x.uop) for x in leaves if isinstance(x, Tensor)]
        self.traced = trace("jit", body, types, lambda out: (out, _results(out)))
        self.replayed = TinyJit(self._run)

    def _run(self, *xs: Tensor) -> list[Tensor]:
        of = dict(zip(self.traced.params, [x.uop for x in xs], strict=True))
        outs = [tensor(u) for u in replaced(self.traced.leaves, of.get)]
        own = [y.cast(strong_dtype(y.dtype)).clone() for y in outs]
        if own:
            Tensor.realize(*own)
        return own

    def __call__(self, leaves: Sequence[Any]) -> Any:
        inputs = [_buffer(x) for x in leaves if isinstance(x, Tensor)]
        has_elements = [y for y in self.traced.leaves if 0 not in y.shape]
        # TinyJit gives the same buffers at each replay
        outs = [y.clone() for y in self.replayed(*inputs)] if has_elements else self._run(*inputs)
        if outs:
            Tensor.realize(*outs)
        return tree.rebuild(self.traced.out, iter(outs))


def _buffer(x: Tensor) -> Tensor:
    """`x` in a buffer of its own, as TinyJit wants its inputs; two inputs may not be the same one."""
    return x.clone().realize() if 0 not in x.shape else x


def _results(out: Any) -> list[Tensor]:
    found = []
    for x, at in zip(tree.leaves(out), tree.paths(out, "the result"), strict=True):
        if (t := tree.as_tensor(x)) is None:
            raise ProgramTypeError(f"jit: {at} is {tree.describe(x)}", fix="return tensors, numbers, or trees of them")
        found.append(t)
    return found


def _written(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call as one operation of a typed program."""
    with recording.structured() as made:
        if made is None:
            return f(*args, **kwargs)
        given = [x for a in (*args, *kwargs.values()) for x in tree.leaves(a) if isinstance(x, Tensor)]
        with recording.body() as done:
            out = f(*args, **kwargs)
            results = _results(out)
            done([t.uop for t in given], [y.uop for y in results])
        ins = [t.uop for t in given]
        name = getattr(f, "__name__", type(f).__name__)
        made.put("jit", ins, {"name": name}, [y.uop for y in results], {"f": made.frame.bodies[-1]})
    return out
