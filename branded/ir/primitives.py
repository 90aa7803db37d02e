"""The primitives of a typed program, one entry each: parameters, the operation, and its line in Python.

The three fields of an entry agree: `build(u.dtype, operands, **params(u))` is `u`, and `python` is code for `u`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.graph.rows import dtype_text
from branded.ir.terms import Dtype
from branded.tinygrad_compat.private_api import shape_to_shape_arg


class Operand(NamedTuple):
    """An operand as Python code, and its shape."""

    text: str
    shape: tuple[Any, ...] = ()
    is_number: bool = False

    @property
    def tensor(self) -> str:
        """The operand as code with methods: a number is wrapped in a Tensor."""
        return f"Tensor({self.text})" if self.is_number else self.text


class Entry(NamedTuple):
    """An entry of the table.

    Attributes:
        params: Returns the parameters of the operation; None if they cannot be expressed as text.
        build: Returns the operation with a dtype on operands with these parameters.
        python: Returns the operation as Python code; None if Python has no name for it.
    """

    params: Callable[[UOp], dict[str, Any] | None]
    build: Callable[..., UOp]
    python: Callable[..., str] | None


def infix(symbol: str, x: Operand, y: Operand) -> str:
    """Return `x + y` as code; one of two numbers becomes a Tensor, so that Python does not add them."""
    return f"{_tight(x.tensor if y.is_number else x.text)} {symbol} {_tight(y.text)}"


def _tight(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _method(name: str, x: Operand, *others: Operand) -> str:
    return f"{x.tensor}.{name}({', '.join(y.text for y in others)})"


_SYMBOLS = {
    Ops.ADD: "+", Ops.SUB: "-", Ops.MUL: "*", Ops.POW: "**", Ops.FLOORDIV: "//", Ops.FLOORMOD: "%",
    Ops.CMPLT: "<", Ops.CMPNE: "!=", Ops.CMPEQ: "==", Ops.XOR: "^", Ops.OR: "|", Ops.AND: "&",
    Ops.SHR: ">>", Ops.SHL: "<<",
}  # fmt: skip
_METHODS = {
    Ops.EXP2: "exp2", Ops.LOG2: "log2", Ops.SIN: "sin", Ops.SQRT: "sqrt", Ops.RECIPROCAL: "reciprocal",
    Ops.TRUNC: "trunc", Ops.MAX: "maximum", Ops.WHERE: "where", Ops.DETACH: "detach", Ops.STACK: "stack",
    Ops.CONTIGUOUS: "contiguous", Ops.CONTIGUOUS_BACKWARD: "contiguous_backward",
}  # fmt: skip
_WRITTEN: dict[Ops, Callable[..., str]] = {
    **{op: functools.partial(infix, symbol) for op, symbol in _SYMBOLS.items()},
    **{op: functools.partial(_method, name) for op, name in _METHODS.items()},
    Ops.NEG: lambda x: f"-{x.text}",
    Ops.CDIV: lambda x, y: f'{x.tensor}.div({y.text}, rounding_mode="trunc")',
}
_PLAIN = (*GroupOp.ALU, Ops.STACK, Ops.DETACH, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.AFTER, Ops.MSTACK)


def _plain_entry(op: Ops) -> Entry:
    """Return the entry of an operation without parameters."""
    return Entry(
        lambda u: {} if u.arg is None or op in GroupOp.ALU else None,
        lambda dtype, src: UOp(op, dtype, tuple(src)),
        _WRITTEN.get(op),
    )


def _cast(op: Ops) -> Entry:
    return Entry(
        lambda u: {"dtype": Dtype(dtype_text(u.dtype))},
        lambda to, src, dtype: UOp(op, to, tuple(src), to),
        lambda x, dtype: f'{x.tensor}.{op.name.lower()}("{dtype.long}")',
    )


def _part(op: Ops, python: Callable[..., str]) -> Entry:
    """Return the entry of PAD or SHRINK: the offset of the result in the other value, and its size."""

    def params(u: UOp) -> dict[str, Any] | None:
        offset, size = map(_ints, u.src[1:])
        return {"offset": offset, "size": size} if all(type(i) is int for i in (*offset, *size)) else None

    def build(dtype: DType, src: Sequence[UOp], offset: Any, size: Any) -> UOp:
        return UOp(op, dtype, (*src, _sizes(offset), _sizes(size)))

    return Entry(params, build, python)


def _pad_code(x: Operand, offset: tuple[int, ...], size: tuple[int, ...]) -> str:
    sides = tuple((o, n - o - length) for o, n, length in zip(offset, size, x.shape, strict=True))
    return f"{x.tensor}.pad({sides!r})"


def _shrink_code(x: Operand, offset: tuple[int, ...], size: tuple[int, ...]) -> str:
    parts = tuple((o, o + n) for o, n in zip(offset, size, strict=True))
    return f"{x.tensor}.shrink({parts!r})"


def _ints(u: UOp) -> tuple[Any, ...]:
    """Return the sizes or offsets of a movement."""
    return tuple(s.val if s.op is Ops.CONST else s for s in (u.src if u.op is Ops.STACK else (u,)))


def _sizes(sizes: Any) -> UOp:
    if type(sizes) is not tuple or any(type(i) is not int for i in sizes):
        raise TypeError(f"{sizes!r} are not sizes")
    shape: UOp = shape_to_shape_arg(sizes)
    return shape


_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "max"}

PRIMITIVES: dict[str, Entry] = {
    **{op.name: _plain_entry(op) for op in _PLAIN},
    **{op.name: _cast(op) for op in (Ops.CAST, Ops.BITCAST)},
    "PAD": _part(Ops.PAD, _pad_code),
    "SHRINK": _part(Ops.SHRINK, _shrink_code),
    "RESHAPE": Entry(
        lambda u: {"shape": tuple(u.shape)},
        lambda dtype, src, shape: UOp(Ops.RESHAPE, dtype, (*src, _sizes(shape))),
        lambda x, shape: f"{x.tensor}.reshape({shape!r})",
    ),
    "EXPAND": Entry(
        lambda u: {"sizes": tuple(u.shape[: len(u.shape) - len(u.src[0].shape)])},
        lambda dtype, src, sizes: UOp(Ops.EXPAND, dtype, (*src, _sizes(sizes))),
        lambda x, sizes: f"{x.tensor}.expand({(*sizes, *x.shape)!r})",
    ),
    "PERMUTE": Entry(
        lambda u: {"order": tuple(u.arg)},
        lambda dtype, src, order: UOp(Ops.PERMUTE, dtype, tuple(src), order),
        lambda x, order: f"{x.tensor}.permute({order!r})",
    ),
    "FLIP": Entry(
        lambda u: {"axes": tuple(i for i, flipped in enumerate(u.arg) if flipped)},
        lambda dtype, src, axes: UOp(Ops.FLIP, dtype, tuple(src), tuple(i in axes for i in range(len(src[0].shape)))),
        lambda x, axes: f"{x.tensor}.flip({axes!r})",
    ),
    "REDUCE": Entry(
        lambda u: {"op": Dtype(u.arg[0].name.lower()), "leading": u.arg[1]},
        lambda dtype, src, op, leading: UOp(Ops.REDUCE, dtype, tuple(src), (Ops[op.name.upper()], leading)),
        lambda x, op, leading: f"{x.tensor}.{_REDUCTIONS[op.name]}({tuple(range(leading))!r})",
    ),
    "COPY": Entry(
        lambda u: {"device": u.arg},
        lambda dtype, src, device: UOp(Ops.COPY, dtype, tuple(src), device),
        lambda x, device: f"{x.tensor}.to({device!r})",
    ),
}
