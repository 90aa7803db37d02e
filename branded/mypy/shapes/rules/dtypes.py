"""The dtypes of tensors, as far as the operations that compute them show: "bool", "weakint", "int" or "float".

An unknown dtype is "".  An operation of several operands has the dtype that is the last in this order.  Loops and
branches promote the weak int of `Tensor(1)`.  Weak floats are floats here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mypy.errorcodes import ErrorCode
from mypy.nodes import Context

from branded.mypy.codes import ARGUMENT, DERIVATIVE, OPERAND
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import Const, Fact, LibraryName, Shaped, Size, children_of, items_of

_ORDER = ("bool", "weakint", "int", "float")
_PYTHON: dict[type, str] = {bool: "bool", int: "weakint", float: "float"}
_NAMED = {"half": "float", "double": "float", "bfloat16": "float", "long": "int", "short": "int"}
"""The dtypes whose names do not begin with their kind, as "float32" does."""
RULES = {
    "bool": "lt le gt ge eq ne any all isnan isfinite isclose logical_not bool",
    "int": "argmax argmin argsort int long short randint randperm",
    "float": """
        truediv mean pmean var std softmax log_softmax sin cos tan sinh cosh tanh asin acos atan asinh acosh
        atanh exp exp2 log log2 log10 sqrt rsqrt reciprocal sigmoid erf logsumexp rand rand_like randn
        uniform normal linspace eye zeros ones empty float double half bfloat16 gelu silu swish
        softplus logsigmoid scaled_uniform glorot_uniform kaiming_uniform kaiming_normal
    """,
    "first": """
        abs neg relu square ceil floor trunc sign clone contiguous detach realize numpy max min getitem reshape
        view flatten unflatten transpose permute unsqueeze squeeze expand pad shrink repeat flip roll diagonal tril triu
        pmax pmin zeros_like ones_like full_like empty_like dropout to lshift rshift invert bitwise_not gather
    """,
    "joined": """
        add sub mul mod floordiv pow and or xor bitwise_and bitwise_or bitwise_xor maximum minimum matmul
        dot cat stack clip clamp
    """,
    "chosen": "where",
    "sum": "sum cumsum psum",
}
"""The methods by the dtype of their results: a dtype, or how it follows from the operands.

