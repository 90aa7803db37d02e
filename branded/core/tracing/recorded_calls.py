"""Recording of calls of operations for `make_expr`: their operands, parameters and results."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded import tree
from branded.core.brand import Brand
from branded.core.tracing import recording
from branded.errors import count_noun
from branded.tinygrad_compat.lazy_numpy import np

F = TypeVar("F", bound=Callable[..., Any])


Operator = Callable[..., Any]
FUNCTIONS: dict[str, Operator] = {}
"""The functions of this package that are operations, by their names in a program."""
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
DUNDERS = {
    **{f"__{n}__": n for n in ("add", "sub", "mul", "floordiv", "mod", "pow", "matmul", "lshift", "rshift")},
    **{f"__{n}__": n for n in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "getitem", "setitem")},
    "__truediv__": "div",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__invert__": "bitwise_not",
}
REFLECTED = {f"__r{name[2:]}": op for name, op in DUNDERS.items() if op in BINARY and hasattr(Tensor, f"__r{name[2:]}")}
WRITES = ("assign", "setitem")
"""The operations that write in place; in a program a write returns a new value."""


class Hole:
    """A placeholder for an operand inside a parameter, such as the tensor in the index `(0, tensor)`."""

    def __repr__(self) -> str:
        return "_"


HOLE = Hole()


def leafwise(f: F, named: str, value: Callable[[Any], Any]) -> F:
    """Record a function that maps over the leaves of a tree as one operation per leaf.

    Its parameter `named` is recorded as `value` of the argument.
    """

    @functools.wraps(f)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if not recording.is_recording():
            return f(*args, **kwargs)
        with recording.within() as frame:
            out = f(*args, **kwargs)
        if frame is not None:
            params = arguments_by_name(f, args, kwargs)
            inputs: list[Any] = [()]
            if "x" in params:
                tensors = [tree.as_tensor(v) for v in tree.leaves(params.pop("x"))]
                inputs = [(t.uop,) for t in tensors if t is not None]
            params[named] = value(params[named])
            for operands, y in zip(inputs, tree.leaves(out), strict=True):
                if isinstance(y, Tensor):  # a number stays a number
                    recording.record_operation(f.__name__, operands, params, (y.uop,))
        return out

    return cast(F, recorded)


def operation(f: F) -> F:
    """Record a function of tensors, such as `random.normal`, as one operation.

    Numpy arrays become tensors in the parameters that are annotated as tensors.
    """
    op = f"{f.__module__.split('.')[1]}.{f.__name__}"

    @functools.wraps(f)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, np.ndarray) for x in (*args, *kwargs.values())):
            args, kwargs = _with_tensors(f, args, kwargs)
        if not recording.is_recording():
            return f(*args, **kwargs)
        return record(op, f, f, args, kwargs)

    FUNCTIONS[op] = recorded
    return cast(F, recorded)


def _with_tensors(f: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with tensors for its arrays; a parameter that may be a sequence keeps an array."""
    names = {p.name for p in signature(f).parameters.values() if accepts_tensor(p) and "Sequence" not in p.annotation}

    def converted(name: str, x: Any) -> Any:
        t = tree.as_tensor(x) if name in names and isinstance(x, np.ndarray) else None
        return x if t is None else t

    positional = [converted(name, x) for name, x in zip(signature(f).parameters, args, strict=False)]
    return (*positional, *args[len(positional) :]), {name: converted(name, x) for name, x in kwargs.items()}


