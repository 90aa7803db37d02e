"""The operations of a program: the methods of Tensor, as they are recorded, written down and called again."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded import random, recording, tree
from branded.brand import Brand
from branded.program.terms import HOLE
from branded.recording import bound, signature
from branded.scopes import undone

T = TypeVar("T")
Operator = Callable[..., Any]
BINARY: dict[str, Operator] = {
    **{n: getattr(operator, n) for n in ("add", "sub", "mul", "floordiv", "mod", "pow", "matmul", "xor")},
    **{n: getattr(operator, n) for n in ("lt", "le", "gt", "ge", "eq", "ne")},
    "div": operator.truediv,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}
_DUNDERS = {
    **{f"__{n}__": n for n in ("add", "sub", "mul", "floordiv", "mod", "pow", "matmul", "lshift", "rshift")},
    **{f"__{n}__": n for n in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "getitem", "setitem")},
    "__truediv__": "div",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__invert__": "bitwise_not",
}
_REFLECTED = {
    f"__r{name[2:]}": op for name, op in _DUNDERS.items() if op in BINARY and hasattr(Tensor, f"__r{name[2:]}")
}
_METHODS = {op: name for name, op in _DUNDERS.items()}

_READS = ("numpy data tolist item realize linear_with_vars schedule_linear callify backward gradient "
          "size element_size is_floating_point is_param_ max_numel nbytes numel as_param")  # fmt: skip
_RANDOM = ("rand rand_like randn randn_like randint random_bits randperm normal uniform scaled_uniform "
           "glorot_uniform kaiming_normal kaiming_uniform")  # fmt: skip
_OTHERS = ("dropout multinomial manual_seed threefry sequential replace custom_kernel decode_hevc_frame from_blob "
           "from_url to to_ shard shard_ shard_like call alu invalids const_like ufix uprod usum const hash keccak "
           "empty empty_like")  # fmt: skip
"""What takes functions or draws, moves values between devices, or has none."""
_NOT_RECORDED = frozenset(f"{_READS} {_OTHERS}".split())
DRAWS = frozenset(_RANDOM.split())
"""What was drawn is a constant of the program."""
WRITES = ("assign", "setitem")
"""In a program a write gives a new value."""


@functools.cache
def methods() -> frozenset[str]:
    """The methods of Tensor that are watched."""
    plain = frozenset(n for n in dir(Tensor) if not n.startswith("_") and callable(getattr(Tensor, n)))
    return (plain - _NOT_RECORDED) | {n for n in (*_DUNDERS, *_REFLECTED) if hasattr(Tensor, n)}


def function_of(op: str) -> Operator | None:
    """The method of Tensor, or the function of `branded.random`, that an operation is."""
    if op.startswith("random."):
        name = op.removeprefix("random.")
        return getattr(random, name) if name in random.__all__ else None
    name = op if op in methods() else _METHODS.get(op, op)
    return getattr(Tensor, name) if name in methods() - DRAWS else None


# ---- a call as operands and parameters ----


class Described(NamedTuple):
    operands: list[Any]
    params: dict[str, Any]


def accepts_tensor(p: inspect.Parameter) -> bool:
    return any(name in str(p.annotation) for name in ("Self", "Tensor", "Vec["))


def described(f: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> Described | None:
    """The operands and the parameters of a call on UOps; None where a parameter has no text."""
    given = bound(f, tuple(args), kwargs)
    operands: list[Any] = []
    params: dict[str, Any] = {}
    skipped: dict[str, Any] = {}
    for p in signature(f).parameters.values():
        if p.name not in given or (p.default is not p.empty and _same(given[p.name], p.default)):
            if accepts_tensor(p) and p.default is not p.empty:
                skipped[p.name] = p.default
            continue
        v = given[p.name]
        if p.kind is p.VAR_KEYWORD:
            params |= v
        elif p.kind is p.VAR_POSITIONAL and v and all(isinstance(x, UOp) for x in v):
            operands += v
        elif p.kind is p.VAR_POSITIONAL and params and p.name == "args":
            last = next(reversed(params))
            params[last] = (params[last], *v)
        elif p.kind is p.VAR_POSITIONAL:
            params[p.name] = _emptied(tuple(v[0]) if len(v) == 1 and isinstance(v[0], tuple | list) else v, operands)
        elif p.name == "self" or accepts_tensor(p):
            if isinstance(v, UOp | bool | int | float):
                params |= skipped
                skipped = {}
                operands.append(v)
            else:
                params[p.name] = _emptied(v, operands)
        else:
            params[p.name] = _emptied(v, operands)
    return Described(operands, params) if all(map(_has_text, params.values())) else None


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _emptied(v: Any, operands: list[Any]) -> Any:
    """A parameter with a hole for each tensor in it."""
    if isinstance(v, UOp):
        operands.append(v)
        return HOLE
    if type(v) in (tuple, list):
        return type(v)([_emptied(x, operands) for x in v])
    return v


def _has_text(v: Any) -> bool:
    if type(v) in (tuple, list):
        return all(map(_has_text, v))
    if isinstance(v, slice):
        return all(map(_has_text, (v.start, v.stop, v.step)))
    return v is HOLE or v is None or v is Ellipsis or type(v) in (bool, int, float, str) or isinstance(v, DType | Brand)


def arguments(f: Operator, params: dict[str, Any], given: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The call again, from its operands and parameters."""
    rest = iter(given)
    left = len(given) - sum(map(_holes, params.values()))
    known = signature(f).parameters
    args: list[Any] = []
    kwargs = {k: _filled(v, rest) for k, v in params.items() if k not in known}
    by_name = False  # behind a parameter that has its default, all others go by their names
    for p in known.values():
        if p.kind is p.VAR_POSITIONAL:
            if p.name in params:
                args += _filled(params[p.name], rest)
            else:
                args += itertools.islice(rest, left)
                left = 0
            continue
        if p.name in params:
            value = _filled(params[p.name], rest)
        elif left and p.kind is not p.VAR_KEYWORD and (p.name == "self" or accepts_tensor(p)):
            value = next(rest)
            left -= 1
        else:
            by_name = True
            continue
        if by_name or p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = value
        else:
            args.append(value)
    if left > 0:
        raise TypeError(f"{left} operand{'' if left == 1 else 's'} too many")
    return args, kwargs


