"""`jit`: a function that is traced once for each type of its arguments, and whose kernels are replayed after that."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

from tinygrad import Tensor, TinyJit
from tinygrad.dtype import strong_dtype
from tinygrad.engine.realize import capturing
from tinygrad.function import _function
from tinygrad.tensor import all_tensors
from tinygrad.uop.ops import Ops, UOp

from branded import recording, tree
from branded.calls import called, check_function
from branded.crossing import check_live
from branded.errors import OptionError
from branded.graph import replaced, tensor
from branded.patches.serial import serial
from branded.rows import row_of
from branded.scope import open_brands
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
        CallError: `f` is not a function, or does not take the arguments.
        OptionError: `static_argnums` are no positions of arguments, or an argument that is neither tensor nor number is
            not hashable.
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
    check_function(f, "jit", "jit(f)(x)")
    nums = tree.positions(static_argnums, "jit")
    made: dict[Hashable, _Compiled] = {}

    @functools.wraps(f)
    def jitted(*args: Any, **kwargs: Any) -> Any:
        if recording.is_recording():
            return _written(f, args, kwargs)
        if open_brands() or is_differentiating() or _function.depth or capturing:
            return _called(f, args, kwargs)
        at, by_name = tree.static(f, nums, len(args), "jit")
        given = [(a, i in at) for i, a in enumerate(args)] + [(a, k in by_name) for k, a in kwargs.items()]
        leaves = [x for a, fixed in given for x in ([a] if fixed else map(_input, tree.leaves(a)))]
        trees = tuple((None, ()) if fixed else (tree.structure(a), tuple(tree.paths(a, ""))) for a, fixed in given)
        key = (len(args), tuple(kwargs), trees, *map(_key, leaves))
        try:
            compiled = made.get(key)
        except TypeError:
            odd = next((x for x in leaves if not isinstance(x, Hashable)), None)
            said = "what flatten gave beside the children" if odd is None else tree.describe(odd)
            raise OptionError(
                f"jit: {said} is part of the program, and is not hashable",
                fix="a tuple in place of a list, a frozen dataclass; tensors and numbers in trees are variables",
            ) from None
        if compiled is None:
            # two threads may both have traced it
            compiled = made.setdefault(key, _Compiled(f, args, kwargs, [fixed for _, fixed in given], leaves))
        return compiled(leaves)

    return cast(F, jitted)


def _called(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return called(f, args, kwargs, "jit", "a function with a parameter for each argument")


def _input(x: Any) -> Any:
    """An argument as a tensor; what cannot be one is part of the program."""
    if (t := tree.as_tensor(x)) is None:
        return x
    check_live(t.uop, "jit")
    return t


def _key(x: Any) -> Hashable:
    return (x.shape, x.dtype, x.device, x.uop.axis) if isinstance(x, Tensor) else (type(x), x)


class _Compiled:
    """A function for arguments of one type: its graph over parameters, and the kernels that it became."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], fixed: list[bool], leaves: list[Any]
    ) -> None:
        def body(given: list[Tensor]) -> Any:
            variables = iter(given)
            new = iter([next(variables) if isinstance(x, Tensor) else x for x in leaves])
            trees = zip((*args, *kwargs.values()), fixed, strict=True)
            whole = [next(new) if is_fixed else tree.rebuild(a, new) for a, is_fixed in trees]
            return _called(f, whole[: len(args)], dict(zip(kwargs, whole[len(args) :], strict=True)))

        types = [LeafType.of(x.uop) for x in leaves if isinstance(x, Tensor)]
        traced = trace("jit", body, types, lambda out: (out, tree.results(out, "jit")))
        self.out = traced.out
        # what has no entries is no buffer, and nothing is read of it
        empty = {p: p.const_like(0) for p in traced.params if 0 in p.shape}
        self.params = [p for p in traced.params if p not in empty]
        # as tensors, because tinygrad renames in the graphs of tensors what it realizes
        self.leaves = [tensor(u) for u in replaced(traced.leaves, empty.get)]
        self.outside = self._outside()
        # of no method of this: with that it would be a ring, and go later than its last user
        self.run = functools.partial(_run, self.params, self.leaves)
        self.replayed = TinyJit(self.run)

    def _outside(self) -> list[weakref.ref[Tensor]]:
        """The tensors that the function uses without being given them, as weights are."""
        graph = UOp.sink(*(y.uop for y in self.leaves)).toposort(enter_calls=False)
        given, varies = set(self.params), dict[UOp, bool]()
        for u in graph:
            varies[u] = u in given or any(varies.get(s, False) for s in u.src)
        own = {id(y) for y in self.leaves}
        alive = [t for ref in list(all_tensors) if (t := ref()) is not None and id(t) not in own and t.uop in graph]
        return [weakref.ref(t) for t in alive if not varies[t.uop] and t.uop.op is not Ops.CONST and not row_of(t.uop)]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        return tree.rebuild(self.out, iter(self._called(leaves)))

    @serial
    def _called(self, leaves: Sequence[Any]) -> list[Tensor]:
        if outside := [t for ref in self.outside if (t := ref()) is not None]:
            Tensor.realize(*outside)  # a write may be waiting
        inputs = self._buffers([x for x in leaves if isinstance(x, Tensor) and 0 not in x.shape])
        has_elements = any(0 not in y.shape for y in self.leaves)
        # TinyJit gives the same buffers at each replay
        outs = [y.clone() for y in self.replayed(*inputs)] if has_elements else self.run(*inputs)
        if outs:
            Tensor.realize(*outs)
        return outs

    def _buffers(self, xs: Sequence[Tensor]) -> list[Tensor]:
        """The inputs as TinyJit wants them: buffers, none of them twice, nor one that the function has from outside."""
        taken = {t.uop.base for ref in self.outside if (t := ref()) is not None}
        out = []
        for x, p in zip(xs, self.params, strict=True):
            x = x.cast(p.dtype)
            own = x.uop.is_realized and x.uop.has_buffer_identity()  # type: ignore[no-untyped-call]
            if not own or x.uop.base in taken:
                x = x.clone()
            taken.add(x.uop.base)
            out.append(x)
        if fresh := [x for x in out if not x.uop.is_realized]:
            Tensor.realize(*fresh)
        return out


def _run(params: Sequence[UOp], leaves: Sequence[Tensor], *xs: Tensor) -> list[Tensor]:
    of = dict(zip(params, [x.uop for x in xs], strict=True))
    outs = replaced([y.uop for y in leaves], of.get)
    own = [tensor(u.cast(strong_dtype(u.dtype))).clone() for u in outs]
    if own:
        Tensor.realize(*own)
    return own


def _written(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call as one operation of a typed program."""
    with recording.structured() as made:
        if made is None:
            return _called(f, args, kwargs)
        given = [x for a in (*args, *kwargs.values()) for x in tree.leaves(a) if isinstance(x, Tensor)]
        with recording.body() as done:
            out = _called(f, args, kwargs)
            results = tree.results(out, "jit")
            done([t.uop for t in given], [y.uop for y in results])
        ins = [t.uop for t in given]
        name = getattr(f, "__name__", type(f).__name__)
        made.put("jit", ins, {"name": name}, [y.uop for y in results], {"f": made.bodies[-1]})
    return out