def arguments_by_name(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return dict(signature(f).bind(*args, **kwargs).arguments)


signature = functools.cache(inspect.signature)


def record(op: str, f: Operator, signed: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operation with the signature of `signed`, and record its arguments and results."""
    with recording.within() as frame:
        if frame is None:
            return f(*args, **kwargs)
        snapshot = tuple(map(_now, args)), {k: _now(v) for k, v in kwargs.items()}
        out = f(*args, **kwargs)
    if out is NotImplemented:
        return out
    # a method that writes returns the written tensor
    results = [args[0]] if op in WRITES else [y for y in tree.leaves(out) if isinstance(y, Tensor)]
    if results and (op in WRITES or not args or not isinstance(args[0], Tensor) or snapshot[0][0] is args[0].uop):
        _record_call(op, signed, snapshot, results)
    return out


def _now(x: Any) -> Any:
    """Return an argument with each tensor replaced by its current UOp, because a write would replace that UOp."""
    if isinstance(x, Tensor):
        return x.uop
    return type(x)([_now(v) for v in x]) if type(x) in (tuple, list) else x


def _record_call(op: str, signed: Operator, snapshot: Any, results: list[Tensor]) -> None:
    args, kwargs = snapshot
    if signed.__name__ in REFLECTED:
        call: Described | None = Described([args[1], args[0]], {})
    else:
        call = describe_call(signed, args, kwargs)
    if call is not None and all(isinstance(x, UOp | bool | int | float) for x in call.operands):
        recording.record_operation(op, call.operands, call.params, [y.uop for y in results])


class Described(NamedTuple):
    operands: list[Any]
    params: dict[str, Any]


def accepts_tensor(p: inspect.Parameter) -> bool:
    return any(name in str(p.annotation) for name in ("Self", "Tensor", "Vec["))


def describe_call(f: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> Described | None:
    """Return the operands and parameters of a call on UOps, or None if a parameter has no text."""
    bound = arguments_by_name(f, tuple(args), kwargs)
    operands: list[Any] = []
    params: dict[str, Any] = {}
    skipped: dict[str, Any] = {}
    for p in signature(f).parameters.values():
        if p.name not in bound or (p.default is not p.empty and _same(bound[p.name], p.default)):
            if accepts_tensor(p) and p.default is not p.empty:
                skipped[p.name] = p.default
            continue
        v = bound[p.name]
        if p.kind is p.VAR_KEYWORD:
            params |= v
        elif p.kind is p.VAR_POSITIONAL:
            _put_rest(p.name, v, operands, params)
        elif isinstance(v, UOp | bool | int | float) and (p.name == "self" or accepts_tensor(p)):
            params |= skipped
            skipped = {}
            operands.append(v)
        else:
            params[p.name] = _with_holes(v, operands)
    return Described(operands, params) if all(map(_has_text, params.values())) else None


def _put_rest(name: str, v: tuple[Any, ...], operands: list[Any], params: dict[str, Any]) -> None:
    """Add the arguments of a `*name`: as operands, as a part of the preceding parameter, or as a parameter."""
    if v and all(isinstance(x, UOp) for x in v):
        operands += v
    elif params and name == "args":
        last = next(reversed(params))
        params[last] = (params[last], *v)
    else:
        params[name] = _with_holes(tuple(v[0]) if len(v) == 1 and isinstance(v[0], tuple | list) else v, operands)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _with_holes(v: Any, operands: list[Any]) -> Any:
    """Return a parameter with a hole for each tensor in it."""
    if isinstance(v, UOp):
        operands.append(v)
        return HOLE
    if type(v) in (tuple, list):
        return type(v)([_with_holes(x, operands) for x in v])
    return v


def _has_text(v: Any) -> bool:
    if type(v) in (tuple, list):
        return all(map(_has_text, v))
    if isinstance(v, slice):
        return all(map(_has_text, (v.start, v.stop, v.step)))
    return v is HOLE or v is None or v is Ellipsis or type(v) in (bool, int, float, str) or isinstance(v, DType | Brand)


def arguments(f: Operator, params: dict[str, Any], operands: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call, rebuilt from its operands and parameters.

    f       def sum(self, axis=None, keepdim=False, dtype=None)
    params  {"keepdim": True}    given  [x]
    gives   [x], {"keepdim": True}: arguments after the omitted `axis` are passed by name
    """
    rest = iter(operands)
    remaining = len(operands) - sum(map(_holes, params.values()))
    parameters = signature(f).parameters
    args: list[Any] = []
    kwargs = {k: _fill_holes(v, rest) for k, v in params.items() if k not in parameters}
    by_name = False
    for p in parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            args += _fill_holes(params[p.name], rest) if p.name in params else itertools.islice(rest, remaining)
            remaining = remaining if p.name in params else 0
            continue
        if p.name in params:
            value = _fill_holes(params[p.name], rest)
        elif remaining and p.kind is not p.VAR_KEYWORD and (p.name == "self" or accepts_tensor(p)):
            value = next(rest)
            remaining -= 1
        else:
            by_name = True
            continue
        if by_name or p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = value
        else:
            args.append(value)
    if remaining > 0:
        raise TypeError(f"{count_noun(remaining, 'operand')} too many")
    return args, kwargs


def _fill_holes(v: Any, rest: Iterator[Any]) -> Any:
    if v is HOLE:
        return next(rest)
    return type(v)([_fill_holes(x, rest) for x in v]) if type(v) in (tuple, list) else v


def _holes(v: Any) -> int:
    return 1 if v is HOLE else sum(map(_holes, v)) if type(v) in (tuple, list) else 0