def _filled(v: Any, rest: Iterator[Any]) -> Any:
    if v is HOLE:
        return next(rest)
    return type(v)([_filled(x, rest) for x in v]) if type(v) in (tuple, list) else v


def _holes(v: Any) -> int:
    return 1 if v is HOLE else sum(map(_holes, v)) if type(v) in (tuple, list) else 0


# ---- recording them ----


_lock = threading.Lock()
_originals: dict[str, Any] = {}
_watching: set[object] = set()


def watched(run: Callable[[], T]) -> T:
    """While it runs, for a function that is written down, the methods of Tensor put down what they do."""
    me = object()

    def watching() -> T:
        _watch(me)
        return run()

    return undone(watching, lambda: _unwatch(me))


def _watch(me: object) -> None:
    with _lock:
        _watching.add(me)
        for name in methods():
            if name not in _originals:
                _originals[name] = Tensor.__dict__.get(name)
                setattr(Tensor, name, _watched(name, inspect.getattr_static(Tensor, name)))


def _unwatch(me: object) -> None:
    with _lock:
        _watching.discard(me)
        while not _watching and _originals:
            name, f = next(reversed(_originals.items()))
            if f is not None:
                setattr(Tensor, name, f)
            elif name in Tensor.__dict__:
                delattr(Tensor, name)  # inherited
            del _originals[name]


def _watched(name: str, static: Any) -> Any:
    """A method that is recorded."""
    op = _DUNDERS.get(name) or _REFLECTED.get(name) or name
    kind = type(static) if isinstance(static, classmethod | staticmethod) else None
    f = static.__func__ if kind is not None else static

    @functools.wraps(f)
    def method(*args: Any, **kwargs: Any) -> Any:
        if name in DRAWS:  # nothing of how it is made
            with recording.within():
                return f(Tensor, *args[1:], **kwargs) if kind is classmethod else f(*args, **kwargs)
        if kind is classmethod:
            return record(
                op, lambda *args, **kwargs: f(Tensor, *args, **kwargs), getattr(Tensor, name), args[1:], kwargs
            )
        return record(op, f, f, args, kwargs)

    return method if kind is None else kind(method)


def record(op: str, f: Operator, signed: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operation of the signature of `signed`, and write down what it took and gave."""
    with recording.within() as frame:
        if frame is None:
            return f(*args, **kwargs)
        given = tuple(map(_now, args)), {k: _now(v) for k, v in kwargs.items()}
        out = f(*args, **kwargs)
    if out is NotImplemented:
        return out
    # what a method wrote into is what it gave
    made = [args[0]] if op in WRITES else [y for y in tree.leaves(out) if isinstance(y, Tensor)]
    if made and (op in WRITES or not args or not isinstance(args[0], Tensor) or given[0][0] is args[0].uop):
        _put(op, signed, given, made)
    return out


def _now(x: Any) -> Any:
    """An argument with its tensors by their UOps as they are now: a write changes them, if nothing else holds them."""
    if isinstance(x, Tensor):
        return x.uop
    return type(x)([_now(v) for v in x]) if type(x) in (tuple, list) else x


def _put(op: str, signed: Operator, given: Any, made: list[Tensor]) -> None:
    args, kwargs = given
    if signed.__name__ in _REFLECTED:
        found: Described | None = Described([args[1], args[0]], {})
    else:
        found = described(signed, args, kwargs)
    if found is not None and all(isinstance(x, UOp | bool | int | float) for x in found.operands):
        recording.put(op, found.operands, found.params, [y.uop for y in made])
