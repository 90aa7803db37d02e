"""The checks of `vmap(strict=True)`, which reject programs that run and are likely mistakes."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded.core.brand import Brand
from branded.core.values import vec_type
from branded.errors import AxesError, RandomnessError, WriteError
from branded.graph.rows import row_of
from branded.graph.scope import branches, open_brands


def check_effects(f: Callable[..., Any], where: str) -> None:
    """Raise if `f` assigns a variable from outside: it runs once, and not for each example."""
    inner = f
    while isinstance(inner, functools.partial):
        inner = inner.func
    inner = inspect.unwrap(inner)
    method = getattr(type(inner), "__call__", None)  # noqa: B004  the method itself, for its code
    code = getattr(inner, "__code__", None) or getattr(method, "__code__", None)
    if not isinstance(code, CodeType):
        return
    for name in _assigned_outside(code, frozenset(code.co_freevars)):
        raise WriteError(
            f"strict: the function assigns `{name}`, a variable from outside, once for all examples",
            ("call", where),
            fix=f"return the new value of {name} from the function",
        )


def _assigned_outside(code: CodeType, free: frozenset[str]) -> Iterator[str]:
    for i in dis.get_instructions(code):
        if i.opname == "STORE_GLOBAL" or (i.opname == "STORE_DEREF" and i.argval in free):
            yield str(i.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _assigned_outside(inner, free & frozenset(inner.co_freevars))


def check_results(results: Sequence[tuple[Any, str, bool]], entered: Sequence[tuple[UOp, str]], b: Brand) -> None:
    """Raise if a result repeats a value that was reduced over the examples, or if an argument is not used.

    Args:
        results: Each result, its name in messages, and whether its `out_axes` is an int.
        entered: The per-example values of the arguments, and the names of the arguments.
        b: The brand of the call.
    """
    graphs = [set(y.uop.toposort()) if isinstance(y, Tensor) else set() for y, _, _ in results]
    for (y, name, has_axis), graph in zip(results, graphs, strict=True):
        if has_axis and isinstance(y, Tensor) and b not in row_of(y.uop) and b.range in graph:
            raise AxesError(
                f"strict: {name} is the same for all examples of `{b.name}`, and would be repeated",
                ("value", vec_type(y)),
                ("call", b.where),
                fix="out_axes=None for it",
            )
    used: set[UOp] = set().union(*graphs)
    arguments: dict[str, bool] = {}
    for u, name in entered:
        arguments[name] = arguments.get(name, False) or u in used
    unused = [name for name, is_used in arguments.items() if not is_used]
    if unused and not b.has_writes and len(unused) < len(arguments):
        raise AxesError(
            f"strict: {unused[0]} is mapped, and no result depends on it",
            ("call", b.where),
            fix="use the parameter, or leave the argument out",
        )


@contextmanager
def check_key_use(key: Tensor, api_name: str) -> Iterator[None]:
    """Raise if the examples of a strict brand share a key, or if a key is used twice.

    The `with` block contains the function that uses the key; keys that it uses internally are not checked.  `fold_in`
    may use one key many times, and two branches may use the same key.
    """
    used = {b: b.used_keys for b in open_brands() if isinstance(b, Brand) and b.used_keys is not None}
    if not used:
        yield
        return
    row = row_of(key.uop)
    for b in used:
        if b not in row and b.randomness != "same" and api_name not in ("split", "fold_in"):
            raise RandomnessError(
                f"strict: all examples of `{b.name}` share the key of {api_name}, and so the sample",
                ("key", vec_type(key)),
                (b.name, f"opened by {b.where}"),
                fix='random.split(key, n), mapped over the keys; randomness="same" if they share it',
            )
    b, keys = list(used.items())[-1]
    if api_name != "fold_in" and not branches() and open_brands()[-1] is b:
        before = keys.get(key.uop)
        keys[key.uop] = api_name
        if before is not None:
            raise RandomnessError(
                f"strict: {api_name} uses a key that {before} has used",
                ("key", vec_type(key)),
                (b.name, f"opened by {b.where}"),
                fix="first, second = random.split(key)",
            )
    for b in used:
        b.used_keys = None
    try:
        yield
    finally:
        for b, keys in used.items():
            b.used_keys = keys