first     the dtype of the tensor itself            joined    of all operands, promoted
chosen    as joined, without the condition          sum       as first, but bools are counted as ints
"""
_RULE = {name: rule for rule, names in RULES.items() for name in names.split()}
_OF_NUMBERS = {"ceil", "floor", "floordiv", "lshift", "mod", "relu", "rshift"}
"""Methods whose results have another dtype for bools."""


def dtype_of(value: Fact | None) -> str:
    """Return the dtype of a tensor, or that of a Python number as an operand."""
    if isinstance(value, Shaped):
        return value.dtype
    if isinstance(value, Size):
        return "weakint"
    return _PYTHON.get(type(value.value), "") if isinstance(value, Const) else ""


def join_dtypes(dtypes: Iterable[str]) -> str:
    """Return the dtype of an operation of several operands, as far as it is certain."""
    each = {*dtypes}
    return "float" if "float" in each else "" if "" in each or not each else max(each, key=_ORDER.index)


def dtype_of_data(value: Fact) -> str:
    """Return the dtype of `Tensor(value)`, for numbers and for lists of numbers."""
    items = items_of(value)
    if items is None:
        return dtype_of(value)
    dtype = join_dtypes(map(dtype_of_data, items))
    return "int" if dtype == "weakint" else dtype


def named_dtype(value: Fact) -> str:
    """Return the dtype that `dtypes.float32` or "float32" names."""
    name = value.name.rpartition(".")[2] if isinstance(value, LibraryName) else getattr(value, "value", "")
    text = str(name).removeprefix("u")
    return _NAMED.get(text) or next((d for d in ("bool", "int", "float") if text.startswith(d)), "")


def result_dtype(name: str, *operands: Fact) -> str:
    """Return the dtype of the result of a method of the first operand, or of a function of `Tensor`."""
    if name == "cast" and len(operands) == 2:
        return named_dtype(operands[1])
    name = name.strip("_")
    first, rule = dtype_of(operands[0]) if operands else "", _RULE.get(name, "")
    if rule in ("joined", "chosen"):
        dtype = join_dtypes(map(dtype_of, operands[rule == "chosen" :]))
    elif rule == "sum":
        dtype = "int" if first in ("bool", "weakint") else first
    elif rule == "first":
        dtype = first if first != "weakint" else ""
    else:
        dtype = rule
    return "" if name in _OF_NUMBERS and dtype in ("bool", "weakint") else dtype


def with_dtype(value: Fact, dtype: str) -> Fact:
    """Return a tensor with a dtype, or any other value unchanged."""
    return Shaped(value.axes, value.brands, dtype) if dtype and isinstance(value, Shaped) else value


NOT_FLOAT = ("bool", "weakint", "int")


class _DtypeCheck(NamedTuple):
    """The dtypes that a method rejects, and the operands that it rejects them for; the tensor itself is the first."""

    operands: slice
    rejected: tuple[str, ...]
    text: str
    fix: str
    code: ErrorCode = ARGUMENT


_OF_BITS = _DtypeCheck(
    slice(None),
    ("float",),
    "bitwise operations need bools or ints, not a float",
    "(a > 0) & (b > 0), with parentheses around comparisons, or .int() for ints",
    OPERAND,
)
_OF_SHIFT = _DtypeCheck(slice(None), ("float",), "shift operands must be int, got {}", "use .int()")
_OF_INDEX = _DtypeCheck(
    slice(2, 3), ("bool", "float"), "expects int index tensor, getting {}", "use .int() for the index"
)
_CHECKS = {
    **dict.fromkeys(
        ["and", "or", "xor", "invert", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"], _OF_BITS
    ),
    **dict.fromkeys(("lshift", "rshift"), _OF_SHIFT),
    **dict.fromkeys(("gather", "scatter"), _OF_INDEX),
    "one_hot": _DtypeCheck(slice(1), ("bool", "float"), "expect integer dtype, getting dtype={}", "use .int()"),
    "index": _DtypeCheck(slice(1, None), ("float",), "index dtype {} is not supported", "use .int() for the index"),
    "where": _DtypeCheck(
        slice(1),
        ("weakint", "int", "float"),
        "where cond must be bool, got {}",
        "use a comparison as the condition, such as x > 0",
    ),
}


def check(run: FileState, name: str, at: Context, *operands: Fact) -> None:
    """Report an operand with a dtype that a method does not accept."""
    if (rule := _CHECKS.get(name)) is None:
        return
    wrong = next((d for d in map(dtype_of, operands[rule.operands]) if d in rule.rejected), None)
    if wrong is not None:
        run.report(at, rule.code, f"{name}: {rule.text.format(wrong)}", f"try:   {rule.fix}")


def reject(
    run: FileState, value: Fact, rejected: Sequence[str], message: str, fix: str, at: Context, code: ErrorCode
) -> None:
    """Report a tensor with one of these dtypes; `{}` in the message stands for the value."""
    if isinstance(value, Shaped) and value.dtype in rejected:
        run.report(at, code, message.format(show(value)), f"try:   {fix}")


def check_float(run: FileState, name: str, x: Fact, what: str, at: Context) -> None:
    """Report an argument that has no derivative, because a tensor in it is not a float."""
    for key, item in (children_of(x) or {}).items():
        check_float(run, name, item, f"{what}[{key!r}]", at)
    wrong, fix = f"{name}: {what} is {{}}, and only floats have derivatives", "use .float() for it, or close over it"
    reject(run, x, NOT_FLOAT, wrong, fix, at, DERIVATIVE)


def show(value: Shaped, other: Shaped | None = None) -> str:
    """Describe a tensor for a message: "an int tensor", or its shape, with its dtype if `other` has another dtype."""
    dtype = value.dtype.removeprefix("weak")
    if other is None:
        return f"{'an' if dtype == 'int' else 'a'} {dtype} tensor"
    if value.axes is None:
        return dtype
    shape = format_axes(value.axes)
    has_dtype = value.dtype and other.dtype and value.dtype != other.dtype
    return f"{dtype}[{shape.strip('(),')}]" if has_dtype else shape


def differ(first: str, second: str) -> bool:
    """Return whether two dtypes of a carry or of branches do not agree: a weak int has any dtype but bool."""
    if "weakint" in (first, second):
        return "bool" in (first, second)
    return bool(first and second) and first != second


def of_carry(x: Fact) -> Fact:
    """Return a tensor as a loop's carry: `Tensor(1)` is an int there."""
    return with_dtype(x, "int") if dtype_of(x) == "weakint" else x
