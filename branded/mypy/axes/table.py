"""The table of axis rules, by the name of the method."""

from __future__ import annotations

from mypy.operators import op_methods_to_symbols

from branded.mypy.axes import products as products
from branded.mypy.axes import rules as rules
from branded.mypy.axes import shapes as shapes
from branded.mypy.axes.calls import Rule
from branded.mypy.rows.algebra import TENSOR

SYMBOLS = {name.strip("_"): symbol for name, symbol in op_methods_to_symbols.items() if symbol not in ("divmod", "in")}
_OPERATORS = {f"__{before}{name}__" for name in SYMBOLS for before in ("", "r", "i")}
_CALLED = {f"__{before}{name}__": symbol for before in "ir" for name, symbol in SYMBOLS.items()}
_CALLED |= {"__getitem__": "[]", **{f"__{name}__": symbol for name, symbol in SYMBOLS.items()}}
_PRODUCTS = {"__matmul__", "__imatmul__"}

_SAME = """
    __neg__ __invert__ abs acos acosh asin asinh atan atanh bfloat16 bitwise_not bool cast ceil celu clone
    contiguous contiguous_backward cos cosh detach double dropout elu empty_like erf exp exp2 float floor full_like gelu
    half hardsigmoid hardswish hardtanh int isfinite isinf isnan leaky_relu log log10 log2 logical_not logsigmoid long
    mish neg ones_like quick_gelu rand_like randn_like realize reciprocal relu relu6 round rsqrt selu short sigmoid sign
    silu sin sinh softplus softsign sqrt square swish tan tanh to tril triu trunc zeros_like const_like shard is_param_
"""
_ALONG = "softmax log_softmax softmin cumsum cumprod logcumsumexp argsort normalize layernorm flip roll"
_ZIPPED = """
    add sub mul div mod fmod pow maximum minimum where lerp copysign logaddexp isclose ne eq bitwise_and bitwise_or
    bitwise_xor lshift rshift masked_fill clamp clip
"""
_REDUCED = "sum prod max min mean any all var std logsumexp"

METHODS: dict[str, Rule] = {
    **dict.fromkeys(_SAME.split(), rules.same_axes),
    "bitcast": rules.bitcast_axes,
    **dict.fromkeys(_ALONG.split(), rules.same_axes_along),
    **dict.fromkeys(("sort", "cummax", "cummin"), rules.two_results),
    **dict.fromkeys([*_ZIPPED.split(), *_OPERATORS], rules.broadcast_operands),
    **dict.fromkeys(_REDUCED.split(), rules.reduce_axes),
    **dict.fromkeys(("argmax", "argmin"), rules.argmax_axes),
    **dict.fromkeys(("var_mean", "std_mean"), rules.reduce_axes_twice),
    "transpose": shapes.transpose_axes,
    "permute": shapes.permute_axes,
    "unsqueeze": shapes.unsqueeze_axes,
    "squeeze": shapes.squeeze_axes,
    "expand": shapes.expand_axes,
    "reshape": shapes.reshape_axes,
    "view": shapes.reshape_axes,
    "flatten": shapes.flatten_axes,
    "one_hot": shapes.one_hot_axes,
    "gather": shapes.gather_axes,
    "stack": shapes.stack_axes,
    "cat": shapes.cat_axes,
    "__getitem__": shapes.index_axes,
    "__iter__": shapes.iterate_axes,
    **dict.fromkeys(("dot", "matmul", *_PRODUCTS), products.dot),
    "__rmatmul__": products.reversed_dot,
    "linear": products.linear,
    "einsum": products.einsum,
}

ON_CLASS = {f"{TENSOR}.{name}" for name in ("stack", "cat", "einsum")}
"""Methods that are called on the class, with operands that may have axes."""


def method_label(method: str) -> str:
    """Return the name of a method in messages: `+` for `__radd__`."""
    return _CALLED.get(method, method)
